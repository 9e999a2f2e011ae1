// SPDX-License-Identifier: Apache-2.0
// A host thread that makes one call for a guest thread, with its credentials: a call that may wait for others
// and that poll cannot wait for (a semaphore, a lock, the other end of a FIFO).
//
// The thread works on a copy of the arguments and touches no memory of the guest or of other parts of the
// engine. It takes no signal but the one that cancels it. When the call has ended, descriptor() polls
// readable. A fork's child has the object without the thread and may only destroy it.
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

/// A call and its memory: the address of `buffer` replaces argument `buffer_argument`, if that is not
/// negative.
struct HelperCall {
  long number = 0;
  std::uint64_t arguments[6] = {};
  int buffer_argument = -1;
  std::vector<char> buffer;
};

class HostHelper {
 public:
  /// Makes `call` with the credentials of `holder`, or of the engine's thread if that is null. Returns null
  /// if the host gives no thread or descriptor.
  static std::unique_ptr<HostHelper> start(CredentialHolder* holder, HelperCall call);
  ~HostHelper();
  HostHelper(const HostHelper&) = delete;
  HostHelper& operator=(const HostHelper&) = delete;

  int descriptor() const { return descriptor_; }
  /// The call's result, once it has ended.
  std::optional<long> result() const;
  /// Interrupts the call. Returns -EINTR, or the call's result if it ended first.
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

/// The signal that cancels a helper's call. The host's C library uses it to change user IDs in all threads,
/// which the engine never does. The guest sends it within a process only, where signals do not reach the
/// host.
inline constexpr int kCancelSignal = 33;

/// For the host's signal handler: cancels a helper's call if the signal is meant for that, and returns true
/// then.
bool cancels_helper(const siginfo_t& info, ucontext_t* context);

}  // namespace elision::vm
