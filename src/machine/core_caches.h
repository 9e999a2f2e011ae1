// SPDX-License-Identifier: Apache-2.0
// The first part of the model above its state: how lines enter and leave the caches and filters of one core.
#pragma once

#include "machine/state.h"

namespace elision::machine {

class CoreCaches : public State {
 public:
  using State::State;

 protected:
  /// Where `line` goes in L1. The slot may still hold another line.
  std::uint32_t l1_victim(Core& core, LineAddr line);
  void evict_from_l1(Core& core, std::uint32_t slot);
  /// Returns the L2 slot.
  std::uint32_t insert_into_l2(Core& core, LineAddr line, WayState state);
  /// `line`, in L1 slot `slot`, is no longer in the filters of the core's threads.
  void forget_in_filters(Core& core, LineAddr line, std::uint32_t slot);
  /// `line` is no longer in the code filters of the core's threads.
  void forget_code(Core& core, LineAddr line);
  /// Removes the line from L1I, if it is there.
  void drop_code(Core& core, LineAddr line);

 private:
  void write_back_to_l2(Core& core, LineAddr line, const WayState& state);
};

}  // namespace elision::machine
