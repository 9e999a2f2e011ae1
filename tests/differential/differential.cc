// SPDX-License-Identifier: Apache-2.0
// Runs random sequences of instructions and prints a digest of each one's final state: registers, flags,
// vectors, x87, memory, and the signal that ended it, if any. differential_test.py compares a native run with
// one in the virtual machine.
//
//   differential [--seed N] [--first N] [--count N] [--examples FILE] [--high] [--show] [--list-forms]
//                [--flip nothing|undefined|defined] [--flags MASK]
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "generator.h"
#include "state.h"

namespace differential {
namespace {

constexpr std::uint64_t kArithmeticFlags = 0x8d5, kDirectionFlag = 0x400;

struct Options {
  std::uint64_t seed = 1, first = 0, count = 100;
  bool high = false, shown = false, forms_listed = false;
  std::string examples;
  Flips flips;
};

/// How a sequence was cut short.
struct Fault {
  int signal, code;
  std::uint64_t address;
  std::uint64_t pc;
  std::uint64_t flags;
  std::uint64_t gpr[kGprs];
};
Fault fault;

extern "C" void on_fault(int signal, siginfo_t* info, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  constexpr int kOrder[kGprs] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                 REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  fault.signal = signal;
  fault.code = info->si_code;
  fault.address = reinterpret_cast<std::uint64_t>(info->si_addr);
  fault.pc = static_cast<std::uint64_t>(registers[REG_RIP]);
  fault.flags = static_cast<std::uint64_t>(registers[REG_EFL]);
  for (unsigned k = 0; k < kGprs; ++k) fault.gpr[k] = static_cast<std::uint64_t>(registers[kOrder[k]]);
  registers[REG_RIP] = reinterpret_cast<greg_t>(sequence_end);
}

void die(const char* what) {
  std::perror(what);
  std::exit(2);
}

char* map_at(std::uint64_t address, std::uint64_t bytes, int protection) {
  void* const place = mmap(reinterpret_cast<void*>(address), bytes, protection,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (place != reinterpret_cast<void*>(address)) die("differential: mmap");
  return static_cast<char*>(place);
}

class Digest {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* at = static_cast<const std::uint8_t*>(data);
    for (std::size_t k = 0; k + 8 <= bytes; k += 8) {
      std::uint64_t word;
      std::memcpy(&word, at + k, 8);
      value_ = (value_ ^ word) * 0x100000001b3u;
      value_ ^= value_ >> 29;
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

/// The initial registers of a sequence: boundary values of instructions, and some others.
void begin_with(State& state, Draw& draw, const Layout& layout) {
  constexpr std::uint64_t kEdges[] = {
      0, 1, ~std::uint64_t{0}, 0x7fffffff, 0x80000000, 0x8000000000000000, 0x7f, 0x80, 63};
  std::memset(&state, 0, sizeof state);
  const auto number = [&] {
    return draw.percent(40) ? kEdges[draw.below(sizeof kEdges / sizeof *kEdges)]
                            : draw.next() >> draw.below(64);
  };
  for (std::uint64_t& gpr : state.gpr) gpr = number();
  state.gpr[kRsp] = layout.stack + Layout::kStackBytes / 2;
  state.gpr[kR12] = draw.below(64);
  state.gpr[kR13] = layout.middle(0);
  state.gpr[kR14] = layout.middle(1) + draw.below(64);
  state.gpr[kR15] = layout.near_end();
  state.flags = 0x202 | (draw.next() & kArithmeticFlags);
  for (auto& vector : state.ymm)
    for (std::size_t k = 0; k < sizeof vector; k += 8) {
      const std::uint64_t lane = number();
      std::memcpy(vector + k, &lane, 8);
    }
  for (unsigned k = 0; k < 16; ++k) std::memcpy(state.fx + 160 + 16 * k, state.ymm[k], 16);
  const std::uint16_t x87_control = 0x37f;
  const std::uint32_t mxcsr = 0x1f80 | draw.below(4) << 13;
  std::memcpy(state.fx, &x87_control, 2);
  std::memcpy(state.fx + 24, &mxcsr, 4);
}

/// Removes addresses of host code: the x87 unit's last instruction and operand.
void make_comparable(State& state) {
  std::memset(state.fx + 6, 0, 18);
  std::memset(state.fx + 416, 0, 96);
  // A sequence that runs to its end stores the other flags to memory. At a fault, flags that the following
  // code would overwrite are not exact (docs/reference/limits.md).
  state.flags &= kDirectionFlag;
  fault.flags &= kDirectionFlag;
}

/// The flags that the sequence saved at its end and that may be undefined.
void mask_saved_flags(char* data, const Layout& layout, const Generator& generator) {
  char* const place = data + (layout.middle(0) - layout.data) + Generator::kSavedFlags;
  std::uint64_t flags;
  std::memcpy(&flags, place, 8);
  flags &= ~std::uint64_t{generator.undefined_at_end()};
  std::memcpy(place, &flags, 8);
}

void show(const State& state) {
  static const char* const kNames[kGprs] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                            "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
  for (unsigned k = 0; k < kGprs; ++k) std::printf("  %-5s %016lx\n", kNames[k], state.gpr[k]);
  std::printf("  flags %lx\n  mxcsr %08x\n", state.flags,
              *reinterpret_cast<const std::uint32_t*>(state.fx + 24));
  for (unsigned k = 0; k < 16; ++k) {
    std::printf("  ymm%-2u ", k);
    for (unsigned byte = 32; byte-- > 0;) std::printf("%02x", state.ymm[k][byte]);
    std::printf("\n");
  }
  std::printf("  x87  ");
  for (unsigned byte = 0; byte < 160; ++byte)
    std::printf("%s%02x", byte % 16 == 0 ? " " : "", state.fx[byte]);
  std::printf("\n");
}

void show_memory(const char* what, const char* memory, std::uint64_t bytes) {
  for (std::uint64_t line = 0; line < bytes; line += 64) {
    Digest digest;
    digest.add(memory + line, 64);
    std::printf("  %s+%lx %016lx\n", what, line, digest.value());
  }
}

std::vector<Example> read_examples(const std::string& file) {
  std::vector<Example> examples;
  if (file.empty()) return examples;
  std::ifstream stream(file);
  if (!stream) die(file.c_str());
  for (std::string line; std::getline(stream, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;
    Example example{line.substr(0, tab), {}};
    for (std::size_t k = tab + 1; k + 1 < line.size(); k += 2)
      example.bytes.push_back(static_cast<std::uint8_t>(std::stoul(line.substr(k, 2), nullptr, 16)));
    examples.push_back(std::move(example));
  }
  return examples;
}

alignas(64) thread_local char thread_area[Layout::kThreadBytes];

Layout layout_of(const Options& o) {
  const char* fs;
  asm("mov %%fs:0, %0" : "=r"(fs));  // ABI: FS points to a word with its own address
  const std::uint64_t code = o.high ? 0x2a0000000000u : 0x0c000000u, data = 0x08001000u;
  return {code, data, 0x0a001000u, thread_area - fs, o.high ? code + 0x100000 : data + 1024};
}

Generator generator_of(const Options& o, std::uint64_t n, const std::vector<Example>& examples) {
  return Generator(layout_of(o), o.seed * 1000003 + n, examples, o.flips);
}

/// Prints the forms of instructions in the sequences, without running them.
int list_forms(const Options& o) {
  const std::vector<Example> examples = read_examples(o.examples);
  std::set<std::string> forms;
  for (std::uint64_t n = o.first; n < o.first + o.count; ++n) {
    Generator generator = generator_of(o, n, examples);
    generator.generate(reinterpret_cast<std::uint64_t>(sequence_end));
    generator.add_forms(forms);
  }
  for (const std::string& form : forms) std::puts(form.c_str());
  return 0;
}

int run(const Options& o) {
  const std::vector<Example> examples = read_examples(o.examples);
  const Layout layout = layout_of(o);
  const std::uint64_t seed = o.seed, first = o.first, count = o.count;
  const bool shown = o.shown;
  char* const code = map_at(layout.code, Layout::kCodeBytes, PROT_READ | PROT_WRITE);
  char* const data = map_at(layout.data, Layout::kDataBytes, PROT_READ | PROT_WRITE);
  char* const near = o.high ? map_at(layout.near, Layout::kNearBytes, PROT_READ | PROT_WRITE) : nullptr;
  char* const stack = map_at(layout.stack, Layout::kStackBytes, PROT_READ | PROT_WRITE);

  alignas(16) static char handler_stack[65536];
  const stack_t alternate{handler_stack, 0, sizeof handler_stack};
  if (sigaltstack(&alternate, nullptr) != 0) die("differential: sigaltstack");
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) sigaction(signal, &action, nullptr);

  for (std::uint64_t n = first; n < first + count; ++n) {
    Generator generator = generator_of(o, n, examples);
    const auto& bytes = generator.generate(reinterpret_cast<std::uint64_t>(sequence_end));
    if (bytes.size() > Layout::kCodeBytes) continue;
    if (mprotect(code, Layout::kCodeBytes, PROT_READ | PROT_WRITE) != 0) die("differential: mprotect");
    std::memcpy(code, bytes.data(), bytes.size());
    if (mprotect(code, Layout::kCodeBytes, PROT_READ | PROT_EXEC) != 0) die("differential: mprotect");
    if (shown) std::printf("sequence %lu\n%s", n, generator.listing().c_str());

    Draw draw(seed * 7919 + n);
    Digest digest;
    // Twice, since blocks are linked after their first run.
    for (unsigned round = 0; round < 2; ++round) {
      State before, after;
      begin_with(before, draw, layout);
      for (std::uint64_t at = 0; at < Layout::kDataBytes; at += 8) {
        const std::uint64_t word = draw.next() >> draw.below(64);
        std::memcpy(data + at, &word, 8);
      }
      std::memset(stack, 0x5a, Layout::kStackBytes);
      std::memset(thread_area, 0x33, sizeof thread_area);
      if (near != nullptr) std::memcpy(near, data + 1024, Layout::kNearBytes);
      std::memset(&after, 0, sizeof after);
      fault = Fault{};
      run_sequence(&before, &after, code);
      make_comparable(after);
      if (fault.signal == 0) mask_saved_flags(data, layout, generator);
      digest.add(&after, sizeof after);
      digest.add(&fault, sizeof fault);
      digest.add(data, Layout::kDataBytes);
      digest.add(stack, Layout::kStackBytes);
      digest.add(thread_area, sizeof thread_area);
      if (near != nullptr) digest.add(near, Layout::kNearBytes);
      if (!shown) continue;
      std::printf("round %u: ", round);
      if (fault.signal != 0) {
        std::printf("signal %d code %d address %lx at %lx\n", fault.signal, fault.code, fault.address,
                    fault.pc);
        for (unsigned k = 0; k < kGprs; ++k) std::printf("  handler saw gpr %u %016lx\n", k, fault.gpr[k]);
      } else {
        std::printf("came to its end\n");
      }
      show(after);
      show_memory("data", data, Layout::kDataBytes);
      show_memory("stack", stack, Layout::kStackBytes);
      show_memory("thread", thread_area, sizeof thread_area);
      if (near != nullptr) show_memory("near", near, Layout::kNearBytes);
    }
    std::printf("%lu %016lx %d\n", n, digest.value(), fault.signal);
  }
  return 0;
}

}  // namespace
}  // namespace differential

int main(int argc, char** argv) {
  CLI::App app("Random sequences of instructions, and what they leave behind.");
  differential::Options options;
  app.add_option("--seed", options.seed, "decides all sequences");
  app.add_option("--first", options.first, "number of the first sequence");
  app.add_option("--count", options.count, "how many");
  app.add_option("--examples", options.examples,
                 "instructions whose forms are to occur: a form, a tab, bytes; a line each");
  const std::map<std::string, differential::Flip> flips = {{"nothing", differential::Flip::kNothing},
                                                           {"undefined", differential::Flip::kUndefined},
                                                           {"defined", differential::Flip::kDefined}};
  app.add_option("--flip", options.flips.what,
                 "behind instructions that write flags: change nothing, undefined, or defined flags")
      ->transform(CLI::CheckedTransformer(flips));
  app.add_option("--flags", options.flips.flags, "which flags --flip defined changes, as bits of RFLAGS");
  app.add_flag("--high", options.high, "code above 2 GB");
  app.add_flag("--show", options.shown, "print sequences and states");
  app.add_flag("--list-forms", options.forms_listed, "run nothing, print which forms there are");
  CLI11_PARSE(app, argc, argv);
  return options.forms_listed ? differential::list_forms(options) : differential::run(options);
}
