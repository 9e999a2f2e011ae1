// SPDX-License-Identifier: Apache-2.0
// Always-abort transactions (src/abi/virtual_cpu.h; Izraelevitz, Xiang, Scott, section II-B), which only the
// virtual CPU has. Sections are those of the paper and, for behaviour as in RTM, of the manual.
#include <cstdlib>

#include "htm/always_abort.h"
#include "rtm_rules.h"

namespace {

using namespace rules;
using elision::htm::VirtualAlwaysAbort;

constexpr std::uint64_t kPatterns[] = {0, 0x8d5, 0x81, 0x854};

alignas(4096) volatile std::uint64_t words[512];

[[gnu::always_inline]] inline void nest() { asm volatile("xbegin 1f\n1:" ::: "memory"); }
[[gnu::always_inline]] inline void nest_always_abort() {
  asm volatile(".byte 0xf3, 0xc7, 0xf8\n.long 0" ::: "memory");
}

/// The status of `body` in an always-abort transaction. Without interrupts it runs once.
template <class Body>
Status speculate(Body body) {
  const Status status = VirtualAlwaysAbort::begin_always_abort();
  if (status.started()) {
    body();
    Rtm::commit();
  }
  return status;
}

const char* feature_bit() {
  return (cpuid(elision::abi::kVirtualCpuFeatureLeaf).eax & elision::abi::kFeatureAlwaysAbort) != 0
             ? nullptr
             : "the bit is off";
}

const char* begin_keeps_rax() {
  std::uint64_t rax = 0x1122334455667788, status = 0;
  asm volatile(
      ".byte 0xf3, 0xc7, 0xf8\n.long 1f - 2f\n2:\n"
      "cmp %2, %%rax\njne 3f\nxabort $1\n3: xabort $2\n1: mov %%rax, %1"
      : "+a"(rax), "=&r"(status)
      : "r"(std::uint64_t{0x1122334455667788})
      : "memory", "cc");
  return static_cast<std::uint32_t>(status) == 0x01000001 ? nullptr : seen("status %#lx", status);
}

const char* end_aborts() {
  std::uint64_t rbx = 1;
  std::uint32_t status = Status::kStarted;
  words[0] = 1;
  asm volatile(
      ".byte 0xf3, 0xc7, 0xf8\n.long 1f - 2f\n2:\nmov $2, %%ebx\nmovq $2, %2\nxend\nmov $3, %%ebx\n1:"
      : "+a"(status), "+b"(rbx), "+m"(words[0])
      :
      : "memory", "cc");
  if (status != 0) return seen("status %#x", status);
  return rbx == 1 && words[0] == 1 ? nullptr : seen("RBX %lu, memory %lu", rbx, words[0]);
}

std::uint64_t flags_of_test(std::uint64_t pattern) {
  std::uint64_t flags;
  asm volatile("push %1\npopfq\n.byte 0xf3, 0x0f, 0x01, 0xd6\npushfq\npop %0"
               : "=&r"(flags)
               : "r"(pattern | 2)
               : "memory", "cc");
  return flags & 0x8d5;
}

const char* test_outside() {
  for (const std::uint64_t pattern : kPatterns)
    if (const std::uint64_t flags = flags_of_test(pattern); flags != 0x40) return seen("flags %#lx", flags);
  return nullptr;
}

/// ZF = 0 and all others clear. The answer is passed out by XABORT, since the abort restores memory and
/// registers.
const char* test_inside() {
  std::uint32_t status = Status::kStarted;
  asm volatile(
      "xor %%ecx, %%ecx\n"  // ZF and PF set
      "stc\n"
      ".byte 0xf3, 0xc7, 0xf8\n.long 1f - 2f\n2:\n"
      ".byte 0xf3, 0x0f, 0x01, 0xd6\n"
      "jz 3f\njc 3f\njs 3f\njp 3f\njo 3f\nxabort $1\n3: xabort $2\n1:"
      : "+a"(status)
      :
      : "rcx", "memory", "cc");
  return status == 0x01000001 ? nullptr : seen("status %#x", status);
}

const char* test_in_ordinary() {
  bool always = true, inside = false;
  const Status status = transaction([&] {
    always = VirtualAlwaysAbort::in_always_abort();
    inside = Rtm::in_transaction();
  });
  return status.started() && !always && inside ? nullptr : seen("always-abort %d, inside %d", always, inside);
}

const char* xtest_inside() {
  const Status status = speculate([] { Rtm::in_transaction() ? Rtm::abort<1>() : Rtm::abort<2>(); });
  return status.raw == 0x01000001 ? nullptr : seen("status %#x", status.raw);
}

/// An XBEGIN inside only nests: its XEND ends one level, and the outer XEND aborts.
const char* xbegin_inside() {
  words[0] = 1;
  Status status = speculate([] {
    words[0] = 2;
    nest();
    Rtm::commit();
    VirtualAlwaysAbort::in_always_abort() ? Rtm::abort<1>() : Rtm::abort<2>();
  });
  if (status.raw != 0x01000001 || words[0] != 1) return seen("status %#x, memory %lu", status.raw, words[0]);
  status = speculate([] { nest(), Rtm::commit(); });
  return status.raw == 0 ? nullptr : seen("the outer XEND: %#x", status.raw);
}

/// AAHTM_BEGIN inside an ordinary transaction only nests: it commits.
const char* begin_inside_ordinary() {
  words[0] = 1;
  bool always = true;
  const Status status = transaction([&] {
    nest_always_abort();
    always = VirtualAlwaysAbort::in_always_abort();
    words[0] = 2;
    Rtm::commit();
  });
  return status.started() && !always && words[0] == 2 ? nullptr : seen("status %#x", status.raw);
}

const char* nesting_limit() {
  Status status = speculate([] {
    for (int i = 1; i < 7; ++i) nest_always_abort();
    Rtm::abort<1>();
  });
  if (status.raw != 0x01000021) return seen("7 deep: %#x", status.raw);
  status = speculate([] {
    for (int i = 1; i < 8; ++i) nest_always_abort();
    Rtm::abort<1>();
  });
  return status.raw == Status::kNestedBit ? nullptr : seen("8 deep: %#x", status.raw);
}

const char* other_aborts() {
  if (const Status status = speculate([] { relax(); }); status.raw != 0)
    return seen("PAUSE: %#x", status.raw);
  if (const Status status = speculate([] { syscall(39); }); status.raw != 0)
    return seen("SYSCALL: %#x", status.raw);
  if (const Status status = speculate([] { asm volatile("ud2"); }); status.raw != 0)
    return seen("#UD: %#x", status.raw);
  if (const Status status = speculate([] { asm volatile("int3"); }); status.raw != Status::kDebugBit)
    return seen("#BP: %#x", status.raw);
  if (const Status status = speculate([] { Rtm::abort<0xff>(); }); status.raw != 0xff000001)
    return seen("XABORT: %#x", status.raw);
  return nullptr;
}

const char* interrupt() {
  const Status status = speculate([] {
    for (;;) asm volatile("");
  });
  return status.raw == 0 ? nullptr : seen("status %#x", status.raw);
}

const char* conflict() {
  static Page shared;
  Other other([] { shared.word[0] = shared.word[0] + 1; });
  for (int i = 0; i < 50; ++i) {
    const Status status = speculate([] {
      load(shared.word[0]);
      for (;;) asm volatile("");
    });
    if (status.raw == (Status::kConflictBit | Status::kRetryBit)) return nullptr;
    if (status.raw != 0) return seen("status %#x", status.raw);
  }
  return "no conflict";
}

/// A machine may let other CPUs take the line: the speculation goes on without what it wrote.
const char* conflict_on_write() {
  static Page shared;
  std::atomic<bool> was_seen{false};
  Other other([&] {
    if (load(shared.word[0]) != 0) was_seen = true;
  });
  unsigned conflicts = 0, losses = 0;
  for (int i = 0; i < 50; ++i) {
    const Status status = speculate([] {
      shared.word[0] = 1;
      for (int k = 0; k < 2000; ++k)
        if (load(shared.word[0]) != 1) Rtm::abort<2>();
      Rtm::abort<1>();
    });
    conflicts += status.is_conflict();
    losses += status.has_code(2);
  }
  if (was_seen) return "the other thread saw a write";
  const bool is_ignored = std::getenv("ELISION_WRITE_CONFLICTS") != nullptr;
  return (conflicts == 0) == is_ignored && (losses > 0) == is_ignored
             ? nullptr
             : seen("%u conflicts, %u losses", conflicts, losses);
}

const char* capacity() {
  const Registers l1 = cpuid(4, 0);
  const unsigned ways = (l1.ebx >> 22) + 1, sets = l1.ecx + 1;
  static unsigned char bytes[1 << 20];
  std::memset(bytes, 1, sizeof bytes);
  const Status status = speculate([=] {
    for (unsigned k = 0; k <= ways; ++k) static_cast<volatile unsigned char*>(bytes)[k * sets * 64] = 1;
  });
  return status.raw == Status::kCapacityBit ? nullptr : seen("status %#x", status.raw);
}

/// Its writes vanish and are never seen.
const char* writes_vanish() {
  words[0] = 0;
  std::atomic<bool> was_seen{false};
  {
    Other other([&] {
      if (words[0] != 0) was_seen = true;
    });
    for (int i = 0; i < kTries; ++i) {
      speculate([] {
        words[0] = 1;
        for (int k = 0; k < 20; ++k) asm volatile("");
      });
      if (words[0] != 0) return "memory has changed";
    }
  }
  return was_seen ? "the other thread saw a write" : nullptr;
}

const Case kCases[] = {
    {"the CPUID leaf has the bit", "II-B", Where::kVirtual, feature_bit},
    {"AAHTM_BEGIN leaves RAX untouched", "II-B", Where::kVirtual, begin_keeps_rax},
    {"XEND inside aborts with status 0", "II-B", Where::kVirtual, end_aborts},
    {"AAHTM_TEST outside sets ZF alone", "II-B", Where::kVirtual, test_outside},
    {"AAHTM_TEST inside clears all flags", "II-B", Where::kVirtual, test_inside},
    {"AAHTM_TEST in an ordinary transaction says outside", "II-B", Where::kVirtual, test_in_ordinary},
    {"XTEST inside says inside", "Vol. 2 XTEST", Where::kVirtual, xtest_inside},
    {"XBEGIN inside only nests", "17.3.4.2", Where::kVirtual, xbegin_inside},
    {"AAHTM_BEGIN in an ordinary transaction only nests", "17.3.4.2", Where::kVirtual, begin_inside_ordinary},
    {"always-abort nesting has the same limit", "17.3.4.2", Where::kVirtual, nesting_limit},
    {"instructions, faults and XABORT abort as in RTM", "17.3.9.1, 17.3.9.2", Where::kVirtual, other_aborts},
    {"an interrupt aborts", "17.3.9.2", Where::kVirtual, interrupt},
    {"a conflict aborts", "17.3.9.2", Where::kTwoVirtualCpus, conflict},
    {"a conflict on a written line aborts, or takes the line", "VI", Where::kTwoVirtualCpus,
     conflict_on_write},
    {"too many written lines abort", "17.3.9.2", Where::kVirtual, capacity},
    {"its writes vanish", "II-B", Where::kVirtual, writes_vanish},
};

}  // namespace

int main(int argc, char** argv) { return rules::run(argc, argv, kCases); }
