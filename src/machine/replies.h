// SPDX-License-Identifier: Apache-2.0
// The replies of the model's parts. Freestanding.
#pragma once

#include "machine/model.h"

namespace elision::machine {

inline Reply done(std::uint64_t clock, std::uint64_t data_ready, Reach reach = Reach::kMachine) {
  return {.verdict = Reply::Verdict::kDone,
          .cause = HardwareAbort::kNone,
          .first_write_in_transaction = false,
          .reach = reach,
          .clock = Cycles(clock),
          .data_ready = Cycles(data_ready)};
}
inline Reply wait_until(std::uint64_t clock, bool busy = false) {
  return {.verdict = Reply::Verdict::kWait,
          .cause = HardwareAbort::kNone,
          .first_write_in_transaction = false,
          .busy = busy,
          .clock = Cycles(clock),
          .data_ready = Cycles(clock)};
}
inline Reply needs_order(Cycles now) {
  return {.verdict = Reply::Verdict::kNeedsOrder,
          .cause = HardwareAbort::kNone,
          .first_write_in_transaction = false,
          .clock = now,
          .data_ready = now};
}

}  // namespace elision::machine
