// SPDX-License-Identifier: Apache-2.0
#include "profile/unwinder.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

namespace elision::profile {
namespace {

constexpr unsigned kDwarfRegisters = std::tuple_size_v<DwarfRegisters>;
constexpr pid_t kTheThread = 1;  // a number for libdwfl

}  // namespace

struct Unwinder::Impl {
  Impl(const Names& names_of_program, ReadMemory read_memory)
      : names(names_of_program), dwfl(names.dwfl()), read(std::move(read_memory)) {
    attached = dwfl != nullptr && dwfl_attach_state(dwfl, nullptr, kTheThread, &kThreadCallbacks, this);
  }

  /// Reads a word of the stack: of its copy, if there is one.
  std::optional<std::uint64_t> peek(std::uint64_t address) const {
    std::uint64_t word = 0;
    if (copy != nullptr) {
      const std::uint64_t at = address - stack_pointer;
      if (at > copy->size || copy->size - at < sizeof word) return std::nullopt;
      std::memcpy(&word, copy->data + at, sizeof word);
      return word;
    }
    if (!read(address, &word, sizeof word)) return std::nullopt;
    return word;
  }
  static bool read_word(Dwfl*, Dwarf_Addr address, Dwarf_Word* result, void* self) {
    const auto word = static_cast<const Impl*>(self)->peek(address);
    if (word) *result = *word;
    return word.has_value();
  }

