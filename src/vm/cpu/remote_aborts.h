// SPDX-License-Identifier: Apache-2.0
// Rolls back the transactions that accesses of other CPUs abort, and lines that they lose.
//
// Freestanding, as helpers.h: the model reports such an abort in the middle of the access.
#pragma once

#include "machine/model.h"

namespace elision::vm {

class RemoteAborts final : public machine::AbortSink {
 public:
  void on_abort(const machine::RemoteAbort& abort) override;
  void on_lost_line(CpuId victim, LineAddr line) override;
};

}  // namespace elision::vm
