// SPDX-License-Identifier: Apache-2.0
#include "profile/unwinder.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

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
  Impl(const Names& names_of_program, ReadMemory read_memory, Steps who_steps)
      : names(names_of_program),
        dwfl(names.dwfl()),
        rules(dwfl),
        read(std::move(read_memory)),
        steps(who_steps) {
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

  const CallRules::Found& rules_at(std::uint64_t pc) {
    static constexpr CallRules::Found kNothing;
    return is_executable(pc) ? rules.at(pc) : kNothing;
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
    const CallerRegisters& at = static_cast<Impl*>(argument)->registers;
    for (unsigned i = 0; i < kDwarfRegisters; ++i)
      if (at.is_known(i) && !dwfl_thread_state_registers(thread, static_cast<int>(i), 1, &at.value[i]))
        return false;
    return true;
  }
  static int on_frame(Dwfl_Frame* frame, void* argument) { return static_cast<Impl*>(argument)->take(frame); }

  /// Takes the second frame, the first one's caller.
  int take(Dwfl_Frame* frame) {
    if (std::exchange(is_first, false)) return DWARF_CB_OK;
    Dwarf_Addr pc = 0;
    bool interrupted = false;  // by a signal, not in a call
    if (!dwfl_frame_pc(frame, &pc, &interrupted)) return DWARF_CB_ABORT;
    registers.known &= keeps_rbx ? 1u << kDwarfRbx : 0;
    registers.known |= 1u << kDwarfPc;
    registers.value[kDwarfPc] = pc;
    for (unsigned i = 0; i < kDwarfPc; ++i)
      if (dwfl_frame_reg(frame, i, &registers.value[i]) == 0) registers.known |= 1u << i;
    returns = !interrupted;
    stepped = true;
    return DWARF_CB_ABORT;
  }
  bool step_by_library(bool from_signal_frame) {
    if (!attached) return false;
    stepped = false;
    keeps_rbx = !from_signal_frame;
    is_first = true;
    dwfl_getthread_frames(dwfl, kTheThread, on_frame, this);
    return stepped;
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

  /// Steps to the caller without unwinding rules; false if none is found. Tries the frame pointer even if a
  /// rule called it undefined: only a return address above it is accepted.
  bool step_by_hand() {
    std::uint64_t& pc = registers.value[kDwarfPc];
    std::uint64_t& stack = registers.value[kDwarfStackPointer];
    std::uint64_t& frame = registers.value[kDwarfFramePointer];
    const auto at_stack = peek(stack);
    if (at_stack && is_return_address(*at_stack) && !has_frame_pointer(pc)) {
      stack += 8;
      pc = *at_stack;
      return true;
    }
    const auto saved = peek(frame);
    const auto behind = peek(frame + 8);
    if (frame < stack || !saved || !behind || !is_return_address(*behind)) return false;
    stack = frame + 16;
    frame = *saved;
    pc = *behind;
    registers.known |= 1u << kDwarfFramePointer;
    return true;
  }

  /// Steps to the caller. The PC in `registers` must be a place in the instruction that calls.
  bool step() {
    returns = true;
    const CallRules::Found& found = rules_at(registers.value[kDwarfPc]);
    if (found.kind == CallRules::Kind::kNone) return step_by_hand();
    if (found.kind == CallRules::Kind::kComplex || steps == Steps::kByLibrary)
      return step_by_library(found.is_signal_frame);
    return registers.step(found.rule, [this](std::uint64_t address) { return peek(address); });
  }

  std::vector<CallStep> backtrace(const DwarfRegisters& from, const StackBytes* stack, std::size_t limit) {
    copy = stack;
    stack_pointer = from[kDwarfStackPointer];
    registers = CallerRegisters{from};
    std::vector<CallStep> chain{{from[kDwarfPc], false}};
    while (chain.size() < limit && step() && registers.value[kDwarfPc] != 0) {
      CallStep caller{registers.value[kDwarfPc], returns};
      // The kernel, not a call, leads to the code that returns from a signal.
      if (rules_at(caller.place()).is_signal_frame) caller.returns_here = false;
      chain.push_back(caller);
      registers.value[kDwarfPc] = caller.place();
    }
    return chain;
  }

  static constexpr Dwfl_Thread_Callbacks kThreadCallbacks = {next_thread,   get_thread, read_word,
                                                             set_registers, nullptr,    nullptr};

  const Names& names;
  Dwfl* dwfl;  // of `names`; null if libdwfl failed
  CallRules rules;
  ReadMemory read;
  Steps steps;
  bool attached = false;
  // The chain that is being followed.
  const StackBytes* copy = nullptr;  // null: of memory as it is
  std::uint64_t stack_pointer = 0;   // where `copy` begins
  CallerRegisters registers;
  bool returns = false;    // the last step was to a return address
  bool is_first = false;   // libdwfl has not shown the frame that it starts from
  bool stepped = false;    // libdwfl has found a caller
  bool keeps_rbx = false;  // the frame that libdwfl leaves preserves RBX if its rules do not name it
};

Unwinder::Unwinder(const Names& names, ReadMemory read, Steps steps)
    : impl_(std::make_unique<Impl>(names, std::move(read), steps)) {}
Unwinder::~Unwinder() = default;

std::vector<CallStep> Unwinder::backtrace(const DwarfRegisters& registers, const StackBytes* stack,
                                          std::size_t limit) {
  return impl_->backtrace(registers, stack, limit);
}

bool Unwinder::is_signal_return(std::uint64_t pc) const { return impl_->is_signal_return(pc); }

}  // namespace elision::profile
