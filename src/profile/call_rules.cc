// SPDX-License-Identifier: Apache-2.0
#include "profile/call_rules.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>

namespace elision::profile {
namespace {

constexpr std::size_t kMostKept = 1 << 14;  // some 2 MB

struct Free {
  void operator()(Dwarf_Frame* frame) const { std::free(frame); }
};
using Frame = std::unique_ptr<Dwarf_Frame, Free>;

/// Offsets are signed numbers in unsigned ones.
std::optional<std::int32_t> offset_of(Dwarf_Word number) {
  const auto offset = static_cast<std::int64_t>(number);
  constexpr std::int32_t kLeast = CallRule::kUndefined + 1, kMost = std::numeric_limits<std::int32_t>::max();
  if (offset < kLeast || offset > kMost) return std::nullopt;
  return static_cast<std::int32_t>(offset);
}

/// Takes "register + offset".
bool take_cfa(Dwarf_Frame* frame, CallRule& rule) {
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_cfa(frame, &operations, &count) != 0 || count != 1) return false;
  const Dwarf_Op& operation = operations[0];
  const bool is_short = operation.atom >= DW_OP_breg0 && operation.atom <= DW_OP_breg31;
  if (!is_short && operation.atom != DW_OP_bregx) return false;
  const Dwarf_Word from = is_short ? Dwarf_Word{operation.atom} - DW_OP_breg0 : operation.number;
  const auto offset = offset_of(is_short ? operation.number : operation.number2);
  if (from >= rule.saved.size() || !offset) return false;
  rule.cfa_register = static_cast<std::uint8_t>(from);
  rule.cfa_offset = *offset;
  return true;
}

/// Takes "at CFA + offset", "same value" and "undefined".
bool take_register(Dwarf_Frame* frame, std::size_t number, CallRule& rule) {
  Dwarf_Op room[3];
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_register(frame, static_cast<int>(number), room, &operations, &count) != 0) return false;
  if (count == 0) {
    const bool is_same = (operations == nullptr && number != kDwarfRax) || number == kDwarfRbx;
    if (number == kDwarfStackPointer) return false;
    rule.saved[number] = is_same ? CallRule::kSame : CallRule::kUndefined;
    return true;
  }
  if (operations[0].atom != DW_OP_call_frame_cfa) return false;
  if (number == kDwarfStackPointer) {
    rule.saved[number] = CallRule::kSame;
    return count == 2 && operations[1].atom == DW_OP_stack_value;
  }
  std::optional<std::int32_t> offset = 0;
  if (count == 2 && operations[1].atom == DW_OP_plus_uconst)
    offset = offset_of(operations[1].number);
  else if (count != 1)
    return false;
  if (offset) rule.saved[number] = *offset;
  return offset.has_value();
}

CallRules::Found found_in(Dwarf_Frame* frame) {
  CallRules::Found found{CallRules::Kind::kComplex, false, {}};
  const int returns = dwarf_frame_info(frame, nullptr, nullptr, &found.is_signal_frame);
  if (returns != int{kDwarfPc} || found.is_signal_frame || !take_cfa(frame, found.rule)) return found;
  for (std::size_t i = 0; i < found.rule.saved.size(); ++i)
    if (!take_register(frame, i, found.rule)) return found;
  found.kind = CallRules::Kind::kSimple;
  return found;
}

CallRules::Found look_up(Dwfl* dwfl, std::uint64_t pc) {
  Dwfl_Module* const module = dwfl != nullptr ? dwfl_addrmodule(dwfl, pc) : nullptr;
  if (module == nullptr) return {};
  for (const auto rules_of : {dwfl_module_eh_cfi, dwfl_module_dwarf_cfi}) {
    Dwarf_Addr bias = 0;
    Dwarf_CFI* const rules = rules_of(module, &bias);
    Dwarf_Frame* frame = nullptr;
    if (rules == nullptr || dwarf_cfi_addrframe(rules, pc - bias, &frame) != 0) continue;
    return found_in(Frame(frame).get());
  }
  return {};
}

}  // namespace

const CallRules::Found& CallRules::at(std::uint64_t pc) {
  if (const auto kept = found_.find(pc); kept != found_.end()) return kept->second;
  if (found_.size() >= kMostKept) found_.clear();
  return found_.emplace(pc, look_up(dwfl_, pc)).first->second;
}

}  // namespace elision::profile
