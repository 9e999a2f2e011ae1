// SPDX-License-Identifier: Apache-2.0
// elision_condition: the condition variable of locks/condition.h, with an elision_mutex.
#include "locks/condition.h"

#include "api/lock.h"
#include "elision/elision.h"

namespace {

using elision::api::elides;
using elision::api::self_at;
using elision::api::this_thread;
using elision::locks::Condition;
using elision::locks::ConditionQueue;
using elision::locks::ConditionState;
using elision::locks::Deadline;
using Eliding = Condition<elision::api::Elided>;
using NotEliding = Condition<elision::api::Plain>;

static_assert(sizeof(elision_condition) == sizeof(ConditionState) &&
              alignof(elision_condition) == alignof(ConditionState));

ConditionState& state_of(elision_condition* condition) {
  return *reinterpret_cast<ConditionState*>(condition);
}

bool wait(elision_condition* condition, elision_mutex* mutex, const Deadline* deadline, const void* site) {
  const elision::locks::LockWords words{elision::api::word_at(&mutex->word)};
  const elision::api::Self self = self_at(words.word, site);
  return elides() ? Eliding::wait(state_of(condition), words, self, deadline)
                  : NotEliding::wait(state_of(condition), words, self, deadline);
}

}  // namespace

void elision_condition_wait(elision_condition* condition, elision_mutex* mutex) {
  (void)wait(condition, mutex, nullptr, ELISION_CALL_SITE);
}

int elision_condition_wait_until(elision_condition* condition, elision_mutex* mutex, int clock,
                                 const timespec* until) {
  if (!elision::api::is_valid_deadline(clock, until)) return EINVAL;
  const Deadline deadline{clock, until};
  return wait(condition, mutex, &deadline, ELISION_CALL_SITE) ? 0 : ETIMEDOUT;
}

void elision_condition_signal(elision_condition* condition) {
  Eliding::signal(state_of(condition), this_thread.transaction);
}

void elision_condition_broadcast(elision_condition* condition) {
  Eliding::broadcast(state_of(condition), this_thread.transaction);
}

void elision_condition_destroy(elision_condition* condition) {
  ConditionQueue::wait_until_left(state_of(condition));
}
