// SPDX-License-Identifier: Apache-2.0
// Variations: plausible machines. Some values of a machine file are uncertain. A variation draws each of them
// anew within the bounds of the file, so that a result can be tested on many such machines.
//
// The median of the draws is the best guess. A number falls into [low, best] or [best, high] with equal
// probability, and is uniform within. A word or truth value is the best guess with probability one half; its
// alternatives share the rest. A draw depends only on the seed, the variation's number and the field's name.
// So a new field in a machine file leaves the draws of the others unchanged, unless the machine becomes
// inconsistent; then every field is drawn again. Deterministic. Hosted, like the loader.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/description_toml.h"

namespace elision::machine {

/// Variations have the numbers 0 to kVariations - 1. Variation 0 has the best guesses.
inline constexpr std::uint32_t kVariations = 10'000;

/// The seed of every command, so that a number names the same machine everywhere.
inline constexpr std::uint64_t kVariationSeed = 1;

/// An uncertain value, as drawn for a variation.
struct DrawnValue {
  std::string field;  // table.key
  std::string best;
  std::string value;
  double level =
      0;  // for ranking: the number itself; for words, 0 is the best guess, 1 the first alternative

  bool changed() const { return value != best; }
};

struct Variation {
  Machine machine;                // without uncertain values
  std::vector<DrawnValue> drawn;  // in the order of the machine's values
};

/// Variation `number` of `machine`. An error if none of many draws is a consistent machine.
Result<Variation> variation_of(const Machine& machine, std::uint32_t number,
                               std::uint64_t seed = kVariationSeed);

}  // namespace elision::machine
