// SPDX-License-Identifier: Apache-2.0
// CPUID, and the effects of XBEGIN, XEND, XABORT and XTEST.
#include "rtm_rules.h"

namespace {

using namespace rules;

constexpr std::uint64_t kArithmetic = 0x8d5;  // CF PF AF ZF SF OF
constexpr std::uint64_t kZero = 0x40;
constexpr std::uint64_t kPatterns[] = {0, kArithmetic, 0x81, 0x854, 0x44, 0x811};

const char* cpuid_bits() {
  const Registers leaf7 = cpuid(7);
  if ((leaf7.ebx >> 11 & 1) == 0) return "RTM (leaf 7, EBX[11]) is off";
  if (on_virtual_cpu() && (leaf7.ebx >> 4 & 1) != 0) return "HLE (leaf 7, EBX[4]) is on";
  if (leaf7.edx >> 11 & 1) return "RTM_ALWAYS_ABORT (leaf 7, EDX[11]) is on";
  return nullptr;
}

std::uint64_t xcr0() {
  std::uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

/// XGETBV, leaf 0xD and the AVX bit agree.
const char* state_components() {
  if ((cpuid(1).ecx >> 27 & 1) == 0) return "OSXSAVE is off";
  const Registers main = cpuid(0xd, 0);
  const std::uint64_t offered = std::uint64_t{main.edx} << 32 | main.eax;
  if ((xcr0() & ~offered) != 0 || (xcr0() & 3) != 3) return seen("XCR0 %#lx, offered %#lx", xcr0(), offered);
  if (((xcr0() & 4) != 0) != ((cpuid(1).ecx >> 28 & 1) != 0)) return "XCR0 and the AVX bit disagree";
  const Registers avx = cpuid(0xd, 2);
  if ((xcr0() & 4) != 0 && (avx.eax != 256 || avx.ebx + avx.eax > main.ebx))
    return seen("AVX state of %u bytes at %u of %u", avx.eax, avx.ebx, main.ebx);
  return nullptr;
}

/// State is saved within the size that CPUID gives, and no component but those of XCR0 is.
const char* state_save_masks() {
  alignas(64) static unsigned char area[32768];
  const unsigned size = cpuid(0xd, 0).ebx;
  if (size + 64 > sizeof area) return seen("an area of %u bytes", size);
  for (const bool compact : {false, true}) {
    if (compact && (cpuid(0xd, 1).eax & 2) == 0) continue;
    std::memset(area, 0, size);
    std::memset(area + size, 0xa5, 64);
    if (compact) {
      asm volatile("xsavec %0" : "=m"(area) : "a"(-1), "d"(-1));
    } else {
      asm volatile("xsave %0" : "=m"(area) : "a"(-1), "d"(-1));
    }
    std::uint64_t saved;
    std::memcpy(&saved, area + 512, 8);
    if ((saved & ~xcr0()) != 0) return seen("components %#lx of %#lx", saved, xcr0());
    for (unsigned i = 0; i < 64; ++i)
      if (area[size + i] != 0xa5) return seen("byte %u behind the area was written", i);
  }
  return nullptr;
}

const char* begin_keeps_rax() {
  constexpr std::uint64_t kValue = 0x1122334455667788;
  for (int i = 0; i < kTries; ++i) {
    std::uint64_t rax = kValue, inside = 0;
    asm volatile("xbegin 1f\nmov %%rax, %1\nxend\n1:" : "+a"(rax), "+r"(inside) : : "memory");
    if (rax != kValue) continue;  // aborted
    return inside == kValue ? nullptr : seen("RAX %#lx", inside);
  }
  return "no transaction commits";
}

/// XBEGIN and XEND change no flag.
const char* flags_pass() {
  for (const std::uint64_t pattern : kPatterns) {
    std::uint64_t inside = 0, after = 0;
    std::uint32_t status = 0;
    for (int i = 0; i < kTries && status != Status::kStarted; ++i)
      asm volatile(
          "push %3\npopfq\nmov $-1, %%eax\nxbegin 1f\npushfq\npop %1\nxend\npushfq\npop %2\nmov $-1, "
          "%%eax\n1:"
          : "=&a"(status), "=&r"(inside), "=&r"(after)
          : "r"(pattern | 2)
          : "memory", "cc");
    if (status != Status::kStarted) return "no transaction commits";
    if ((inside & kArithmetic) != pattern || (after & kArithmetic) != pattern)
      return seen("flags %#lx, inside %#lx, behind %#lx", pattern, inside & kArithmetic, after & kArithmetic);
  }
  return nullptr;
}

/// A fallback before XBEGIN: a negative displacement.
const char* backward_fallback() {
  std::uint32_t status;
  asm volatile("mov $-1, %%eax\njmp 2f\n1: jmp 3f\n2: xbegin 1b\nxabort $9\n3:"
               : "=a"(status)
               :
               : "memory", "cc");
  return status != Status::kStarted ? nullptr : "the fallback was not reached";
}

const char* end_outside() {
  const int signal =
      signals::raised_by([] { asm volatile(".globl rules_lone_xend\nrules_lone_xend: xend"); });
  extern char lone_xend[] asm("rules_lone_xend");
  if (signal != SIGSEGV || signals::info.si_code != SI_KERNEL)
    return seen("signal %d, code %d", signal, signals::info.si_code);
  return signals::rip == reinterpret_cast<std::uint64_t>(lone_xend) ? nullptr : "RIP is not at XEND";
}

const char* abort_outside() {
  for (const std::uint64_t pattern : kPatterns) {
    std::uint64_t rax = 0x1234567890, flags;
    asm volatile("push %2\npopfq\nxabort $0xff\npushfq\npop %1"
                 : "+a"(rax), "=&r"(flags)
                 : "r"(pattern | 2)
                 : "memory", "cc");
    if (rax != 0x1234567890 || (flags & kArithmetic) != pattern)
      return seen("RAX %#lx, flags %#lx of %#lx", rax, flags & kArithmetic, pattern);
  }
  return nullptr;
}

const char* test_outside() {
  for (const std::uint64_t pattern : kPatterns) {
    std::uint64_t flags;
    asm volatile("push %1\npopfq\nxtest\npushfq\npop %0" : "=&r"(flags) : "r"(pattern | 2) : "memory", "cc");
    if ((flags & kArithmetic) != kZero) return seen("flags %#lx", flags & kArithmetic);
  }
  return nullptr;
}

const char* test_inside() {
  for (const std::uint64_t pattern : kPatterns) {
    std::uint64_t flags = ~std::uint64_t{0};
    std::uint32_t status = 0;
    for (int i = 0; i < kTries && status != Status::kStarted; ++i)
      asm volatile(
          "push %2\npopfq\nmov $-1, %%eax\nxbegin 1f\nxtest\npushfq\npop %1\nxend\nmov $-1, %%eax\n1:"
          : "=&a"(status), "=&r"(flags)
          : "r"(pattern | 2)
          : "memory", "cc");
    if (status != Status::kStarted) return "no transaction commits";
    if ((flags & kArithmetic) != 0) return seen("flags %#lx", flags & kArithmetic);
  }
  return nullptr;
}

const char* lock_prefix(int signal) {
  if (signal != SIGILL) return seen("signal %d", signal);
  return signals::info.si_code == ILL_ILLOPN ? nullptr : seen("code %d", signals::info.si_code);
}
const char* lock_begin() {
  return lock_prefix(signals::raised_by([] {
    asm volatile(".byte 0xf0, 0xc7, 0xf8, 0, 0, 0, 0" ::: "rax");
  }));
}
const char* lock_end() {
  return lock_prefix(signals::raised_by([] { asm volatile(".byte 0xf0, 0x0f, 0x01, 0xd5"); }));
}
const char* lock_abort() {
  return lock_prefix(signals::raised_by([] { asm volatile(".byte 0xf0, 0xc6, 0xf8, 1" ::: "rax"); }));
}
const char* lock_test() {
  return lock_prefix(signals::raised_by([] { asm volatile(".byte 0xf0, 0x0f, 0x01, 0xd6" ::: "cc"); }));
}

const char* without_rtm(int signal) { return signal == SIGILL ? nullptr : seen("signal %d", signal); }
const char* begin_without_rtm() {
  return without_rtm(signals::raised_by([] { asm volatile("xbegin 1f\n1:" ::: "rax"); }));
}
const char* end_without_rtm() {
  return without_rtm(signals::raised_by([] { asm volatile("xend"); }));
}

/// Bits 31:24 are the operand, bit 0 is set, and no other bit: no hint to retry.
template <unsigned kCode>
const char* abort_code() {
  Status status;
  for (int i = 0; i < kTries; ++i) {
    status = transaction([] { asm volatile("xabort %0" : : "i"(kCode) : "memory"); }, 1);
    if (status.raw == (kCode << 24 | Status::kExplicitBit)) return nullptr;
    if (status.raw != 0) break;  // 0: another abort came first
  }
  return seen("XABORT %#x gave %#x", kCode, status.raw);
}
const char* abort_codes() {
  for (const char* wrong : {abort_code<0>(), abort_code<1>(), abort_code<0x7f>(), abort_code<0x80>(),
                            abort_code<0xa5>(), abort_code<0xff>()})
    if (wrong != nullptr) return wrong;
  return nullptr;
}

const Case kCases[] = {
    {"CPUID offers RTM alone", "17.3.1.1", Where::kEverywhere, cpuid_bits},
    {"XGETBV and CPUID leaf 0xD agree", "13.2", Where::kEverywhere, state_components},
    {"XSAVE keeps within CPUID leaf 0xD", "13.7", Where::kEverywhere, state_save_masks},
    {"XBEGIN leaves RAX untouched", "Vol. 2 XBEGIN", Where::kEverywhere, begin_keeps_rax},
    {"XBEGIN and XEND leave the flags untouched", "Vol. 2 XBEGIN, XEND", Where::kEverywhere, flags_pass},
    {"the fallback may lie in front of XBEGIN", "Vol. 2 XBEGIN", Where::kEverywhere, backward_fallback},
    {"XEND outside is #GP(0)", "Vol. 2 XEND", Where::kEverywhere, end_outside},
    {"XABORT outside does nothing", "Vol. 2 XABORT", Where::kEverywhere, abort_outside},
    {"XTEST outside sets ZF alone", "Vol. 2 XTEST", Where::kEverywhere, test_outside},
    {"XTEST inside clears all flags", "Vol. 2 XTEST", Where::kEverywhere, test_inside},
    {"XBEGIN with LOCK is #UD", "Vol. 2 XBEGIN", Where::kEverywhere, lock_begin},
    {"XEND with LOCK is #UD", "Vol. 2 XEND", Where::kEverywhere, lock_end},
    {"XABORT with LOCK is #UD", "Vol. 2 XABORT", Where::kEverywhere, lock_abort},
    {"XTEST with LOCK is #UD", "Vol. 2 XTEST", Where::kEverywhere, lock_test},
    {"XBEGIN without the CPUID bit is #UD", "17.3.1.2", Where::kWithoutRtm, begin_without_rtm},
    {"XEND without the CPUID bit is #UD", "17.3.1.2", Where::kWithoutRtm, end_without_rtm},
    {"XABORT hands its operand on", "17.3.5", Where::kEverywhere, abort_codes},
};

}  // namespace

int main(int argc, char** argv) { return rules::run(argc, argv, kCases); }
