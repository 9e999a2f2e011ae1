// SPDX-License-Identifier: Apache-2.0
// How a program recognises the virtual CPU, and the two instructions that only it has.
//
// The virtual CPU answers CPUID leaf kVirtualCpuLeaf with kVirtualCpuSignature in EBX, ECX, EDX
// (leaf number alone proves nothing: a real CPU answers an unknown leaf with the data of its
// highest one). EAX is the highest leaf of this range. Leaf kVirtualCpuFeatureLeaf has the bits.
//
// Always-abort transactions (Izraelevitz, Xiang, Scott: "Performance Improvement via Always-Abort
// HTM", section II-B) have their own encodings, formed from XBEGIN and XTEST by an F3 prefix:
//   AAHTM_BEGIN rel32  F3 C7 F8 rel32  starts a transaction that always aborts. EAX and the jump to
//                                      rel32 on abort as for XBEGIN; XEND inside it aborts (EAX 0).
//                                      Inside any transaction it only nests, as XBEGIN does.
//   AAHTM_TEST         F3 0F 01 D6     ZF = 0 inside an always-abort transaction, 1 elsewhere; the
//                                      other arithmetic flags are cleared, as by XTEST.
// A program may use them only after the CPUID check: on other CPUs the F3 prefix would be ignored
// or be an invalid opcode.
//
// Version 1. Freestanding; included by the preload library and by the virtual machine.
#pragma once

#include <cstdint>

namespace elision::abi {

inline constexpr std::uint32_t kVirtualCpuLeaf = 0x454c4900;  // "ELI" and 0
inline constexpr std::uint32_t kVirtualCpuFeatureLeaf = 0x454c4901;
inline constexpr std::uint32_t kVirtualCpuSignatureEbx = 0x73696c45;  // "Elis"
inline constexpr std::uint32_t kVirtualCpuSignatureEcx = 0x566e6f69;  // "ionV"
inline constexpr std::uint32_t kVirtualCpuSignatureEdx = 0x31555043;  // "CPU1"

/// Bits of EAX of the feature leaf.
inline constexpr std::uint32_t kFeatureAlwaysAbort = 1u << 0;

}  // namespace elision::abi
