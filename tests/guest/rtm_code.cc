// SPDX-License-Identifier: Apache-2.0
// Transactions that write code, or write beside code, while other threads execute it. Whether such a
// transaction commits depends on the machine (SDM volume 1, 17.3.9.2: self-modifying code may abort), but not
// which code runs afterwards.
#include <sys/mman.h>

#include "rtm_rules.h"

namespace {

using namespace rules;

constexpr int kRounds = 200;
constexpr std::size_t kPageBytes = 4096, kBeside = 2048;

unsigned char* code_page() {
  return static_cast<unsigned char*>(
      mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

/// mov eax, value; ret
[[gnu::always_inline]] inline void write_constant(unsigned char* at, int value) {
  at[0] = 0xb8;
  __builtin_memcpy(at + 1, &value, 4);
  at[5] = 0xc3;
  asm volatile("" ::: "memory");
}

[[gnu::always_inline]] inline int call(const unsigned char* at) {
  int result;
  asm volatile("call *%1" : "=a"(result) : "r"(at) : "memory", "cc");
  return result;
}

volatile std::uint64_t& word_beside(unsigned char* page) {
  return *reinterpret_cast<volatile std::uint64_t*>(page + kBeside);
}

/// A transaction writes to the page of code that runs for the first time inside it, and aborts.
const char* beside_new_code() {
  for (int i = 0; i < kRounds; ++i) {
    unsigned char* const page = code_page();
    write_constant(page, i);
    word_beside(page) = 7;
    if (Rtm::begin().started()) {
      word_beside(page) = 8;
      call(page);
      Rtm::abort<1>();
    }
    if (word_beside(page) != 7) return seen("the word is %lu", word_beside(page));
    if (call(page) != i) return seen("round %d: %d", i, call(page));
    munmap(page, kPageBytes);
  }
  return nullptr;
}

/// The same page again and again.
const char* beside_known_code() {
  unsigned char* const page = code_page();
  write_constant(page, 1);
  for (int i = 0; i < kRounds; ++i) {
    word_beside(page) = 7;
    if (Rtm::begin().started()) {
      word_beside(page) = 8;
      if (i % 2 == 0) call(page);
      Rtm::abort<1>();
    }
    if (word_beside(page) != 7) return seen("the word is %lu", word_beside(page));
    write_constant(page, i);
    if (call(page) != i) return seen("round %d: %d", i, call(page));
  }
  munmap(page, kPageBytes);
  return nullptr;
}

/// A transaction executes the code that it wrote. After an abort that code is gone.
const char* written_and_executed() {
  unsigned char* const page = code_page();
  for (int i = 0; i < kRounds; ++i) {
    write_constant(page, i);
    if (i % 3 != 0) call(page);
    if (Rtm::begin().started()) {
      write_constant(page, -1 - i);
      if (call(page) != -1 - i) {
        Rtm::commit();
        return "executed what it had overwritten";
      }
      Rtm::abort<1>();
    }
    if (call(page) != i) return seen("round %d: %d", i, call(page));
    if (call(page) != i) return seen("round %d, the second time: %d", i, call(page));
  }
  munmap(page, kPageBytes);
  return nullptr;
}

/// Code that a transaction wrote is executed after a commit, and only then.
const char* written_and_committed() {
  unsigned char* const page = code_page();
  int committed = 0;
  for (int i = 1; i <= kRounds; ++i) {
    write_constant(page, 0);
    call(page);
    const Status status = transaction([page, i] { write_constant(page, i); });
    const int expected = status.started() ? i : 0;
    committed += status.started();
    if (call(page) != expected) return seen("round %d: %d, not %d", i, call(page), expected);
  }
  munmap(page, kPageBytes);
  return committed > 0 || !on_virtual_cpu() ? nullptr : "no transaction commits";  // silicon may notice
}

/// Another thread executes code in a page that a transaction writes to, and code that it wrote.
const char* executed_by_another() {
  static unsigned char* volatile page;
  static volatile int wrong;
  wrong = 0;
  page = code_page();
  write_constant(page, 5);
  {
    Other other([] {
      if (call(page) != 5) wrong = 1;
    });
    for (int i = 0; i < kRounds; ++i) {
      word_beside(page) = 7;
      const std::uint64_t before = other.steps();
      if (Rtm::begin().started()) {
        word_beside(page) = 8;
        if (i % 2 == 0) write_constant(page, 6);
        for (int wait = 0; wait < 100; ++wait) asm volatile("nop");
        Rtm::abort<1>();
      }
      if (word_beside(page) != 7) return seen("the word is %lu", word_beside(page));
      while (other.steps() < before + 2) relax();
    }
  }
  if (call(page) != 5) return seen("%d", call(page));
  munmap(page, kPageBytes);
  return wrong == 0 ? nullptr : "it executed what never was";
}

/// The page of code is new each time, so that another thread's first call comes during a transaction.
const char* first_executed_by_another() {
  static unsigned char* volatile page;
  static volatile int wrong;
  wrong = 0;
  page = code_page();
  write_constant(page, 5);
  {
    Other other([] {
      if (call(page) != 5) wrong = 1;
    });
    for (int i = 0; i < kRounds; ++i) {
      unsigned char* const fresh = code_page();
      write_constant(fresh, 5);
      word_beside(fresh) = 7;
      const std::uint64_t before = other.steps();
      page = fresh;
      if (Rtm::begin().started()) {
        word_beside(fresh) = 8;
        if (i % 2 == 0) write_constant(fresh, 6);
        for (int wait = 0; wait < 100; ++wait) asm volatile("nop");
        Rtm::abort<1>();
      }
      if (word_beside(fresh) != 7) return seen("the word is %lu", word_beside(fresh));
      while (other.steps() < before + 2) relax();
    }
  }
  return wrong == 0 ? nullptr : "it executed what never was";
}

/// A fallback address that cannot be fetched matters only at an abort.
const char* fallback_without_code() {
  // xbegin +4096 (the next page); xend; ret
  static const unsigned char kBytes[] = {0xc7, 0xf8, 0xf9, 0x0f, 0, 0, 0x0f, 0x01, 0xd5, 0xc3};
  // xbegin +4096; xabort 1; ret
  static const unsigned char kAborts[] = {0xc7, 0xf8, 0xf9, 0x0f, 0, 0, 0xc6, 0xf8, 1, 0xc3};
  auto* const pages = static_cast<unsigned char*>(
      mmap(nullptr, 2 * kPageBytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memcpy(pages + 1, kBytes, sizeof kBytes);
  std::memcpy(pages + 128, kAborts, sizeof kAborts);
  mprotect(pages + kPageBytes, kPageBytes, PROT_READ);
  bool committed = false;
  for (int i = 0; i < kTries && !committed; ++i)
    committed = signals::raised_by([pages] { call(pages + 1); }) == 0;
  const int raised = signals::raised_by([pages] { call(pages + 128); });
  munmap(pages, 2 * kPageBytes);
  if (!committed) return "does not commit";
  return raised == SIGSEGV ? nullptr : seen("the abort raises %d", raised);
}

const Case kCases[] = {
    {"stores beside code that runs for the first time", "17.3.9.2", Where::kEverywhere, beside_new_code},
    {"stores beside code that has run", "17.3.9.2", Where::kEverywhere, beside_known_code},
    {"code written and executed inside is gone after an abort", "17.3.9.2", Where::kEverywhere,
     written_and_executed},
    {"code written inside runs after a commit", "17.3.9.2", Where::kEverywhere, written_and_committed},
    {"another thread never executes what an aborted one wrote", "17.3.9.2", Where::kTwoCpus,
     executed_by_another},
    {"another thread's first call of code beside written data", "17.3.9.2", Where::kTwoCpus,
     first_executed_by_another},
    {"a fallback address that cannot be fetched", "Vol. 2 XBEGIN", Where::kEverywhere, fallback_without_code},
};

}  // namespace

int main(int argc, char** argv) { return rules::run(argc, argv, kCases); }
