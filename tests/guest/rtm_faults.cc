// SPDX-License-Identifier: Apache-2.0
// Exceptions inside a transaction abort it and are suppressed.
#include <sys/mman.h>

#include "rtm_rules.h"

namespace {

using namespace rules;

unsigned char* page(int protection) {
  return static_cast<unsigned char*>(mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

constexpr int kRounds = 50;

/// `text` raises `signal` outside of transactions. Inside it only aborts the transaction, with `status`. An
/// interrupt that comes first gives status 0, so rounds are repeated until one gives `status`.
#define FAULT(signal, status, memory_expression, text)                                             \
  [] {                                                                                             \
    void* const where = (memory_expression);                                                       \
    const int outside = signals::raised_by([where] {                                               \
      void* in = where;                                                                            \
      asm volatile(text : "+D"(in) : : "rax", "rbx", "rcx", "rdx", "rsi", "xmm0", "memory", "cc"); \
    });                                                                                            \
    if (outside != (signal)) return seen("outside: signal %d", outside);                           \
    std::uint32_t last = 0, others = 0;                                                            \
    const int inside = signals::raised_by([where, &last, &others] {                                \
      for (int i = 0; i < kRounds || (last != (status) && i < kTries); ++i) {                      \
        RULES_TRANSACTION(last, where, text);                                                      \
        if (last != (status) && last != 0) others = last;                                          \
      }                                                                                            \
    });                                                                                            \
    if (inside != 0) return seen("inside: signal %d", inside);                                     \
    return others == 0 && last == (status) ? static_cast<const char*>(nullptr)                     \
                                           : seen("status %#x", others != 0 ? others : last);      \
  }

/// The effects of code before the fault are undone.
const char* nothing_remains() {
  static volatile std::uint64_t word;
  for (int i = 0; i < kRounds; ++i) {
    word = 1;
    if (Rtm::begin().started()) {
      word = 2;
      asm volatile("ud2");
      Rtm::commit();
    }
    if (word != 1) return seen("memory is %lu", word);
  }
  return nullptr;
}

std::uint32_t status_of_store(unsigned char* where) {
  return transaction([where] { asm volatile("movb $1, (%0)" : : "r"(where) : "memory"); }, kRounds).raw;
}

/// The fault is suppressed, so that the operating system gives the page no memory, and the transaction aborts
/// however often it is tried.
const char* first_touch_aborts() {
  if (in_fast_mode()) return nullptr;
  unsigned char* const untouched = page(PROT_READ | PROT_WRITE);
  const std::uint32_t before = status_of_store(untouched);
  if (before != 0) return seen("first touch: status %#x", before);
  *static_cast<volatile unsigned char*>(untouched) = 1;
  const std::uint32_t after = status_of_store(untouched);
  if (after != Status::kStarted) return seen("second touch: status %#x", after);
  madvise(untouched, 4096, MADV_DONTNEED);
  const std::uint32_t again = status_of_store(untouched);
  return again == 0 ? nullptr : seen("after MADV_DONTNEED: status %#x", again);
}

const Case kCases[] = {
    {"#PF, first touch of memory", "17.3.9.2", Where::kEverywhere, first_touch_aborts},
    {"#PF, read of nothing", "17.3.9.2", Where::kEverywhere,
     FAULT(SIGSEGV, 0, page(PROT_NONE), "mov (%%rdi), %%rax")},
    {"#PF, write to what may only be read", "17.3.9.2", Where::kEverywhere,
     FAULT(SIGSEGV, 0, page(PROT_READ), "movb $1, (%%rdi)")},
    {"#PF, execution of data", "17.3.9.2", Where::kEverywhere,
     FAULT(SIGSEGV, 0, page(PROT_READ | PROT_WRITE), "call *%%rdi")},
    {"#PF, execution of address 0", "17.3.9.2", Where::kEverywhere,
     FAULT(SIGSEGV, 0, nullptr, "xor %%ecx, %%ecx\ncall *%%rcx")},
    {"#PF, execution in the kernel's half", "17.3.9.2", Where::kEverywhere,
     FAULT(SIGSEGV, 0, nullptr, "mov $-8, %%rcx\njmp *%%rcx")},
    {"#GP, execution of an address that is not canonical", "17.3.9.2", Where::kEverywhere,
     FAULT(SIGSEGV, 0, nullptr, "mov $0x8000000000000000, %%rcx\njmp *%%rcx")},
    {"#DE", "17.3.9.2", Where::kEverywhere, FAULT(SIGFPE, 0, nullptr, "xor %%ecx, %%ecx\ndiv %%ecx")},
    {"#UD", "17.3.9.2", Where::kEverywhere, FAULT(SIGILL, 0, nullptr, "ud2")},
    {"#GP, misaligned", "17.3.9.2", Where::kEverywhere,
     FAULT(SIGSEGV, 0, page(PROT_READ | PROT_WRITE), "movaps 1(%%rdi), %%xmm0")},
    {"#GP, not canonical", "17.3.9.2", Where::kEverywhere,
     FAULT(SIGSEGV, 0, nullptr, "mov $0x8000000000000000, %%rcx\nmov (%%rcx), %%rcx")},
    {"#GP, privileged", "17.3.9.2", Where::kEverywhere, FAULT(SIGSEGV, 0, nullptr, "hlt")},
    {"#BP sets bit 4", "17.3.5, 17.3.7", Where::kEverywhere,
     FAULT(SIGTRAP, Status::kDebugBit, nullptr, "int3")},
    {"#DB sets bit 4", "17.3.5, 17.3.7", Where::kEverywhere,
     FAULT(SIGTRAP, Status::kDebugBit, nullptr, ".byte 0xf1")},
    {"nothing of what preceded the fault remains", "17.3.9.2", Where::kEverywhere, nothing_remains},
};

}  // namespace

int main(int argc, char** argv) { return rules::run(argc, argv, kCases); }
