// SPDX-License-Identifier: Apache-2.0
// An instruction's form: its mnemonic, prefixes that change it, and kinds and sizes of its operands.
// Instructions of one form differ only in registers, addresses and immediate values.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace elision::vm {

/// For example "lock xadd m32, r32", "vpaddb ymm, ymm, m256", "mov r64, rip64", "jnz rel8". Empty if the
/// bytes are no instruction.
std::string instruction_form(std::span<const std::uint8_t> bytes);

/// Forms met, each with the first instruction that had it.
using FormsMet = std::map<std::string, std::vector<std::uint8_t>>;

}  // namespace elision::vm
