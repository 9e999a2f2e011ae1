// SPDX-License-Identifier: Apache-2.0
// The gate of a condition variable: between the release of the program's mutex and the registration of
// the waiter no signal may fall. Here the signal is sent from exactly there.
#include "runtime/condition.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <thread>

namespace elision::runtime {
namespace {

pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
std::thread* signaller = nullptr;
std::atomic<bool> signalled{false};
int locks = 0;
int unlock_result = 0;

int count_lock(pthread_mutex_t*, const void*) {
  ++locks;
  return 0;
}

/// Stands for the release of the program's mutex: another thread signals at once, and is given the time
/// to get through if nothing holds it back.
int unlock_and_let_signal(pthread_mutex_t*, const void*) {
  if (unlock_result != 0) return unlock_result;
  signaller = new std::thread([] {
    signal_at_gate(&cond);
    signalled = true;
  });
  for (int i = 0; i < 2000; ++i) std::this_thread::yield();
  EXPECT_FALSE(signalled) << "a signal fell between release and registration";
  return 0;
}

constexpr MutexOperations kOperations{count_lock, unlock_and_let_signal};

class Gate : public ::testing::Test {
 protected:
  void SetUp() override {
    find_glibc();
    locks = unlock_result = 0;
    signalled = false;
  }
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

TEST_F(Gate, ASignalWaitsUntilTheWaiterIsRegistered) {
  EXPECT_EQ(wait_at_gate(&cond, &mutex_, {CondTimeout::Form::kNone, 0, nullptr}, kOperations, nullptr), 0);
  signaller->join();
  delete signaller;
  EXPECT_EQ(locks, 1);
}

TEST_F(Gate, AMutexThatCannotBeReleasedEndsTheWaitAtOnce) {
  unlock_result = EPERM;
  EXPECT_EQ(wait_at_gate(&cond, &mutex_, {CondTimeout::Form::kNone, 0, nullptr}, kOperations, nullptr),
            EPERM);
  EXPECT_EQ(locks, 0);
  EXPECT_EQ(signal_at_gate(&cond), 0) << "the gate is open again";
}

TEST_F(Gate, ATimeoutTakesTheMutexAgainAndOpensTheGate) {
  const timespec long_ago{1, 0};
  const MutexOperations operations{count_lock, [](pthread_mutex_t*, const void*) { return 0; }};
  for (const CondTimeout::Form form : {CondTimeout::Form::kOwnClock, CondTimeout::Form::kClock}) {
    EXPECT_EQ(wait_at_gate(&cond, &mutex_, {form, CLOCK_MONOTONIC, &long_ago}, operations, nullptr),
              ETIMEDOUT);
  }
  EXPECT_EQ(locks, 2);
  EXPECT_EQ(broadcast_at_gate(&cond), 0);
}

}  // namespace
}  // namespace elision::runtime
