// SPDX-License-Identifier: Apache-2.0
// Instructions as text, for messages and statistics.
#pragma once

#include <cstdint>
#include <string>

namespace elision::vm {

/// The guest's instruction at `pc` in Intel syntax; empty if it cannot be read or decoded.
std::string disassemble(std::uint64_t pc);

/// The instruction's mnemonic and kinds of operands ("vaddps zmm, zmm, zmm"), or "unknown".
std::string instruction_kind(std::uint64_t pc);

/// The instruction's bytes ("62 f1 74 48 58 c2"); the first eight if its length is unknown.
std::string instruction_bytes(std::uint64_t pc);

}  // namespace elision::vm
