// SPDX-License-Identifier: Apache-2.0
// The parts that need no running guest: futex queues, timers, pending signals, frames.
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>

#include "vm/host/guest_memory.h"
#include "vm/host/host_signals.h"
#include "vm/interface/fake_engine.h"
#include "vm/linux/process/call.h"
#include "vm/linux/process/cpu_time_board.h"
#include "vm/linux/process/futex_queues.h"
#include "vm/linux/process/process_ids.h"
#include "vm/linux/process/virtual_timers.h"
#include "vm/linux/signals/futexes.h"
#include "vm/linux/signals/signal_frame.h"
#include "vm/linux/syscalls/futex_calls.h"

namespace elision::vm {
namespace {

/// Uses CPU time, and gets on if `progress` is not null.
void work(std::chrono::milliseconds time, std::uint64_t* progress) {
  const std::clock_t end = std::clock() + time.count() * CLOCKS_PER_SEC / 1000;
  while (std::clock() < end)
    if (progress != nullptr) ++*progress;
}

std::uint64_t progress_made = 0;

TEST(CpuTimeBoard, PlacesOfProcessesThatAreGoneAreTaken) {
  constexpr int kNoProcess = 0x10000000, kPlaces = 4096;  // a number above all that Linux gives
  CpuTimeBoard board(-1);
  board.make();
  const int self = getpid(), parent = getppid();
  board.publish(parent, 7);
  for (int i = 0; i < kPlaces; ++i) board.publish(kNoProcess + i, 1);
  board.publish(self, 5);
  EXPECT_EQ(board.look(self, false), 5u);
  EXPECT_EQ(board.look(parent, false), 7u);
  for (int i = 0; i < kPlaces; ++i) board.publish(kNoProcess + kPlaces + i, 2);
  EXPECT_EQ(board.look(self, true), 5u);
  EXPECT_EQ(board.look(self, false), 0u);
  board.publish(self, 6);
  board.start(self);
  EXPECT_EQ(board.look(self, false), 0u);
}

TEST(ProcessIds, HostProcessesOutsideKeepTheirNumbers) {
  const ProcessIds ids({});
  EXPECT_EQ(ids.pid(), kRootPid);
  EXPECT_EQ(ids.to_host(kRootPid), getpid());
  EXPECT_EQ(ids.to_host(kRootPid - 1), getppid());
  int changed = 0;
  for (int number = 1; number < kMostHostNumbers; ++number)
    changed += ids.to_host(number) != number || ids.to_host(-number) != -number;
  EXPECT_EQ(changed, 0);
}

TEST(ProcessIds, ThreadsHaveNoNumberOfAHostProcess) {
  ProcessOrigin origin;
  ProcessIds root(origin);
  origin.root_host_pid = getppid();
  ProcessIds descendant(origin);
  EXPECT_EQ(root.next_tid(), kRootPid);
  EXPECT_EQ(descendant.next_tid(), getpid());
  for (ProcessIds* const ids : {&root, &descendant}) {
    const int second = ids->next_tid();
    EXPECT_GE(second, kMostHostNumbers);
    EXPECT_LE(second, FUTEX_TID_MASK);
    EXPECT_EQ(ids->next_tid(), second + 1);
  }
  descendant.start_child();
  EXPECT_EQ(descendant.next_tid(), getpid());
}

TEST(HostSignalsDeathTest, FatalSignalEndsHangingEngine) {
  EXPECT_EXIT(
      {
        set_host_action(SIGTERM, HostAction::kRecord);
        raise(SIGTERM);
        work(std::chrono::seconds(60), nullptr);
      },
      testing::KilledBySignal(SIGTERM), "the engine hangs");
}

TEST(HostSignalsDeathTest, FatalSignalWaitsWhileGuestProgresses) {
  EXPECT_EXIT(
      {
        watch_progress(+[] { return progress_made; });
        set_host_action(SIGINT, HostAction::kRecord);
        raise(SIGINT);
        work(std::chrono::milliseconds(1500), &progress_made);
        if (take_host_signal()->si_signo != SIGINT) _exit(1);
        work(std::chrono::milliseconds(1500), nullptr);  // nobody waits for anything any more
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(FutexQueues, FirstComeFirstServed) {
  Thread threads[4];
  KernelThread a(threads[0]), b(threads[1]), c(threads[2]), d(threads[3]);
  FutexQueues queues;
  queues.add(100, 1, a);
  queues.add(100, 2, b);
  queues.add(100, 3, c);
  queues.add(200, ~0u, d);
  EXPECT_EQ(queues.take(100, 5, 2), (std::vector<KernelThread*>{&b, &c}));
  queues.add(100, 1, b);
  queues.remove(a);
  EXPECT_EQ(queues.move(100, 200, 9), 1u);
  EXPECT_FALSE(queues.has_waiters(100));
  EXPECT_EQ(queues.take(200, 1, ~0u), (std::vector<KernelThread*>{&d}));
  EXPECT_EQ(queues.take(200, 1, ~0u), (std::vector<KernelThread*>{&b}));
  EXPECT_FALSE(queues.has_waiters(200));
}

/// A process with threads that make futex calls.
class FutexCalls : public testing::Test {
 protected:
  FutexCalls() {
    for (Thread& thread : threads) {
      process.threads.push_back(std::make_unique<KernelThread>(thread));
      thread.kernel = process.threads.back().get();
      thread.tid = 4242 + static_cast<int>(process.threads.size()) - 1;
    }
  }
  SyscallOutcome futex(unsigned thread, std::uint32_t* word, int operation, std::uint64_t value,
                       std::uint64_t fourth = 0, std::uint32_t* second = nullptr, std::uint64_t sixth = 0) {
    Call call{process,
              *process.threads[thread],
              SYS_futex,
              {reinterpret_cast<std::uint64_t>(word), static_cast<std::uint64_t>(operation), value, fourth,
               reinterpret_cast<std::uint64_t>(second), sixth},
              Effects::kBlocks};
    return sys_futex(call);
  }
  long result(unsigned thread) const { return static_cast<long>(threads[thread].state.gpr[kRax]); }

  FakeEngine engine;
  Process process{engine, Options{}, MachineIdentity{}, ProcessOrigin{}};
  Thread threads[4];
  std::uint32_t word = 0, other = 0;
};

TEST_F(FutexCalls, WakeInOrderAndCount) {
  EXPECT_EQ(futex(0, &word, FUTEX_WAIT_PRIVATE, 0), SyscallOutcome::kParked);
  EXPECT_EQ(futex(1, &word, FUTEX_WAIT_PRIVATE, 0), SyscallOutcome::kParked);
  EXPECT_EQ(futex(2, &word, FUTEX_WAIT_PRIVATE, 1), SyscallOutcome::kReturn);
  EXPECT_EQ(result(2), -EAGAIN);
  futex(3, &word, FUTEX_WAKE_PRIVATE, 1);
  EXPECT_EQ(result(3), 1);
  EXPECT_EQ(engine.unparked, (std::vector<Thread*>{&threads[0]}));
  EXPECT_EQ(result(0), 0);
}

TEST_F(FutexCalls, TimeoutLeavesTheQueue) {
  const timespec span{2, 5};
  engine.time = 1000;
  futex(0, &word, FUTEX_WAIT_PRIVATE, 0, reinterpret_cast<std::uint64_t>(&span));
  const auto& [deadline, on_timeout] = engine.timeouts[&threads[0]];
  EXPECT_EQ(deadline, 1000u + 2'000'000'005u);
  on_timeout();
  EXPECT_EQ(result(0), -ETIMEDOUT);
  futex(1, &word, FUTEX_WAKE_PRIVATE, 1);
  EXPECT_EQ(result(1), 0) << "nobody is left";
}

TEST_F(FutexCalls, RequeueMovesWithoutWaking) {
  for (unsigned i = 0; i < 3; ++i) futex(i, &word, FUTEX_WAIT_PRIVATE, 0);
  futex(3, &word, FUTEX_CMP_REQUEUE_PRIVATE, 1, 9, &other, 1);
  EXPECT_EQ(result(3), -EAGAIN);
  futex(3, &word, FUTEX_CMP_REQUEUE_PRIVATE, 1, 9, &other, 0);
  EXPECT_EQ(result(3), 3);
  EXPECT_EQ(engine.unparked.size(), 1u);
  futex(3, &word, FUTEX_WAKE_PRIVATE, 9);
  EXPECT_EQ(result(3), 0);
  futex(3, &other, FUTEX_WAKE_PRIVATE, 9);
  EXPECT_EQ(result(3), 2);
}

TEST_F(FutexCalls, WakeOpOperatesAndCompares) {
  futex(0, &word, FUTEX_WAIT_PRIVATE, 0);
  futex(1, &other, FUTEX_WAIT_PRIVATE, 0);
  futex(3, &word, FUTEX_WAKE_OP_PRIVATE, 1, 1, &other, FUTEX_OP(FUTEX_OP_OR, 6, FUTEX_OP_CMP_GT, 0));
  EXPECT_EQ(other, 6u);
  EXPECT_EQ(result(3), 1) << "0 > 0 is false: the second queue sleeps on";
  futex(3, &word, FUTEX_WAKE_OP_PRIVATE, 1, 1, &other, FUTEX_OP(FUTEX_OP_ADD, -2, FUTEX_OP_CMP_EQ, 6));
  EXPECT_EQ(other, 4u);
  EXPECT_EQ(result(3), 1);
}

TEST_F(FutexCalls, PriorityInheritanceHandsOver) {
  futex(0, &word, FUTEX_LOCK_PI_PRIVATE, 0);
  EXPECT_EQ(word, 4242u);
  EXPECT_EQ(futex(1, &word, FUTEX_LOCK_PI_PRIVATE, 0), SyscallOutcome::kParked);
  EXPECT_EQ(word, 4242u | FUTEX_WAITERS);
  futex(0, &word, FUTEX_LOCK_PI_PRIVATE, 0);
  EXPECT_EQ(result(0), -EDEADLK);
  futex(2, &word, FUTEX_TRYLOCK_PI_PRIVATE, 0);
  EXPECT_EQ(result(2), -EAGAIN);
  futex(2, &word, FUTEX_UNLOCK_PI_PRIVATE, 0);
  EXPECT_EQ(result(2), -EPERM);
  futex(0, &word, FUTEX_UNLOCK_PI_PRIVATE, 0);
  EXPECT_EQ(word, 4243u);
  EXPECT_EQ(engine.unparked, (std::vector<Thread*>{&threads[1]}));
  futex(1, &word, FUTEX_UNLOCK_PI_PRIVATE, 0);
  EXPECT_EQ(word, 0u);
}

TEST_F(FutexCalls, RobustLocksOfAnEndingThread) {
  struct Lock {
    robust_list entry;
    std::uint32_t futex;
  } lock{};
  robust_list_head head{{&lock.entry}, offsetof(Lock, futex), nullptr};
  lock.entry.next = &head.list;
  lock.futex = 4242u | FUTEX_WAITERS;
  std::uint32_t child_tid = 4242;
  process.threads[0]->robust_list = reinterpret_cast<std::uint64_t>(&head);
  process.threads[0]->clear_child_tid = reinterpret_cast<std::uint64_t>(&child_tid);
  futex(1, &lock.futex, FUTEX_WAIT_PRIVATE, lock.futex);
  futex(2, &child_tid, FUTEX_WAIT, 4242);
  release_futexes_of(process, *process.threads[0]);
  EXPECT_EQ(lock.futex, FUTEX_WAITERS | FUTEX_OWNER_DIED);
  EXPECT_EQ(child_tid, 0u);
  EXPECT_EQ(engine.unparked, (std::vector<Thread*>{&threads[1], &threads[2]}));
}

TEST(VirtualTimers, RepeatsAndIgnoresOldSettings) {
  FakeEngine engine;
  VirtualTimers timers;
  int first = 0, second = 0;
  timers.set(engine, 1, {10, 5}, [&] { ++first; });
  engine.advance(22);
  EXPECT_EQ(first, 3);
  EXPECT_EQ(timers.get(1).expires, 25u);
  timers.set(engine, 1, {30, 0}, [&] { ++second; });
  engine.advance(100);
  EXPECT_EQ(first, 3);
  EXPECT_EQ(second, 1);
  EXPECT_FALSE(timers.any_armed());
  timers.set(engine, 2, {200, 0}, [&] { ++second; });
  EXPECT_TRUE(timers.any_armed());
  timers.remove(2);
  engine.advance(300);
  EXPECT_EQ(second, 1);
}

siginfo_t signal_info(int number, int value) {
  siginfo_t info{};
  info.si_signo = number;
  info.si_value.sival_int = value;
  return info;
}

TEST(PendingSignals, StandardOnceRealTimeQueued) {
  PendingSignals pending;
  pending.add(signal_info(40, 1));
  pending.add(signal_info(SIGUSR1, 2));
  pending.add(signal_info(40, 3));
  pending.add(signal_info(SIGUSR1, 4));
  EXPECT_FALSE(pending.take(SignalSet::of(SIGHUP)));
  EXPECT_EQ(pending.take({~0ull})->si_value.sival_int, 2) << "lowest number first, the second is lost";
  EXPECT_FALSE(pending.set().has(SIGUSR1));
  EXPECT_EQ(pending.take({~0ull})->si_value.sival_int, 1);
  EXPECT_TRUE(pending.set().has(40));
  EXPECT_EQ(pending.take({~0ull})->si_value.sival_int, 3);
  EXPECT_EQ(pending.set().bits, 0u);
}

class Frames : public testing::Test {
 protected:
  Frames() {
    for (unsigned i = 0; i < kGprCount; ++i) state.gpr[i] = 0x1000 + i;
    state.gpr[kRsp] = reinterpret_cast<std::uint64_t>(stack + sizeof stack - 512);
    state.rip = 0x401000;
    state.rflags = 0x202 | 0x400 | 1;  // DF, CF
    for (unsigned i = 0; i < 16; ++i) std::memset(state.ymm[i], static_cast<int>(i + 1), 32);
    state.mxcsr = 0x1fa0;
    request.info = signal_info(SIGUSR1, 7);
    request.action = {0x500000, SA_SIGINFO, 0x600000, {}};
    request.saved_mask = {0x55};
  }
  alignas(16) unsigned char stack[16384];
  alignas(16) unsigned char alternate[8192];
  GuestState state;
  FrameRequest request;
};

TEST_F(Frames, RoundTripRestoresEverything) {
  const GuestState before = state;
  std::memset(stack, 0xaa, sizeof stack);
  ASSERT_TRUE(enter_handler(state, request));
  EXPECT_EQ(state.rip, 0x500000u);
  EXPECT_EQ(state.gpr[kRsp] % 16, 8u) << "as after a call";
  EXPECT_EQ(state.gpr[kRdi], static_cast<std::uint64_t>(SIGUSR1));
  EXPECT_EQ(reinterpret_cast<siginfo_t*>(state.gpr[kRsi])->si_value.sival_int, 7);
  EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(state.gpr[kRsp]), 0x600000u);
  EXPECT_EQ(state.rflags & 0x400, 0u) << "the direction flag is clear in a handler";
  for (std::size_t i = before.gpr[kRsp] - 128; i < before.gpr[kRsp]; ++i)
    ASSERT_EQ(*reinterpret_cast<unsigned char*>(i), 0xaa) << "red zone";

  state.gpr[kRsp] += 8;  // the handler returned
  std::memset(state.ymm, 0x77, sizeof state.ymm);
  for (unsigned i = 0; i < kGprCount; ++i)
    if (i != kRsp) state.gpr[i] = 0;
  SignalSet mask;
  SignalStack signal_stack;
  ASSERT_TRUE(leave_handler(state, mask, signal_stack));
  EXPECT_EQ(std::memcmp(state.gpr, before.gpr, sizeof state.gpr), 0);
  EXPECT_EQ(std::memcmp(state.ymm, before.ymm, sizeof state.ymm), 0);
  EXPECT_EQ(state.rip, before.rip);
  EXPECT_EQ(state.rflags, before.rflags);
  EXPECT_EQ(state.mxcsr, before.mxcsr);
  EXPECT_EQ(state.x87_used, 0u);
  EXPECT_EQ(mask.bits, 0x55u);
}

TEST_F(Frames, HandlerMayChangeWhatIsRestored) {
  ASSERT_TRUE(enter_handler(state, request));
  auto* const context = reinterpret_cast<ucontext_t*>(state.gpr[kRdx]);
  context->uc_mcontext.gregs[REG_RIP] = 0x777;
  context->uc_mcontext.gregs[REG_R9] = 0x99;
  context->uc_mcontext.fpregs->_xmm[3].element[0] = 0xabcd;
  state.gpr[kRsp] += 8;
  SignalSet mask;
  SignalStack signal_stack;
  ASSERT_TRUE(leave_handler(state, mask, signal_stack));
  EXPECT_EQ(state.rip, 0x777u);
  EXPECT_EQ(state.gpr[kR9], 0x99u);
  std::uint32_t element;
  std::memcpy(&element, state.ymm[3], sizeof element);
  EXPECT_EQ(element, 0xabcdu);
}

TEST_F(Frames, UsesTheAlternateStackOnce) {
  request.action.flags |= SA_ONSTACK;
  request.signal_stack = {reinterpret_cast<std::uint64_t>(alternate), 0, 0, sizeof alternate};
  ASSERT_TRUE(enter_handler(state, request));
  EXPECT_TRUE(is_on_stack(state.gpr[kRsp], request.signal_stack));
  const std::uint64_t first = state.gpr[kRsp];
  ASSERT_TRUE(enter_handler(state, request));
  EXPECT_LT(state.gpr[kRsp], first) << "a nested handler continues below";
  EXPECT_GT(state.gpr[kRsp], first - 4096);
  request.signal_stack.size = 1024;
  state.gpr[kRsp] = reinterpret_cast<std::uint64_t>(stack + sizeof stack);
  EXPECT_FALSE(enter_handler(state, request)) << "too small";
}

}  // namespace
}  // namespace elision::vm
