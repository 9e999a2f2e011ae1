// SPDX-License-Identifier: Apache-2.0
#include "vm/report/symbols.h"

#include <elfutils/libdwfl.h>

#include <cstdio>

#include "profile/call_paths.h"
#include "profile/names.h"
#include "vm/host/guest_memory.h"

namespace elision::vm {
namespace {

/// In the order of DWARF's numbers.
constexpr Gpr kGprOfDwarf[kGprCount] = {kRax, kRdx, kRcx, kRbx, kRsi, kRdi, kRbp, kRsp,
                                        kR8,  kR9,  kR10, kR11, kR12, kR13, kR14, kR15};

std::string hexadecimal(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

/// Ends no transaction.
bool read_guest(std::uint64_t address, void* to, std::size_t bytes) {
  return copy_guest_bytes(to, reinterpret_cast<const void*>(address), bytes);
}

profile::DwarfRegisters dwarf_registers(const std::uint64_t* gpr, std::uint64_t pc) {
  profile::DwarfRegisters registers{};
  for (unsigned i = 0; i < kGprCount; ++i) registers[i] = gpr[kGprOfDwarf[i]];
  registers[profile::kDwarfPc] = pc;
  return registers;
}

}  // namespace

struct Symbols::Impl {
  explicit Impl(const std::string& memory_map) : names(memory_map), unwinder(names, read_guest) {}

  std::string describe(const Frame& frame) const {
    std::string text = hexadecimal(frame.pc);
    const std::uint64_t place = frame.place();
    const profile::Mapping* const mapping = names.mapping_of(place);
    if (mapping == nullptr) return text + " (nothing is mapped here)";
    const std::string file = mapping->short_name();
    if (names.dwfl() == nullptr || dwfl_addrmodule(names.dwfl(), place) == nullptr)
      return text + " (" + file + ")";
    if (unwinder.is_signal_return(frame.pc)) return text + " <signal handler called> (" + file + ")";
    std::uint64_t offset = 0;
    const std::string name = names.symbol(place, offset);
    if (name.empty()) return text + " (" + names.in_file(place, frame.pc - place) + ")";
    text += " " + name + "+" + hexadecimal(offset + (frame.pc - place));
    std::string source_file;
    std::uint32_t line = 0;
    names.source(place, source_file, line);
    if (!source_file.empty()) text += " at " + source_file + ":" + std::to_string(line);
    return text + " (" + file + ")";
  }

  profile::Names names;
  profile::Unwinder unwinder;
};

Symbols::Symbols(const std::string& memory_map) : impl_(std::make_unique<Impl>(memory_map)) {}
Symbols::~Symbols() = default;

std::vector<Frame> Symbols::backtrace(const GuestState& state, std::size_t limit) {
  return impl_->unwinder.backtrace(dwarf_registers(state.gpr, state.rip), nullptr, limit);
}

std::vector<Frame> Symbols::backtrace(const StackCopy& copy, std::size_t limit) {
  const profile::StackBytes stack{copy.bytes.data(), copy.bytes.size()};
  return impl_->unwinder.backtrace(dwarf_registers(copy.gpr, copy.pc), &stack, limit);
}

std::vector<std::uint64_t> Symbols::places_outside_library(const std::vector<Frame>& chain) const {
  return profile::places_outside_library(chain, impl_->names);
}

std::string Symbols::describe(const Frame& frame) const { return impl_->describe(frame); }

}  // namespace elision::vm
