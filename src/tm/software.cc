// SPDX-License-Identifier: Apache-2.0
#include "tm/software.h"

#include "locks/alone.h"
#include "tm/exceptions.h"
#include "tm/hardware.h"
#include "tm/process.h"

/// begin.S: begin returns again.
extern "C" [[noreturn, gnu::visibility("hidden")]] void elision_tm_resume(std::uint32_t actions,
                                                                          const elision::tm::Registers*);

namespace elision::tm {
namespace {

void take_section() {
  if (!Section::try_acquire(shared.section)) Section::acquire(shared.section, nullptr);
}

/// While the process has one thread, there is nobody to take turns with.
bool takes_turns() { return process.mode == abi::TmMode::kAle && !locks::is_single_threaded(); }

void take_turn(Thread& thread) {
  thread.turn = shared.turns.take();
  thread.holds_turn = true;
}

/// Both paths are there; the fallback cannot cancel.
bool suits_fallback(std::uint32_t properties) {
  constexpr std::uint32_t kNeeded = kHasInstrumentedCode | kHasNoAbort;
  return (properties & (kNeeded | kGoesIrrevocable)) == kNeeded;
}

std::uint32_t begin_fallback(Thread& thread, const Registers& registers) {
  take_turn(thread);
  // A transaction that began while the process had one thread took no turn.
  Section::wait_until_free(shared.section, nullptr);
  shared.fallback.exchange(thread.turn, std::memory_order_seq_cst);
  thread.path = Path::kFallback;
  thread.barriers = Barriers::kBuffered;
  thread.outer_cfa = registers.cfa;
  thread.last_locked = kStripeLocks;
  thread.logs->writes.clear();
  thread.logs->fresh.clear();
  start_segment(thread);
  return kRunInstrumented;
}

std::uint32_t prepare_cancel(Thread& thread, const Registers& registers) {
  Logs& logs = *thread.logs;
  logs.checkpoints.push({registers, thread.depth, thread.caught, uncaught_exceptions(), thread.is_irrevocable,
                         logs.undo.size(), logs.allocated.size(), logs.freed.size(), logs.at_commit.size(),
                         logs.at_cancel.size()});
  thread.is_irrevocable = false;
  thread.barriers = Barriers::kUndone;
  return kRunInstrumented | kSaveLiveVariables;
}

bool can_be_cancelled(std::uint32_t properties) {
  return (properties & (kHasNoAbort | kHasInstrumentedCode)) == kHasInstrumentedCode;
}

void end_outermost(Thread& thread) {
  leave_alone(thread);
  thread.path = Path::kNone;
  thread.barriers = Barriers::kDirect;
  thread.is_irrevocable = false;
  thread.depth = 0;
  thread.caught = 0;
}

/// Gives back what was allocated from the place `from` of the log up to `to`. What follows stays in the log.
void give_allocated_back(Array<Deallocation>& allocated, std::size_t from, std::size_t to) {
  for (std::size_t i = to; i > from; --i) {
    const Deallocation made = allocated[i - 1];
    if (made.memory != nullptr) made.function(made.memory, made.size);
  }
  for (; to < allocated.size(); ++to, ++from) allocated[from] = allocated[to];
  allocated.truncate(from);
}

/// The checkpoint `to` is still the innermost: transactions of the actions nest in its transaction, and
/// belong to the one around it.
void undo_to(Thread& thread, const Checkpoint& to) {
  Logs& logs = *thread.logs;
  const std::size_t allocated = logs.allocated.size();
  logs.undo.roll_back(to.undo, to.registers.cfa);
  logs.freed.truncate(to.freed);
  logs.at_commit.truncate(to.at_commit);
  while (logs.at_cancel.size() > to.at_cancel) {
    const UserAction action = logs.at_cancel.pop();
    action.function(action.argument);
  }
  give_allocated_back(logs.allocated, to.allocated, allocated);
  revert_exceptions(thread.caught - to.caught, to.uncaught);
  thread.caught = to.caught;
}

/// Nothing can be cancelled any more.
void drop_undo(Thread& thread) {
  Logs& logs = *thread.logs;
  thread.barriers = Barriers::kDirect;
  logs.undo.truncate(0);
  logs.at_cancel.clear();
  logs.allocated.clear();
}

/// Runs the user's actions and frees memory.
void finish(Thread& thread) {
  Logs& logs = *thread.logs;
  const std::size_t action = thread.first_action, freed = thread.first_freed;
  const std::size_t last_action = logs.at_commit.size(), last_freed = logs.freed.size();
  thread.has_pending = false;
  // Transactions of the actions log behind them.
  thread.first_action = last_action;
  thread.first_freed = last_freed;
  for (std::size_t i = action; i < last_action; ++i) {
    const UserAction each = logs.at_commit[i];
    each.function(each.argument);
  }
  for (std::size_t i = freed; i < last_freed; ++i) {
    const Deallocation each = logs.freed[i];
    each.function(each.memory, each.size);
  }
  logs.at_commit.truncate(action);
  logs.freed.truncate(freed);
  thread.first_action = action;
  thread.first_freed = freed;
}

}  // namespace

void enter_alone(Thread& thread) {
  if (takes_turns()) take_turn(thread);
  take_section();
}

void leave_alone(Thread& thread) {
  if (thread.path != Path::kFallback) Section::release(shared.section);
  if (!thread.holds_turn) return;
  thread.holds_turn = false;
  if (shared.fallback.load(std::memory_order_relaxed) != 0)
    shared.fallback.store(0, std::memory_order_release);
  shared.turns.pass_on();
}

std::uint32_t begin_software(Thread& thread, std::uint32_t properties, const Registers& registers) {
  thread.depth = 1;
  if (takes_turns() && suits_fallback(properties)) return begin_fallback(thread, registers);
  enter_alone(thread);
  thread.path = Path::kSerial;
  if (can_be_cancelled(properties)) [[unlikely]]
    return prepare_cancel(thread, registers);
  thread.is_irrevocable = (properties & kGoesIrrevocable) != 0;
  return run_directly(properties);
}

void commit_software(Thread& thread) {
  if (thread.path == Path::kFallback) {
    end_segment(thread);
    write_back(thread);
    count_end(thread, thread.counters->fallback_commits);
  } else {
    count_end(thread, thread.counters->serial_commits);
    if (!thread.logs->checkpoints.is_empty()) {
      thread.logs->checkpoints.clear();
      drop_undo(thread);
    }
  }
  end_outermost(thread);
  settle(thread);
}

void become_serial(Thread& thread) {
  end_segment(thread);
  take_section();
  thread.logs->writes.flush();
  thread.path = Path::kSerial;
  thread.barriers = Barriers::kDirect;
}

std::uint32_t begin_nested_serial(Thread& thread, std::uint32_t properties, const Registers& registers) {
  if (can_be_cancelled(properties)) return prepare_cancel(thread, registers);
  if (thread.barriers != Barriers::kUndone) return run_directly(properties);
  if ((properties & kHasInstrumentedCode) != 0) return kRunInstrumented;
  thread.is_irrevocable = true;  // it stores without undo log
  return kRunUninstrumented;
}

void leave_nested_serial(Thread& thread) {
  Array<Checkpoint>& checkpoints = thread.logs->checkpoints;
  if (checkpoints.is_empty() || checkpoints.last().depth != thread.depth) return;
  if (checkpoints.pop().was_irrevocable) thread.is_irrevocable = true;
  if (checkpoints.is_empty()) drop_undo(thread);
}

void roll_back(Thread& thread, bool outermost) {
  Array<Checkpoint>& checkpoints = thread.logs->checkpoints;
  if (thread.is_irrevocable || checkpoints.is_empty())
    fail("a transaction that cannot be cancelled was cancelled");
  if (outermost) checkpoints.truncate(1);
  const Checkpoint to = checkpoints.last();
  if (to.depth == 1) thread.has_pending = false;
  undo_to(thread, to);
  (void)checkpoints.pop();
  if (checkpoints.is_empty()) drop_undo(thread);
  thread.depth = to.depth - 1;
  if (to.was_irrevocable) thread.is_irrevocable = true;
  if (thread.depth == 0) {
    count_end(thread, thread.counters->cancels);
    end_outermost(thread);
    settle(thread);  // also what the actions' transactions left
  }
  elision_tm_resume(kAbortTransaction | kRestoreLiveVariables, &to.registers);
}

void settle_rest(Thread& thread) {
  if (thread.holds_auxiliary) {
    thread.holds_auxiliary = false;
    Section::release(shared.auxiliary);
  }
  if (thread.has_pending) finish(thread);
}

}  // namespace elision::tm
