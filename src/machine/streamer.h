// SPDX-License-Identifier: Apache-2.0
// The streamer of one core: follows the accesses that miss L1, loads and stores alike, and says which lines
// L2 will be asked for next.
//
// It keeps one stream for each of 32 pages. Two steps in one direction within a page make a stream. The
// second step and each later one ask for at most two lines, no more than a given number ahead and within the
// page (Intel Optimization Reference Manual 248966, data prefetch to L2 of Sandy Bridge; its edition
// 013, 6.2, on streams of stores). All zero is empty. Freestanding.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "machine/tlb.h"

namespace elision::machine {

class Streamer {
 public:
  /// `first`, `first` + `step` and so on.
  struct Lines {
    std::uint64_t first = 0;
    int step = 0;
    int count = 0;
  };

  /// What the streamer knows of one page.
  struct Stream {
    std::uint64_t page_plus_1;  // 0: empty
    std::int8_t last;           // line of the page
    std::int8_t next;           // the first that was not asked for
    std::int8_t step;           // 1 or -1; 0: one access so far

    Lines advance(LineAddr line, unsigned ahead) {
      const int at = static_cast<int>(line.value % kLines);
      const std::uint64_t page = line.value / kLines;
      if (page_plus_1 != page + 1) {
        *this = {page + 1, static_cast<std::int8_t>(at), 0, 0};
        return {};
      }
      const int direction = at > last ? 1 : at < last ? -1 : 0;
      if (direction == 0) return {};
      last = static_cast<std::int8_t>(at);
      const bool is_stream = direction == step;
      if (!is_stream) {
        step = static_cast<std::int8_t>(direction);
        next = static_cast<std::int8_t>(at + direction);
        return {};
      }
      const int first = step > 0 ? std::max<int>(next, at + 1) : std::min<int>(next, at - 1);
      const int farthest = std::clamp(at + step * static_cast<int>(ahead), 0, static_cast<int>(kLines) - 1);
      const int count = std::clamp((farthest - first) * step + 1, 0, kMostAtOnce);
      next = static_cast<std::int8_t>(first + step * count);
      return {page * kLines + static_cast<std::uint64_t>(first), step, count};
    }
  };

  /// The lines to fetch after an access, and what the streamer knows of the page then.
  struct Step {
    Lines lines;
    Stream stream;
  };

  /// An access to `line`. Returns the lines to fetch, at most `ahead` lines from it.
  Lines observe(LineAddr line, unsigned ahead) { return streams_[index(line)].advance(line, ahead); }
  /// observe() in two parts: expect() changes nothing, and take() does the rest. No other access may come in
  /// between.
  Step expect(LineAddr line, unsigned ahead) const {
    Step step{{}, streams_[index(line)]};
    step.lines = step.stream.advance(line, ahead);
    return step;
  }
  void take(LineAddr line, const Step& step) { streams_[index(line)] = step.stream; }

 private:
  static constexpr int kMostAtOnce = 2;
  static constexpr std::uint64_t kStreams = 32, kLines = std::uint64_t{1} << Tlb::kPageShift;

  static std::uint64_t index(LineAddr line) { return line.value / kLines % kStreams; }

  Stream streams_[kStreams];
};

}  // namespace elision::machine
