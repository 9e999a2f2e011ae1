// SPDX-License-Identifier: Apache-2.0
// How many lines ahead of loads in one direction a prefetcher fetches, up to 31: streams [ROUNDS]. Machine
// files have it as prefetch.stream_lines.
//
// The probe loads half a page in order, one line at a time, and no core has any of these lines. Then it times
// a load some lines farther on. The line was fetched ahead if the load takes less than half the time of a
// load that misses. Each page is used for one timed load, which therefore cannot change the stream for the
// next. The result does not tell which prefetcher fetched a line.
#include <sys/mman.h>

#include <vector>

#include "experiment.h"

namespace {

constexpr std::size_t kPage = 4096, kLines = kPage / probe::kLineBytes;
// Each load puts the stream one line farther ahead, so it takes as many loads as lines that are to be seen.
constexpr std::size_t kLoads = kLines / 2, kFarthest = kLines - kLoads - 1;
constexpr std::uint64_t kMostRounds = 500;
constexpr std::size_t kPages = 2 * kMostRounds * (kFarthest + 1);
constexpr std::uint64_t kPauseTicks = 2000;  // longer than a load from memory

/// Fresh pages, each handed out once. At most half of them are: the kernel cleared the other half later,
/// which pushed the first half out of the cores' caches.
class Pages {
 public:
  Pages() : memory_(probe::fresh_memory(kPages * kPage, MADV_NOHUGEPAGE)) {
    for (std::size_t page = 0; page < kPages; ++page) probe::store(memory_ + page * kPage, 1);
  }
  /// The next page, with its translation in the TLB.
  const unsigned char* next() {
    const unsigned char* const page = memory_ + kPage * used_++;
    probe::load(page);
    return page;
  }

 private:
  unsigned char* memory_;
  std::size_t used_ = 0;
};

void pause_for(std::uint64_t ticks) {
  for (const std::uint64_t end = probe::ticks() + ticks; probe::ticks() < end;) {
  }
}

std::uint64_t ticks_of_load(const unsigned char* page, std::size_t line) {
  const std::uint64_t before = probe::ticks();
  probe::load(page + line * probe::kLineBytes);
  return probe::ticks() - before;
}

/// The time of a load `distance` lines farther than the loads before it.
std::uint64_t ticks_ahead(Pages& pages, std::size_t distance) {
  const unsigned char* const page = pages.next();
  for (std::size_t line = 1; line < kLoads; ++line) {
    probe::load(page + line * probe::kLineBytes);
    pause_for(kPauseTicks);
  }
  return ticks_of_load(page, kLoads - 1 + distance);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t rounds = probe::count_argument(argc, argv, 20);
  if (rounds > kMostRounds) {
    std::fprintf(stderr, "%s: more than %zu rounds\n", argv[0], static_cast<std::size_t>(kMostRounds));
    return 2;
  }
  probe::pin_to(0);
  Pages pages;
  std::vector<std::uint64_t> missed(rounds), ahead(rounds);
  for (auto& ticks : missed) ticks = ticks_of_load(pages.next(), kLines / 2);
  const double clock = probe::clock_mean(), slow = probe::trimmed_mean(missed) - clock;
  std::size_t lines = 0;
  for (; lines < kFarthest; ++lines) {
    for (auto& ticks : ahead) ticks = ticks_ahead(pages, lines + 1);
    if (probe::trimmed_mean(ahead) - clock > slow / 2) break;
  }
  probe::print("lines_ahead", static_cast<double>(lines));
  return 0;
}