  /// libc's restorer of signal frames, by which debuggers know it: mov $15, %rax; syscall.
  bool is_signal_return(std::uint64_t pc) const {
    constexpr std::uint8_t kCode[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    std::uint8_t code[sizeof kCode];
    return read(pc, code, sizeof code) && std::memcmp(code, kCode, sizeof code) == 0;
  }
  /// True if the code before `address` is CALL rel32 or an indirect CALL (FF /2) of any length.
  bool is_behind_call(std::uint64_t address) const {
    constexpr unsigned kLongest = 7;
    std::uint8_t code[kLongest];
    if (!read(address - kLongest, code, kLongest)) return false;
    if (code[kLongest - 5] == 0xe8) return true;
    for (const unsigned length : {2u, 3u, 4u, 6u, 7u})
      if (code[kLongest - length] == 0xff && (code[kLongest - length + 1] >> 3 & 7) == 2) return true;
    return false;
  }
  bool is_executable(std::uint64_t address) const {
    const Mapping* const mapping = names.mapping_of(address);
    return mapping != nullptr && mapping->executable;
  }
  bool is_return_address(std::uint64_t address) const {
    return (is_executable(address - 1) && is_behind_call(address)) ||
           (is_executable(address) && is_signal_return(address));
  }

  /// True if libdwfl can find the caller of the code at `pc`.
  bool has_rules(std::uint64_t pc) const {
    Dwfl_Module* const module = attached && is_executable(pc) ? dwfl_addrmodule(dwfl, pc) : nullptr;
    if (module == nullptr) return false;
    for (const auto rules_of : {dwfl_module_eh_cfi, dwfl_module_dwarf_cfi}) {
      Dwarf_Addr bias = 0;
      Dwarf_CFI* const rules = rules_of(module, &bias);
      Dwarf_Frame* frame = nullptr;
      if (rules == nullptr || dwarf_cfi_addrframe(rules, pc - bias, &frame) != 0) continue;
      std::free(frame);
      return true;
    }
    return false;
  }

  static pid_t next_thread(Dwfl*, void* self, void** thread) {
    if (*thread != nullptr) return 0;
    *thread = self;
    return kTheThread;
  }
  static bool get_thread(Dwfl*, pid_t, void* self, void** thread) {
    *thread = self;
    return true;
  }
  static bool set_registers(Dwfl_Thread* thread, void* argument) {
    const Impl& self = *static_cast<Impl*>(argument);
    return dwfl_thread_state_registers(thread, 0, kDwarfRegisters, self.registers);
  }
  static int on_frame(Dwfl_Frame* frame, void* argument) { return static_cast<Impl*>(argument)->take(frame); }

  int take(Dwfl_Frame* frame) {
    Dwarf_Addr pc = 0;
    bool interrupted = false;  // by a signal, not in a call
    if (!dwfl_frame_pc(frame, &pc, &interrupted) || pc == 0) return DWARF_CB_ABORT;
    const bool first_behind_call = std::exchange(behind_call, false);
    frames->push_back({first_behind_call ? pc + 1 : pc, first_behind_call || !interrupted});
    if (frames->size() >= limit) return DWARF_CB_ABORT;
    const std::uint64_t place = interrupted ? pc : pc - 1;
    if (has_rules(place)) return DWARF_CB_OK;
    for (unsigned i = 0; i < kDwarfPc; ++i)
      if (Dwarf_Word value = 0; dwfl_frame_reg(frame, i, &value) == 0) registers[i] = value;
    registers[kDwarfPc] = place;
    lost = true;
    return DWARF_CB_ABORT;
  }

  /// True if `pc` lies behind a prologue that sets up a frame pointer: [ENDBR64;] PUSH RBP; MOV RBP, RSP.
  bool has_frame_pointer(std::uint64_t pc) const {
    constexpr std::uint8_t kPrologue[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5};
    constexpr std::size_t kMarkBytes = 4;
    Dwfl_Module* const module = attached ? dwfl_addrmodule(dwfl, pc) : nullptr;
    GElf_Off offset = 0;
    GElf_Sym symbol;
    if (module == nullptr ||
        dwfl_module_addrinfo(module, pc, &offset, &symbol, nullptr, nullptr, nullptr) == nullptr)
      return false;
    for (const std::size_t from : {std::size_t{0}, kMarkBytes}) {
      const std::size_t size = sizeof kPrologue - from;
      std::uint8_t code[sizeof kPrologue];
      if (offset >= size && read(pc - offset, code, size) && std::memcmp(code, kPrologue + from, size) == 0)
        return true;
    }
    return false;
  }

  /// Steps to the caller without unwinding rules. False if there is none.
  bool step_by_hand() {
    std::uint64_t& stack = registers[kDwarfStackPointer];
    std::uint64_t& frame = registers[kDwarfFramePointer];
    const auto at_stack = peek(stack);
    if (at_stack && is_return_address(*at_stack) && !has_frame_pointer(registers[kDwarfPc])) {
      stack += 8;
      return return_to(*at_stack);
    }
    const auto saved = peek(frame);
    const auto behind = peek(frame + 8);
    if (frame < stack || !saved || !behind || !is_return_address(*behind)) return false;
    stack = frame + 16;
    frame = *saved;
    return return_to(*behind);
  }
  bool return_to(std::uint64_t address) {
    registers[kDwarfPc] = address - 1;
    behind_call = true;
    return true;
  }

  std::vector<CallStep> backtrace(const DwarfRegisters& from, const StackBytes* stack, std::size_t most) {
    std::vector<CallStep> result;
    frames = &result;
    limit = most;
    copy = stack;
    stack_pointer = from[kDwarfStackPointer];
    std::copy(from.begin(), from.end(), registers);
    behind_call = false;
    do {
      const std::uint64_t place = registers[kDwarfPc];
      lost = true;
      if (has_rules(place)) {
        lost = false;
        dwfl_getthread_frames(dwfl, kTheThread, on_frame, this);
      } else {
        result.push_back({behind_call ? place + 1 : place, behind_call});
      }
    } while (lost && result.size() < limit && step_by_hand());
    return result;
  }

  static constexpr Dwfl_Thread_Callbacks kThreadCallbacks = {next_thread,   get_thread, read_word,
                                                             set_registers, nullptr,    nullptr};

  const Names& names;
  Dwfl* dwfl;  // of `names`; null if libdwfl failed
  ReadMemory read;
  bool attached = false;
  // The chain that is being followed.
  std::vector<CallStep>* frames = nullptr;
  const StackBytes* copy = nullptr;  // null: of memory as it is
  std::uint64_t stack_pointer = 0;   // where `copy` begins
  std::size_t limit = 0;
  Dwarf_Word registers[kDwarfRegisters] = {};
  bool behind_call = false;  // the PC in `registers` lies in front of a return address
  bool lost = false;         // `registers` are of a frame without rules
};

Unwinder::Unwinder(const Names& names, ReadMemory read)
    : impl_(std::make_unique<Impl>(names, std::move(read))) {}
Unwinder::~Unwinder() = default;

std::vector<CallStep> Unwinder::backtrace(const DwarfRegisters& registers, const StackBytes* stack,
                                          std::size_t limit) {
  return impl_->backtrace(registers, stack, limit);
}

bool Unwinder::is_signal_return(std::uint64_t pc) const { return impl_->is_signal_return(pc); }

}  // namespace elision::profile
