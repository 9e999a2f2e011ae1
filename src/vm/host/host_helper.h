// SPDX-License-Identifier: Apache-2.0
// A host thread that makes one call which may wait for others and has no readiness form (a semaphore, a lock,
// the other end of a FIFO), so that the engine's host thread need not. The call is that of a guest thread,
// and made with its credentials.
//
// The thread touches the copy of the arguments that it was given and nothing of the engine's or the guest's;
// it takes no signal but the one that cancels it. When the call has ended, descriptor() polls readable. A
// fork's child has the object but not the thread: there it may only be destroyed.
#pragma once

#include <pthread.h>
#include <sys/types.h>
#include <ucontext.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "vm/host/credentials.h"

namespace elision::vm {

/// A call with the memory that it works on: argument `buffer_argument` is replaced by its address, if that is
/// not negative.
struct HelperCall {
  long number = 0;
  std::uint64_t arguments[6] = {};
  int buffer_argument = -1;
  std::vector<char> buffer;
};

class HostHelper {
 public:
  /// Makes `call` with the credentials of `holder`, or, null, of the engine's thread. Null if the host has no
  /// thread or descriptor to spare.
  static std::unique_ptr<HostHelper> start(CredentialHolder* holder, HelperCall call);
  ~HostHelper();
  HostHelper(const HostHelper&) = delete;
  HostHelper& operator=(const HostHelper&) = delete;

  int descriptor() const { return descriptor_; }
  /// What the call returned, if it has ended.
  std::optional<long> result() const;
  /// Interrupts the call: -EINTR, or what it returned all the same.
  long cancel();
  const std::vector<char>& buffer() const { return call_.buffer; }

 private:
  explicit HostHelper(HelperCall call) : call_(std::move(call)) {}
  static void* run(void* self);
  void join();

  HelperCall call_;
  pid_t process_ = 0;
  int descriptor_ = -1;
  pthread_t thread_{};
  bool joined_ = true;
  std::atomic<int> thread_id_{0};
  volatile int cancelled_ = 0;
  long result_ = 0;
  std::atomic<bool> done_{false};
};

/// The signal that cancels a helper's call. The host's C library would use it to change user IDs in all
/// threads, which the engine never does; the guest's sends it only within a process, where signals are ours.
inline constexpr int kCancelSignal = 33;

/// For the host's signal handler: true if the signal was to cancel a helper, which is done then.
bool cancels_helper(const siginfo_t& info, ucontext_t* context);

}  // namespace elision::vm
