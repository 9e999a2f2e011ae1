// SPDX-License-Identifier: Apache-2.0
#include "machine/variation.h"

#include <algorithm>
#include <string_view>

#include "base/random.h"
#include "machine/description_fields.h"

namespace elision::machine {
namespace {

/// If so many draws in a row are inconsistent, the file's intervals contradict each other.
constexpr std::uint32_t kMostDraws = 1000;

/// FNV-1a, by Fowler, Noll and Vo.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// The stream of one field in one draw.
Random stream_of(std::uint64_t seed, std::uint32_t number, std::uint32_t draw, std::string_view field) {
  std::uint64_t state = seed;
  for (const std::uint64_t part : {std::uint64_t{number}, std::uint64_t{draw}, hash_of(field)})
    state = splitmix64(state) ^ part;
  return Random(splitmix64(state));
}

bool heads(Random& random) { return (random.next() >> 63) != 0; }

/// The field `name` if its values are numbers, else null.
const NumberField* number_field(std::string_view name) {
  const auto fields = description_fields();
  const auto found =
      std::find_if(fields.begin(), fields.end(), [name](const Field& field) { return field.name == name; });
  return found == fields.end() ? nullptr : std::get_if<NumberField>(&found->kind);
}

DrawnValue draw_number(const ValueRecord& record, const NumberField& field, Random random) {
  const auto number = [&field](const std::string& text) {
    return static_cast<std::uint64_t>(parse_number(field, text).value());
  };
  const std::uint64_t best = number(record.best);
  const bool low_side = heads(random);
  const std::uint64_t from = low_side ? number(record.others[0]) : best;
  const std::uint64_t to = low_side ? best : number(record.others[1]);
  const std::string value = number_text(field, static_cast<std::int64_t>(from + random.below(to - from + 1)));
  return {record.field, record.best, value, std::stod(value)};
}

DrawnValue draw_word(const ValueRecord& record, Random random) {
  if (heads(random)) return {record.field, record.best, record.best, 0};
  const std::uint64_t index = random.below(record.others.size());
  return {record.field, record.best, record.others[index], 1.0 + static_cast<double>(index)};
}

std::vector<DrawnValue> best_guesses(const Machine& machine) {
  std::vector<DrawnValue> values;
  for (const ValueRecord& record : machine.values) {
    if (record.others.empty()) continue;
    const double level = number_field(record.field) ? std::stod(record.best) : 0;
    values.push_back({record.field, record.best, record.best, level});
  }
  return values;
}

std::vector<DrawnValue> draw_all(const Machine& machine, std::uint32_t number, std::uint32_t draw,
                                 std::uint64_t seed) {
  std::vector<DrawnValue> values;
  for (const ValueRecord& record : machine.values) {
    if (record.others.empty()) continue;
    const Random random = stream_of(seed, number, draw, record.field);
    const NumberField* number = number_field(record.field);
    values.push_back(number ? draw_number(record, *number, random) : draw_word(record, random));
  }
  return values;
}

Result<Machine> with_drawn(const Machine& machine, const std::vector<DrawnValue>& drawn,
                           std::uint32_t number) {
  std::vector<FieldValue> values;
  for (const DrawnValue& value : drawn) values.push_back({value.field, value.value});
  return with_values(machine, values, "drawn for variation " + std::to_string(number));
}

}  // namespace

Result<Variation> variation_of(const Machine& machine, std::uint32_t number, std::uint64_t seed) {
  if (number == 0) return Variation{machine, best_guesses(machine)};
  std::string problem;
  for (std::uint32_t draw = 0; draw < kMostDraws; ++draw) {
    std::vector<DrawnValue> drawn = draw_all(machine, number, draw, seed);
    Result<Machine> changed = with_drawn(machine, drawn, number);
    if (changed) return Variation{std::move(*changed), std::move(drawn)};
    problem = changed.error();
  }
  return Error{"variation " + std::to_string(number) +
               ": the machine's intervals contradict each other: " + problem};
}

}  // namespace elision::machine
