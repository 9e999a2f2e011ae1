// SPDX-License-Identifier: Apache-2.0
// Records with attributes and a class, for scalparc.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support.h"

namespace workloads::rms {

inline constexpr std::size_t kClasses = 2;
using ClassCounts = std::array<std::uint32_t, kClasses>;

/// An entry of an attribute's list. As in the original, it also has the class.
struct Entry {
  float value;
  std::uint32_t record;
  std::uint32_t its_class;
};
using List = std::vector<Entry>;

class Records {
 public:
  Records(std::size_t records, std::size_t attributes, std::uint64_t seed)
      : values_(attributes, std::vector<float>(records)), classes_(records) {
    CheapRandom random(seed);
    for (std::vector<float>& attribute : values_)
      for (float& value : attribute) value = static_cast<float>(random.below(1u << 24)) / (1 << 24);
    for (std::size_t box = 0; box < kBoxes; ++box) mark_box(random);
  }

  std::size_t size() const { return classes_.size(); }
  std::size_t attributes() const { return values_.size(); }
  float value(std::size_t attribute, std::size_t record) const { return values_[attribute][record]; }
  std::uint32_t class_of(std::size_t record) const { return classes_[record]; }

  std::vector<List> lists() const {
    std::vector<List> lists(attributes());
    for (std::size_t attribute = 0; attribute < attributes(); ++attribute) {
      for (std::uint32_t record = 0; record < size(); ++record)
        lists[attribute].push_back({value(attribute, record), record, class_of(record)});
      std::stable_sort(lists[attribute].begin(), lists[attribute].end(),
                       [](const Entry& a, const Entry& b) { return a.value < b.value; });
    }
    return lists;
  }

 private:
  static constexpr std::size_t kBoxes = 3, kBoxSides = 2;

  /// Gives the other class to all records inside of a random box.
  void mark_box(CheapRandom& random) {
    std::array<std::size_t, kBoxSides> sides{};
    std::array<float, kBoxSides> low{};
    for (std::size_t i = 0; i < kBoxSides; ++i) {
      sides[i] = random.below(static_cast<std::uint32_t>(attributes()));
      low[i] = static_cast<float>(random.below(500)) / 1000;
    }
    for (std::size_t record = 0; record < size(); ++record) {
      bool inside = true;
      for (std::size_t i = 0; i < kBoxSides; ++i) {
        const float here = value(sides[i], record);
        inside = inside && here >= low[i] && here < low[i] + 0.5f;
      }
      if (inside) classes_[record] = 1;
    }
  }

  std::vector<std::vector<float>> values_;  // by attribute
  std::vector<std::uint32_t> classes_;
};

}  // namespace workloads::rms
