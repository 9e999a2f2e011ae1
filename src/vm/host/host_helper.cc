// SPDX-License-Identifier: Apache-2.0
#include "vm/host/host_helper.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "vm/host/host_call.h"
#include "vm/host/host_limits.h"
#include "vm/host/host_signals.h"
#include "vm/host/host_thread.h"
#include "vm/host/reserved_descriptors.h"

namespace elision::vm {
namespace {

const char kCancellation = 0;  // its address marks signals of cancel()

}  // namespace

void* HostHelper::run(void* argument) {
  auto& self = *static_cast<HostHelper*>(argument);
  set_host_mask({~SignalSet::of(kCancelSignal).bits});
  self.thread_id_ = static_cast<int>(host_call(SYS_gettid));
  self.result_ = host_call_interruptible(self.call_.number, self.call_.arguments, self.cancelled_);
  self.done_ = true;
  const std::uint64_t one = 1;
  host_call(SYS_write, self.descriptor_, reinterpret_cast<std::uint64_t>(&one), sizeof one);
  return nullptr;
}

std::unique_ptr<HostHelper> HostHelper::start(CredentialHolder* holder, HelperCall call) {
  std::unique_ptr<HostHelper> helper(new HostHelper(std::move(call)));
  HelperCall& own = helper->call_;
  if (own.buffer_argument >= 0)
    own.arguments[own.buffer_argument] = reinterpret_cast<std::uint64_t>(own.buffer.data());
  helper->process_ = static_cast<pid_t>(host_call(SYS_getpid));
  {
    const LiftedLimits lifted;
    helper->descriptor_ = static_cast<int>(host_call(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK));
    helper->descriptor_ = reserve_descriptor(helper->descriptor_);
  }
  if (helper->descriptor_ < 0) return nullptr;
  const auto start = [&] { return start_host_thread(helper->thread_, run, helper.get()); };
  if (!run_as(holder, start)) return nullptr;
  helper->joined_ = false;
  return helper;
}

HostHelper::~HostHelper() {
  const bool ours = host_call(SYS_getpid) == process_;
  if (ours && !joined_) cancel();
  close_reserved_descriptor(descriptor_);
}

std::optional<long> HostHelper::result() const { return done_ ? std::optional(result_) : std::nullopt; }

long HostHelper::cancel() {
  cancelled_ = 1;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // A thread that has no number yet will check the flag.
  if (const int thread = thread_id_; thread != 0 && !done_) {
    siginfo_t info{};
    info.si_signo = kCancelSignal;
    info.si_code = SI_QUEUE;
    info.si_value.sival_ptr = const_cast<char*>(&kCancellation);
    host_call(SYS_rt_tgsigqueueinfo, process_, thread, kCancelSignal, reinterpret_cast<std::uint64_t>(&info));
  }
  join();
  return result_;
}

void HostHelper::join() {
  if (joined_) return;
  pthread_join(thread_, nullptr);
  joined_ = true;
}

bool cancels_helper(const siginfo_t& info, ucontext_t* context) {
  if (info.si_signo != kCancelSignal || info.si_code != SI_QUEUE || info.si_value.sival_ptr != &kCancellation)
    return false;
  interrupt_host_call(context);
  return true;
}

}  // namespace elision::vm
