// SPDX-License-Identifier: Apache-2.0
// libdwfl follows calls by unwinding rules (.eh_frame, .debug_frame). Where there are none (a wild jump, code
// made at run time, assembly), looks for the caller at the stack pointer, as right after a call, then at the
// frame pointer. Only an address behind a call instruction counts.
#include "vm/report/symbols.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>

#include "profile/names.h"
#include "vm/host/guest_memory.h"

namespace elision::vm {
namespace {

constexpr unsigned kDwarfRegisters = 17;  // System V ABI, AMD64 supplement, figure 3.36
constexpr unsigned kDwarfFramePointer = 6, kDwarfStackPointer = 7, kDwarfPc = 16;
/// In the order of DWARF's numbers.
constexpr Gpr kGprOfDwarf[kGprCount] = {kRax, kRdx, kRcx, kRbx, kRsi, kRdi, kRbp, kRsp,
                                        kR8,  kR9,  kR10, kR11, kR12, kR13, kR14, kR15};
constexpr pid_t kTheThread = 1;  // a number for libdwfl

std::string hexadecimal(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

/// libc's restorer of signal frames, by which debuggers know it: mov $15, %rax; syscall.
bool is_signal_return(std::uint64_t pc) {
  constexpr std::uint8_t kCode[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  std::uint8_t code[sizeof kCode];
  return copy_guest_bytes(code, reinterpret_cast<const void*>(pc), sizeof code) &&
         std::memcmp(code, kCode, sizeof code) == 0;
}

/// True if the code before `pc` is CALL rel32 or an indirect CALL (FF /2) of any length.
bool is_behind_call(std::uint64_t address) {
  constexpr unsigned kLongest = 7;
  std::uint8_t code[kLongest];
  if (!copy_guest_bytes(code, reinterpret_cast<const void*>(address - kLongest), kLongest)) return false;
  if (code[kLongest - 5] == 0xe8) return true;
  for (const unsigned length : {2u, 3u, 4u, 6u, 7u})
    if (code[kLongest - length] == 0xff && (code[kLongest - length + 1] >> 3 & 7) == 2) return true;
  return false;
}

}  // namespace

struct Symbols::Impl {
  explicit Impl(const std::string& memory_map) : names(memory_map), dwfl(names.dwfl()) {
    attached = dwfl != nullptr && dwfl_attach_state(dwfl, nullptr, kTheThread, &kThreadCallbacks, this);
  }

  /// Reads a word of guest memory, or of the copied stack, and ends no transaction.
  std::optional<std::uint64_t> peek(std::uint64_t address) const {
    std::uint64_t word = 0;
    if (copy != nullptr) {
      const std::uint64_t at = address - copy->gpr[kRsp];
      if (at > copy->bytes.size() || copy->bytes.size() - at < sizeof word) return std::nullopt;
      std::memcpy(&word, copy->bytes.data() + at, sizeof word);
      return word;
    }
    if (!copy_guest_bytes(&word, reinterpret_cast<const void*>(address), sizeof word)) return std::nullopt;
    return word;
  }
  static bool read_word(Dwfl*, Dwarf_Addr address, Dwarf_Word* result, void* self) {
    const auto word = static_cast<const Impl*>(self)->peek(address);
    if (word) *result = *word;
    return word.has_value();
  }

  bool is_executable(std::uint64_t address) const {
    const profile::Mapping* const mapping = names.mapping_of(address);
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
      if (offset >= size && copy_guest_bytes(code, reinterpret_cast<const void*>(pc - offset), size) &&
          std::memcmp(code, kPrologue + from, size) == 0)
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

  std::vector<Frame> backtrace(const std::uint64_t* gpr, std::uint64_t pc, const StackCopy* stack,
                               std::size_t most) {
    std::vector<Frame> result;
    frames = &result;
    limit = most;
    copy = stack;
    for (unsigned i = 0; i < kGprCount; ++i) registers[i] = gpr[kGprOfDwarf[i]];
    registers[kDwarfPc] = pc;
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

  std::string describe(const Frame& frame) const {
    std::string text = hexadecimal(frame.pc);
    const std::uint64_t place = frame.returns_here ? frame.pc - 1 : frame.pc;
    const profile::Mapping* const mapping = names.mapping_of(place);
    if (mapping == nullptr) return text + " (nothing is mapped here)";
    const std::string file = mapping->short_name();
    if (dwfl == nullptr || dwfl_addrmodule(dwfl, place) == nullptr) return text + " (" + file + ")";
    if (is_signal_return(frame.pc)) return text + " <signal handler called> (" + file + ")";
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

  static constexpr Dwfl_Thread_Callbacks kThreadCallbacks = {next_thread,   get_thread, read_word,
                                                             set_registers, nullptr,    nullptr};

  profile::Names names;
  Dwfl* dwfl;  // of `names`; null if libdwfl failed
  bool attached = false;
  // The chain that is being followed.
  std::vector<Frame>* frames = nullptr;
  const StackCopy* copy = nullptr;  // null: of guest memory as it is
  std::size_t limit = 0;
  Dwarf_Word registers[kDwarfRegisters] = {};
  bool behind_call = false;  // the PC in `registers` lies in front of a return address
  bool lost = false;         // `registers` are of a frame without rules
};

Symbols::Symbols(const std::string& memory_map) : impl_(std::make_unique<Impl>(memory_map)) {}
Symbols::~Symbols() = default;

std::vector<Frame> Symbols::backtrace(const GuestState& state, std::size_t limit) {
  return impl_->backtrace(state.gpr, state.rip, nullptr, limit);
}

std::vector<Frame> Symbols::backtrace(const StackCopy& copy, std::size_t limit) {
  return impl_->backtrace(copy.gpr, copy.pc, &copy, limit);
}

std::string Symbols::describe(const Frame& frame) const { return impl_->describe(frame); }

}  // namespace elision::vm
