// SPDX-License-Identifier: Apache-2.0
// Finds data that threads share, by samples of loads and stores with their addresses.
//
// A sample tells of sharing if another thread was seen at the same cache line at most kMostApartNs before,
// and one of the two stored. If that other thread, or a third one, was seen at the very address, they share
// data; else they share the line alone, which is false sharing. Only where accesses begin is known, not how
// long they are: two that overlap without beginning at one address count as apart.
//
// Source: TxSampler, section 3.3, whose threshold is 100 ms. It compares with the last access alone, which
// hides sharing if a thread accesses a line several times in a row; here the last ones of two threads are
// kept.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "profile/place_key.h"
#include "profile/process_images.h"
#include "profile/profile.h"

namespace elision::profile {

/// The same instructions that share the same variable, or data without names, are one row: whether it is of
/// many places, the variable, the earlier and the later instruction, and whether these store.
using SharedDataKey = std::tuple<bool, std::string, PlaceKey, PlaceKey, bool, bool>;
SharedDataKey key_of(const SharedData& row);

/// Sorts rows, most samples first. Those beyond SharedDataAccount::kMostWritten become one of many places.
void keep_most_samples(std::vector<SharedData>& rows);

class SharedDataAccount {
 public:
  static constexpr std::uint64_t kMostApartNs = 100'000'000;
  /// So many lines are remembered. When there are more, those are forgotten that are too old to matter, or
  /// all.
  static constexpr std::size_t kMostLines = 1 << 16;
  /// So many different pairs of instructions and lines are told apart, and so many rows written into a
  /// profile. The others are one row without places.
  static constexpr std::size_t kMostRows = 1 << 14, kMostWritten = 100;

  /// One sample of a load or a store. Samples come in about the order of their times. `image`: of its
  /// process. The images must be the same in all calls.
  void add(const PerfSample& sample, bool stores, ProcessImages& images, std::size_t image);

  /// What is known now, with names.
  AccessEvents events(ProcessImages& images) const;

 private:
  struct Access {
    std::uint32_t thread = 0;  // 0: none
    bool stores = false;
    std::uint64_t time = 0, pc = 0;
  };
  /// The last accesses of two threads, the latest first.
  class Recent {
   public:
    void add(const Access& access);
    /// The last one of another thread that is not too old for `access`; or null.
    const Access* other(const Access& access) const;

   private:
    std::array<Access, 2> last_;
  };
  struct Recents {
    Recent any, stores;

    void add(const Access& access);
    /// The access of another thread that `access` meets: one of the two stores. Null: none.
    const Access* met_by(const Access& access) const { return (access.stores ? any : stores).other(access); }
  };
  struct Line {
    std::uint64_t time = 0;  // of the last access
    Recents whole;
    std::map<std::uint8_t, Recents> begins;  // by the byte at which accesses begin
  };
  struct Key {
    std::size_t image = 0;
    std::uint64_t line = 0;  // 0: many
    std::uint64_t earlier = 0, later = 0;
    bool earlier_stores = false, later_stores = false;

    auto operator<=>(const Key&) const = default;
  };
  struct Sums {
    std::uint64_t address = 0;  // of the first sample
    bool one_address = true;    // all samples have it
    double samples = 0, apart = 0;
  };

  /// A process that executes another program has another image, and other lines.
  using LineKey = std::tuple<std::uint32_t, std::size_t, std::uint64_t>;  // process, image, number

  Line& line_at(const LineKey& key, std::uint64_t time);

  std::map<LineKey, Line> lines_;
  std::map<Key, Sums> rows_;
  double loads_ = 0, stores_ = 0, unknown_ = 0;
};

}  // namespace elision::profile
