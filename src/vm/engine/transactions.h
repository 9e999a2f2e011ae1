// SPDX-License-Identifier: Apache-2.0
// Transactions that end before their XEND. What the model decides while another CPU makes an access arrives
// at on_abort().
#pragma once

#include "vm/engine/engine_context.h"

namespace elision::vm {

class Transactions final : public machine::AbortSink {
 public:
  explicit Transactions(EngineContext& context) : context_(context) {}

  /// Ends the transaction of the running CPU; `immediate` is XABORT's, or kDebugFault.
  void abort(Cpu& cpu, machine::HardwareAbort cause, unsigned immediate = 0);
  /// Ends the transaction of a CPU that is not the running one, or whose registers nobody needs any more.
  void end(Cpu& cpu, machine::HardwareAbort cause, Cycles now);
  /// Ends all transactions, as the interrupt does with which the operating system tells other CPUs of a
  /// change.
  void end_all();
  /// True if a transaction has written to [begin, end).
  bool any_writer(std::uint64_t begin, std::uint64_t end) const;
  /// Ends those that have written to [begin, end), the running CPU's own too.
  void end_writers(std::uint64_t begin, std::uint64_t end);

  void on_abort(CpuId victim, machine::HardwareAbort cause, LineAddr line, CpuId requester, Cycles now) override;

 private:
  EngineContext& context_;
};

}  // namespace elision::vm
