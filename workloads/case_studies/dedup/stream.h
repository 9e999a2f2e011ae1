// SPDX-License-Identifier: Apache-2.0
// The input of dedup with its repetitions, its cutting into chunks, and the output file.
//
// The output is a sequence of records: a byte that says which kind it is, four bytes, and for kNew as many
// bytes as those four say. kAgain refers to the n-th kNew record, counted from 0.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "case_studies/dedup/packing.h"
#include "nameless_file.h"
#include "support.h"

namespace workloads::dedup {

/// About half of the input repeats earlier parts of it. The other half consists of words, so that it can be
/// packed.
inline Bytes draw_input(std::size_t size, std::uint64_t seed) {
  constexpr std::uint32_t kWords = 512, kLeastPart = 1024, kMostPart = 8192;
  CheapRandom random(seed);
  std::vector<Bytes> words(kWords);
  for (Bytes& word : words) {
    word.resize(3 + random.below(8));
    for (std::uint8_t& letter : word) letter = static_cast<std::uint8_t>('a' + random.below(26));
  }
  Bytes input;
  input.reserve(size + kMostPart);
  while (input.size() < size) {
    const std::size_t length = kLeastPart + random.below(kMostPart - kLeastPart);
    if (input.size() > kMostPart && random.below(2) == 0) {
      const std::size_t from = random.below(static_cast<std::uint32_t>(input.size() - length));
      for (std::size_t i = 0; i < length; ++i) input.push_back(input[from + i]);
      continue;
    }
    for (const std::size_t end = input.size() + length; input.size() < end;) {
      const Bytes& word = words[random.below(kWords)];
      input.insert(input.end(), word.begin(), word.end());
    }
  }
  input.resize(size);
  return input;
}

/// Cuts where a hash of the last bytes has a given value, so that equal parts have equal chunks wherever
/// they are.
class Cutter {
 public:
  /// `average`: bytes of a chunk, a power of two.
  explicit Cutter(std::size_t average) : least_(average / 4), most_(average * 4), mask_(average - 1) {
    CheapRandom random(7);
    for (std::uint64_t& value : values_) value = random.below(UINT32_MAX);
  }

  /// The length of the first chunk of `bytes`.
  std::size_t first_chunk(std::span<const std::uint8_t> bytes) const {
    std::uint64_t hash = 0;
    const std::size_t end = std::min(bytes.size(), most_);
    for (std::size_t i = 0; i < end; ++i) {
      hash = (hash << 1) + values_[bytes[i]];
      if (i + 1 >= least_ && (hash >> 12 & mask_) == 0) return i + 1;
    }
    return end;
  }

 private:
  const std::size_t least_, most_, mask_;
  std::array<std::uint64_t, 256> values_;
};

enum class Record : std::uint8_t { kNew, kAgain };

/// Makes one or two system calls.
inline void write_record(const NamelessFile& output, Record kind, std::uint32_t number,
                         std::span<const std::uint8_t> bytes) {
  std::array<std::uint8_t, 5> head;
  head[0] = static_cast<std::uint8_t>(kind);
  std::memcpy(&head[1], &number, sizeof number);
  output.write(head.data(), head.size());
  if (!bytes.empty()) output.write(bytes.data(), bytes.size());
}

/// Returns false if `output` is no sequence of records. Otherwise `input` has the bytes of the original
/// input.
inline bool restore(std::span<const std::uint8_t> output, Bytes& input) {
  struct Place {
    std::size_t begin, size;
  };
  std::vector<Place> chunks;
  while (output.size() >= 5) {
    std::uint32_t number;
    std::memcpy(&number, &output[1], sizeof number);
    const bool is_new = output[0] == static_cast<std::uint8_t>(Record::kNew);
    output = output.subspan(5);
    if (is_new) {
      const std::size_t begin = input.size();
      if (number > output.size() || !unpack(output.first(number), input)) return false;
      chunks.push_back({begin, input.size() - begin});
      output = output.subspan(number);
    } else {
      if (number >= chunks.size()) return false;
      const Place place = chunks[number];
      for (std::size_t i = 0; i < place.size; ++i) input.push_back(input[place.begin + i]);
    }
  }
  return output.empty();
}

}  // namespace workloads::dedup
