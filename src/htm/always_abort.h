// SPDX-License-Identifier: Apache-2.0
// The two ways to wait by speculation (Izraelevitz et al., section II-B).
//
// VirtualAlwaysAbort uses the instructions that only the virtual CPU has (abi/virtual_cpu.h): the
// hardware guarantees that such a transaction never commits.
//
// NestedRtm is RTM nested as deep as the CPU allows. This code never executes XEND, and an XEND that the
// program reaches by accident only lowers the depth. That is hardening, not a guarantee (section II: a wild
// jump to a sequence of XENDs commits inconsistent state), so it is opt-in.
#pragma once

#include "htm/backend.h"
#include "htm/rtm.h"

namespace elision::htm {

struct VirtualAlwaysAbort {
  [[gnu::always_inline]] static Status begin_always_abort() {
    std::uint32_t eax = Status::kStarted;
    // AAHTM_BEGIN rel32, to the next instruction.
    asm volatile(".byte 0xf3, 0xc7, 0xf8\n.long 0" : "+a"(eax) : : "memory");
    return Status{eax};
  }

  [[gnu::always_inline]] static bool in_always_abort() {
    bool inside;
    asm volatile(".byte 0xf3, 0x0f, 0x01, 0xd6" : "=@ccnz"(inside));  // AAHTM_TEST
    return inside;
  }

  template <std::uint8_t kCode>
  [[gnu::always_inline]] static Status abort() {
    return Rtm::abort<kCode>();
  }
};
static_assert(AlwaysAborting<VirtualAlwaysAbort>);

/// Set only inside the transaction, so an abort undoes it: true exactly while speculating.
inline constinit thread_local bool speculating_by_nested_rtm = false;
/// The deepest nesting of XBEGINs; measured once by cpu.cc before any use.
inline constinit unsigned nested_rtm_depth = 1;

struct NestedRtm {
  [[gnu::always_inline]] static Status begin_always_abort() {
    const Status status = Rtm::begin();
    if (!status.started()) return status;
    for (unsigned depth = 1; depth < nested_rtm_depth; ++depth) asm volatile("xbegin 1f\n1:" : : : "memory");
    speculating_by_nested_rtm = true;
    return status;
  }

  [[gnu::always_inline]] static bool in_always_abort() { return speculating_by_nested_rtm; }

  template <std::uint8_t kCode>
  [[gnu::always_inline]] static Status abort() {
    return Rtm::abort<kCode>();
  }
};
static_assert(AlwaysAborting<NestedRtm>);

}  // namespace elision::htm
