// SPDX-License-Identifier: Apache-2.0
// Conflicts by line, also with plain accesses, and the visibility of transactional stores.
#include <sys/syscall.h>

#include "rtm_rules.h"

namespace {

using namespace rules;

constexpr unsigned kSpins = 5000;  // for a transaction that the other thread must overlap with but not abort

/// On silicon the other thread may be delayed, so tries are not limited, except by the test's time limit. In
/// the virtual machine it always runs.
bool patient(int tries, int limit) { return !on_virtual_cpu() || tries < limit; }

Page page, second;

void spin(unsigned count) {
  for (unsigned i = 0; i < count; ++i) asm volatile("");
}

void read(volatile std::uint64_t& word) { load(word); }
void write(volatile std::uint64_t& word) { word = 0; }
void read_in_transaction(volatile std::uint64_t& word) {
  transaction([&] { load(word); }, 1);
}
void write_in_transaction(volatile std::uint64_t& word) {
  transaction([&] { word = 0; }, 1);
}
void locked_add(volatile std::uint64_t& word) { asm volatile("lock addq $0, %0" : "+m"(word)); }
/// The kernel writes on behalf of the other thread.
void system_call_writes(volatile std::uint64_t& word) {
  syscall(SYS_getrandom, const_cast<std::uint64_t*>(&word), 8, 0);
}

/// A transaction accesses words[0] by `mine` and waits for ever. The access `theirs` to words[other] by
/// another thread must abort it with a conflict.
template <class Mine, class Theirs>
const char* conflict(Mine mine, Theirs theirs, unsigned other_word = 0) {
  Other other([&] { theirs(page.word[other_word]); });
  constexpr int kEnds = 50;
  for (int i = 0; patient(i, kEnds); ++i) {
    const Status status = Rtm::begin();
    if (status.started()) {
      mine(page.word[0]);
      for (;;) asm volatile("");
    }
    if ((status.raw & Status::kConflictBit) == 0) continue;
    // Silicon guesses whether to set the retry bit; the virtual CPU always sets it.
    if (on_virtual_cpu() && status.raw != (Status::kConflictBit | Status::kRetryBit))
      return seen("status %#x", status.raw);
    return nullptr;
  }
  return seen("%d transactions were not ended by a conflict", kEnds);
}

/// The opposite: transactions commit although the other thread keeps accessing.
template <class Mine, class Theirs>
const char* no_conflict(Mine mine, Theirs theirs, unsigned other_word = 0) {
  Other other([&] { theirs(page.word[other_word]); });
  int met = 0, conflicts = 0;
  for (int i = 0; patient(i, kTries) && met < (on_virtual_cpu() ? 20 : 1); ++i) {
    const std::uint64_t before = other.steps();
    const Status status = Rtm::begin();
    if (status.started()) {
      mine(page.word[0]);
      spin(kSpins);
      mine(page.word[0]);
      Rtm::commit();
      met += other.steps() - before > 2;
    } else if ((status.raw & Status::kConflictBit) != 0) {
      ++conflicts;
    }
  }
  if (on_virtual_cpu() && conflicts > 0) return seen("%d conflicts", conflicts);
  return met > 0 ? nullptr
                 : seen("no transaction committed beside the other thread, %d conflicts", conflicts);
}

const char* own_accesses() {
  page.word[0] = 0;  // maps the page, since a page fault inside would abort every transaction
  int commits = 0;
  for (int i = 0; i < kTries; ++i) {
    const Status status = Rtm::begin();
    if (status.started()) {
      for (unsigned k = 0; k < 16; ++k) {
        page.word[0] = load(page.word[0]) + load(page.word[1]);
        page.word[k] = 1;
      }
      Rtm::commit();
      ++commits;
    } else if ((status.raw & Status::kConflictBit) != 0 && on_virtual_cpu()) {
      return seen("status %#x", status.raw);
    }
  }
  return commits > kTries / 2 ? nullptr : seen("%d of %d commit", commits, kTries);
}

/// What a transaction writes before it aborts is never seen.
const char* aborted_writes() {
  page.word[0] = 0;
  std::atomic<bool> was_seen{false};
  {
    Other other([&] {
      if (page.word[0] != 0) was_seen = true;
    });
    for (int i = 0; i < kTries; ++i) {
      if (!Rtm::begin().started()) continue;
      page.word[0] = 1;
      spin(kSpins / 100);
      Rtm::abort<1>();
    }
  }
  return was_seen ? "the other thread saw it" : nullptr;
}

/// What it writes before it commits is seen whole: both words or none.
const char* committed_writes() {
  page.word[0] = 0;
  second.word[0] = 0;
  std::atomic<const char*> wrong{nullptr};
  {
    Other other([&] {
      const std::uint64_t first = page.word[0];
      const std::uint64_t later = second.word[0];
      if (later < first) wrong = "the first word alone was seen";
      const std::uint64_t last = second.word[0];
      const std::uint64_t again = page.word[0];
      if (again < last) wrong = "the second word alone was seen";
      if ((first & 1) != 0) wrong = "a word was seen that never was committed";
    });
    for (std::uint64_t n = 2; n < 2 * kTries; n += 2) {
      transaction(
          [n] {
            page.word[0] = n - 1;
            spin(50);
            second.word[0] = n;
            page.word[0] = n;
          },
          20);
    }
  }
  return wrong;
}

#define CONFLICT(...) [] { return conflict(__VA_ARGS__); }
#define NO_CONFLICT(...) [] { return no_conflict(__VA_ARGS__); }

const Case kCases[] = {
    {"a plain store ends a reader", "17.3.9.2", Where::kTwoCpus, CONFLICT(read, write)},
    {"a plain store ends a writer", "17.3.9.2", Where::kTwoCpus, CONFLICT(write, write)},
    {"a plain load ends a writer", "17.3.9.2", Where::kTwoCpus, CONFLICT(write, read)},
    {"a locked instruction ends a reader", "17.3.9.2", Where::kTwoCpus, CONFLICT(read, locked_add)},
    {"another transaction's write ends a reader", "17.3.9.2", Where::kTwoCpus,
     CONFLICT(read, write_in_transaction)},
    {"another transaction's read ends a writer", "17.3.9.2", Where::kTwoCpus,
     CONFLICT(write, read_in_transaction)},
    {"another thread's system call ends a reader", "17.3.9.2", Where::kTwoCpus,
     CONFLICT(read, system_call_writes)},
    {"a store to another word of the line ends a reader", "17.3.9.2", Where::kTwoCpus,
     CONFLICT(read, write, 7)},
    {"plain loads end no reader", "17.3.9.2", Where::kTwoCpus, NO_CONFLICT(read, read)},
    {"transactional loads end no reader", "17.3.9.2", Where::kTwoCpus,
     NO_CONFLICT(read, read_in_transaction)},
    {"stores to the next line end no reader", "17.3.9.2", Where::kTwoCpus, NO_CONFLICT(read, write, 8)},
    {"stores to a line further on end no writer", "17.3.9.2", Where::kTwoCpus,
     NO_CONFLICT(write, write, 256)},
    {"own accesses end nothing", "17.3.9.2", Where::kEverywhere, own_accesses},
    {"writes of an aborted transaction are never seen", "17.3.9.2", Where::kTwoCpus, aborted_writes},
    {"writes of a committed one are seen at once", "17.3.6", Where::kTwoCpus, committed_writes},
};

}  // namespace

int main(int argc, char** argv) { return rules::run(argc, argv, kCases); }
