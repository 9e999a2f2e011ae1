// SPDX-License-Identifier: Apache-2.0
// Instructions as people read them, for messages and statistics.
#pragma once

#include <cstdint>
#include <string>

namespace elision::vm {

/// The guest's instruction at `pc` in Intel syntax; empty if it cannot be read or decoded.
std::string disassemble(std::uint64_t pc);

/// What kind of instruction it is: its mnemonic with the kinds of its operands ("vaddps zmm, zmm, zmm"), or
/// "unknown".
std::string instruction_kind(std::uint64_t pc);

/// Its bytes ("62 f1 74 48 58 c2"); the first eight where its length is unknown.
std::string instruction_bytes(std::uint64_t pc);

}  // namespace elision::vm
