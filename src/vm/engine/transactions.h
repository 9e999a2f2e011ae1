// SPDX-License-Identifier: Apache-2.0
// Aborts transactions, except those that an access of another CPU ends (cpu/remote_aborts.h).
#pragma once

#include "vm/engine/engine_context.h"

namespace elision::vm {

class Transactions {
 public:
  explicit Transactions(EngineContext& context) : context_(context) {}

  /// Aborts the transaction of the running CPU. `immediate` is XABORT's immediate, or kDebugFault.
  void abort(Cpu& cpu, machine::HardwareAbort cause, unsigned immediate = 0);
  /// Aborts the transaction of another CPU, or of one whose registers are no longer needed.
  void end(Cpu& cpu, machine::HardwareAbort cause, Cycles now);
  /// Aborts all transactions, as the operating system's inter-processor interrupt does.
  void end_all();
  /// True if a transaction has written to [begin, end).
  bool any_writer(std::uint64_t begin, std::uint64_t end) const;
  /// Aborts all transactions that have written to [begin, end), the running CPU's too.
  void end_writers(std::uint64_t begin, std::uint64_t end);

 private:
  EngineContext& context_;
};

}  // namespace elision::vm
