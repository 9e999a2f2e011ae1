// SPDX-License-Identifier: Apache-2.0
// Seeded pseudo-random numbers: xoshiro256** by Blackman and Vigna ("Scrambled Linear Pseudorandom
// Number Generators", 2018), seeded by splitmix64 as its authors advise.
//
// Freestanding. Same seed, same sequence, on every host: everything that varies in a virtual run
// draws from here and from nowhere else.
#pragma once

#include <cstdint>

namespace elision {

/// One step of splitmix64; also serves as a mixing function for hashes.
constexpr std::uint64_t splitmix64(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

class Random {
 public:
  constexpr explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) word = splitmix64(seed);
  }

  constexpr std::uint64_t next() {
    const std::uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate_left(state_[3], 45);
    return result;
  }

  /// A number in [0, bound), by multiplication (Lemire); the bias of at most bound/2^32 does not
  /// matter for a timing model. `bound` must be below 2^32.
  constexpr std::uint64_t below(std::uint64_t bound) { return ((next() >> 32) * bound) >> 32; }

 private:
  static constexpr std::uint64_t rotate_left(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  std::uint64_t state_[4]{};
};

}  // namespace elision
