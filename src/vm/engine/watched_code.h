// SPDX-License-Identifier: Apache-2.0
// The instruction whose executions begin or end a part of the run (Trigger::Kind::kCode), or those whose
// executions are counted in it (RunRegion::counted). A name is looked up in each program and library as code
// of it is first translated, so that code loaded later is found too.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace elision::vm {

class WatchedCode {
 public:
  /// `memory_map`: the guest's. `refuse`: ends the run, since a name is ambiguous.
  WatchedCode(std::function<std::string()> memory_map, std::function<void(const std::string&)> refuse)
      : memory_map_(std::move(memory_map)), refuse_(std::move(refuse)) {}

  /// From now on watches `places` (run_region.h). Counts their executions from 0, and leaves to the engine at
  /// number `awaited`; 0: never. What is translated must be translated again.
  void watch(const std::vector<std::string>& places, std::uint64_t awaited);
  /// Counts from 0 again.
  static void count_anew();
  /// A transaction with so many executions has committed. They count unless one is awaited: that would be
  /// past.
  static void count_committed(std::uint64_t executions);

  /// To be called before code at `pc` is translated.
  void examine(std::uint64_t pc);
  /// What was mapped there may be replaced.
  void forget(std::uint64_t begin, std::uint64_t end);

  bool is_idle() const { return wanted_.empty(); }
  /// The watched instructions: one in each program or library that has a function.
  const std::vector<std::uint64_t>& addresses() const { return addresses_; }
  bool contains(std::uint64_t pc) const;
  /// Executions so far.
  static std::uint64_t executions();

 private:
  struct Range {
    std::uint64_t begin, end;
  };
  /// A place: a function or an address, in a program or library or, without `object`, in all.
  struct Wanted {
    std::string object, name;
  };
  void look_up(const Wanted& wanted, std::uint64_t pc, const std::string& file);

  std::function<std::string()> memory_map_;
  std::function<void(const std::string&)> refuse_;
  std::vector<Wanted> wanted_;
  std::vector<Range> examined_;
  std::vector<std::uint64_t> addresses_;
};

}  // namespace elision::vm
