// SPDX-License-Identifier: Apache-2.0
// Plausible machines. A machine file says of some values that they are uncertain; a variation draws each
// of these anew within what the file allows, so that a result can be shown over all of them.
//
// The median of what is drawn is the best guess: a number falls into [low, best] or [best, high] with even
// chances and evenly within; a word or truth value is the best one half of the time, its alternatives share
// the rest. A draw depends on nothing but the seed, the variation's number and the field's name: a machine
// file that gains a field leaves the others' draws as they were, unless the new one makes the whole
// inconsistent; then every field is drawn again. Deterministic. Hosted, as the loader is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/description_toml.h"

namespace elision::machine {

/// Variations are numbered from 0, which is the machine with its best guesses, to one below this.
inline constexpr std::uint32_t kVariations = 10'000;

/// What every command draws from, so that a number names the same machine everywhere.
inline constexpr std::uint64_t kVariationSeed = 1;

/// What an uncertain value is in a variation.
struct DrawnValue {
  std::string field;  // table.key
  std::string best;
  std::string value;
  double level = 0;  // for ranking: the number; of a word 0 for the best, from 1 for its alternatives

  bool changed() const { return value != best; }
};

struct Variation {
  Machine machine;                // its drawn values count as certain
  std::vector<DrawnValue> drawn;  // every value that was uncertain, in the order of the machine's values
};

/// Variation `number` of `machine`. An error if no draw out of many is consistent.
Result<Variation> variation_of(const Machine& machine, std::uint32_t number,
                               std::uint64_t seed = kVariationSeed);

}  // namespace elision::machine
