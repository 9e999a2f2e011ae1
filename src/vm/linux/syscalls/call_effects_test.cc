// SPDX-License-Identifier: Apache-2.0
// Two effects that rows of the table state, against what the handlers do: each call whose row states kBlocks
// is made so that it must wait, each whose row states kEndsTransactions so that it takes memory away. A
// handler that does one of the two without the statement fails a check of the virtual machine.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "vm/interface/fake_engine.h"
#include "vm/linux/signals/waiting.h"
#include "vm/linux/syscalls/system_calls.h"

namespace elision::vm {
namespace {

using Arguments = std::array<std::uint64_t, 6>;

template <class T>
std::uint64_t at(T* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

std::vector<const SystemCall*> rows_with(unsigned effect) {
  std::vector<const SystemCall*> rows;
  for (const SystemCall& row : system_calls())
    if ((row.effects & effect) != 0) rows.push_back(&row);
  return rows;
}

/// Rows of calls in which only a child takes memory away, one that runs in the caller's memory:
/// tests/guest/processes.c makes them.
constexpr std::uint64_t kMapThroughChild[] = {SYS_clone, SYS_clone3, SYS_vfork};

std::vector<const SystemCall*> rows_that_map() {
  auto rows = rows_with(Effects::kEndsTransactions);
  std::erase_if(rows, [](const SystemCall* row) {
    return std::find(std::begin(kMapThroughChild), std::end(kMapThroughChild), row->number) !=
           std::end(kMapThroughChild);
  });
  return rows;
}

std::string name_of(const testing::TestParamInfo<const SystemCall*>& info) { return info.param->name; }

/// A process with two threads, of which the first makes the call.
class EffectsTest : public testing::TestWithParam<const SystemCall*> {
 protected:
  EffectsTest() {
    for (Thread& thread : threads_) {
      process_.threads.push_back(std::make_unique<KernelThread>(thread));
      thread.kernel = process_.threads.back().get();
    }
  }
  ~EffectsTest() override {
    if (self().wait) (void)abandon_wait(self());
  }
  KernelThread& self() { return *process_.threads.front(); }
  Call call_with(const Arguments& values) {
    Call call{process_, self(), GetParam()->number, {}, GetParam()->effects};
    std::copy(values.begin(), values.end(), call.arguments);
    return call;
  }
  SyscallOutcome make(const Arguments& values) {
    Call call = call_with(values);
    return GetParam()->handler(call);
  }
  long result() const { return static_cast<long>(threads_[0].state.gpr[kRax]); }

  FakeEngine engine_;
  Process process_{engine_, Options{}, MachineIdentity{}, ProcessOrigin{}};
  Thread threads_[2];
};

/// Descriptors and other things that are not ready.
class Busy {
 public:
  Busy() {
    char name[] = "/tmp/elision-effects-XXXXXX";
    folder_ = mkdtemp(name);
    EXPECT_EQ(pipe(empty_pipe), 0);
    EXPECT_EQ(pipe(full_pipe), 0);
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, empty_sockets), 0);
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, full_sockets), 0);
    fill(full_pipe[1]);
    fill(full_sockets[1]);
  }
  ~Busy() {
    for (const int descriptor : descriptors_) close(descriptor);
    for (const int* pair : {empty_pipe, full_pipe, empty_sockets, full_sockets})
      close(pair[0]), close(pair[1]);
    if (child_ > 0) kill(child_, SIGKILL), waitpid(child_, nullptr, 0);
    if (semaphore_ >= 0) semctl(semaphore_, 0, IPC_RMID);
    if (queue_ >= 0) msgctl(queue_, IPC_RMID, nullptr);
    std::filesystem::remove_all(folder_);
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

  const char* fifo() {
    fifo_ = folder_ + "/fifo";
    EXPECT_EQ(mkfifo(fifo_.c_str(), 0600), 0);
    return fifo_.c_str();
  }
  /// Two open file descriptions of one file.
  std::pair<int, int> file() {
    const std::string path = folder_ + "/file";
    return {keep(open(path.c_str(), O_RDWR | O_CREAT, 0600)), keep(open(path.c_str(), O_RDWR))};
  }
  /// A socket that listens, and whose queue of connections is full.
  int listener() {
    address_.sun_family = AF_UNIX;
    std::snprintf(address_.sun_path, sizeof address_.sun_path, "%s/socket", folder_.c_str());
    const int result = keep(socket(AF_UNIX, SOCK_STREAM, 0));
    EXPECT_EQ(bind(result, address(), sizeof address_), 0);
    EXPECT_EQ(listen(result, 0), 0);
    return result;
  }
  const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }
  int connector() {
    listener();
    int result = -1;
    do {
      result = keep(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
    } while (connect(result, address(), sizeof address_) == 0);
    return keep(socket(AF_UNIX, SOCK_STREAM, 0));
  }
  int epoll() {
    const int result = keep(epoll_create1(0));
    epoll_event event{};
    event.events = EPOLLIN;
    epoll_ctl(result, EPOLL_CTL_ADD, empty_pipe[0], &event);
    return result;
  }
  int semaphore() { return semaphore_ = semget(IPC_PRIVATE, 1, 0600); }
  /// A System V message queue. Full: a message of any size must wait.
  int queue(bool full) {
    queue_ = msgget(IPC_PRIVATE, 0600);
    msqid_ds status{};
    msgctl(queue_, IPC_STAT, &status);
    status.msg_qbytes = full ? 0 : status.msg_qbytes;
    EXPECT_EQ(msgctl(queue_, IPC_SET, &status), 0);
    return queue_;
  }
  /// A POSIX message queue with room for one message.
  int posix_queue(bool full) {
    const std::string name = "/elision-effects-" + std::to_string(getpid());
    mq_attr attributes{};
    attributes.mq_maxmsg = 1;
    attributes.mq_msgsize = 8;
    const int result = keep(mq_open(name.c_str(), O_RDWR | O_CREAT, 0600, &attributes));
    EXPECT_GE(result, 0);
    mq_unlink(name.c_str());
    EXPECT_TRUE(!full || mq_send(result, "message", 8, 0) == 0);
    return result;
  }
  void child() {
    child_ = fork();
    if (child_ == 0)
      for (;;) pause();
  }

  int empty_pipe[2], full_pipe[2], empty_sockets[2], full_sockets[2];

 private:
  static void fill(int descriptor) {
    const int flags = fcntl(descriptor, F_GETFL);
    fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
    static const char kBytes[4096] = {};
    while (write(descriptor, kBytes, sizeof kBytes) > 0) continue;
    fcntl(descriptor, F_SETFL, flags);
  }
  int keep(int descriptor) {
    descriptors_.push_back(descriptor);
    return descriptor;
  }

  std::string folder_, fifo_;
  std::vector<int> descriptors_;
  sockaddr_un address_{};
  pid_t child_ = -1;
  int semaphore_ = -1, queue_ = -1;
};

class BlockingCall : public EffectsTest {
 protected:
  /// Arguments with which the call has to wait.
  Arguments arguments();
  std::uint64_t number(int value) { return static_cast<std::uint64_t>(value); }
  Arguments with_locks(int operation) {
    const auto [holder, waiter] = busy_.file();
    lock_.l_type = F_WRLCK;
    EXPECT_EQ(operation == LOCK_EX ? flock(holder, LOCK_EX) : fcntl(holder, F_OFD_SETLK, &lock_), 0);
    if (operation == LOCK_EX) return {number(waiter), LOCK_EX};
    return {number(waiter), number(operation), at(&lock_)};
  }

  Busy busy_;
  char buffer_[64] = {};
  iovec piece_{buffer_, 8};
  mmsghdr message_{{nullptr, 0, &piece_, 1, nullptr, 0, 0}, 0};
  pollfd wanted_{busy_.empty_pipe[0], POLLIN, 0};
  fd_set set_{};
  epoll_event event_{};
  timespec second_{1, 0};
  struct flock lock_ {};
  sembuf operation_{0, -1, 0};
  struct {
    long type = 1;
    char text[8] = {};
  } queued_;
  std::uint64_t how_[3] = {O_RDONLY, 0, 0};
  SignalSet signals_;
  std::uint32_t word_ = 0;
};

Arguments BlockingCall::arguments() {
  const std::uint64_t in = number(busy_.empty_pipe[0]), out = number(busy_.full_pipe[1]);
  const std::uint64_t receiver = number(busy_.empty_sockets[0]), sender = number(busy_.full_sockets[1]);
  const std::uint64_t here = number(AT_FDCWD), forever = ~std::uint64_t{0};
  FD_SET(busy_.empty_pipe[0], &set_);
  const std::uint64_t count = in + 1;
  switch (GetParam()->number) {
    case SYS_read:
      return {in, at(buffer_), 8};
    case SYS_write:
      return {out, at(buffer_), 8};
    case SYS_readv:
      return {in, at(&piece_), 1};
    case SYS_writev:
    case SYS_vmsplice:
      return {out, at(&piece_), 1};
    case SYS_open:
      return {at(busy_.fifo()), O_RDONLY};
    case SYS_creat:
      return {at(busy_.fifo()), 0600};
    case SYS_openat:
      return {here, at(busy_.fifo()), O_RDONLY};
    case SYS_openat2:
      return {here, at(busy_.fifo()), at(how_), sizeof how_};
    case SYS_poll:
      return {at(&wanted_), 1, forever};
    case SYS_ppoll:
      return {at(&wanted_), 1};
    case SYS_select:
    case SYS_pselect6:
      return {count, at(&set_)};
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
      return {number(busy_.epoll()), at(&event_), 1, forever};
    case SYS_epoll_pwait2:
      return {number(busy_.epoll()), at(&event_), 1};
    case SYS_pause:
      return {};
    case SYS_nanosleep:
      return {at(&second_)};
    case SYS_clock_nanosleep:
      return {CLOCK_MONOTONIC, 0, at(&second_)};
    case SYS_sendfile:
      return {out, number(busy_.file().first), 0, 8};
    case SYS_splice:
      return {in, 0, out, 0, 8};
    case SYS_tee:
      return {in, out, 8};
    case SYS_connect: {
      const int descriptor = busy_.connector();
      return {number(descriptor), at(busy_.address()), sizeof(sockaddr_un)};
    }
    case SYS_accept:
    case SYS_accept4:
      return {number(busy_.listener())};
    case SYS_recvfrom:
      return {receiver, at(buffer_), 8};
    case SYS_recvmsg:
      return {receiver, at(&message_)};
    case SYS_recvmmsg:
      return {receiver, at(&message_), 1};
    case SYS_sendto:
      return {sender, at(buffer_), 8};
    case SYS_sendmsg:
      return {sender, at(&message_)};
    case SYS_sendmmsg:
      return {sender, at(&message_), 1};
    case SYS_wait4:
      busy_.child();
      return {forever};
    case SYS_waitid:
      busy_.child();
      return {P_ALL, 0, 0, WEXITED};
    case SYS_fcntl:
      return with_locks(F_OFD_SETLKW);
    case SYS_flock:
      return with_locks(LOCK_EX);
    case SYS_semop:
    case SYS_semtimedop:
      return {number(busy_.semaphore()), at(&operation_), 1};
    case SYS_msgsnd:
      return {number(busy_.queue(true)), at(&queued_), 8};
    case SYS_msgrcv:
      return {number(busy_.queue(false)), at(&queued_), 8};
    case SYS_mq_timedsend:
      return {number(busy_.posix_queue(true)), at(buffer_), 8};
    case SYS_mq_timedreceive:
      return {number(busy_.posix_queue(false)), at(buffer_), 8};
    case SYS_rt_sigtimedwait:
      return {at(&signals_), 0, 0, sizeof signals_};
    case SYS_rt_sigsuspend:
      return {at(&signals_), sizeof signals_};
    case SYS_futex:
      return {at(&word_), FUTEX_WAIT_PRIVATE, 0};
    default:
      ADD_FAILURE() << "with which arguments does " << GetParam()->name << " wait?";
      return {};
  }
}

TEST_P(BlockingCall, ParksAsItsRowStates) {
  ASSERT_EQ(make(arguments()), SyscallOutcome::kParked) << result();
  const bool restarts = (GetParam()->effects & Effects::kNeverRestarts) == 0;
  EXPECT_EQ(self().wait->on_signal, restarts ? OnSignal::kRestart : OnSignal::kInterrupt);
}

INSTANTIATE_TEST_SUITE_P(Rows, BlockingCall, testing::ValuesIn(rows_with(Effects::kBlocks)), name_of);

class MappingCall : public EffectsTest {
 protected:
  MappingCall() { pages_ = map(0, 0, RegionUse::kMapping); }
  ~MappingCall() override {
    const auto regions = process_.memory.regions().regions();
    for (const auto& [begin, region] : regions) process_.memory.unmap(begin, region.end - begin);
    if (segment_ >= 0) shmctl(segment_, IPC_RMID, nullptr);
  }
  std::uint64_t map(std::uint64_t address, int flags, RegionUse use) {
    return static_cast<std::uint64_t>(process_.memory.map(address, kBytes, PROT_READ | PROT_WRITE,
                                                          MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0, use));
  }
  /// Arguments with which the call takes memory away.
  Arguments arguments();

  static constexpr std::uint64_t kBytes = 1u << 20;
  std::uint64_t pages_ = 0;
  int segment_ = -1;
  rlimit small_{kBytes / 2, RLIM_INFINITY};
};

Arguments MappingCall::arguments() {
  switch (GetParam()->number) {
    case SYS_mmap:
      return {pages_, kPageBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, ~0ull, 0};
    case SYS_munmap:
      return {pages_, kPageBytes};
    case SYS_mprotect:
      return {pages_, kPageBytes, PROT_READ};
    case SYS_pkey_mprotect:
      return {pages_, kPageBytes, PROT_READ, ~0ull};
    case SYS_mremap:
      return {pages_, kBytes, kPageBytes};
    case SYS_madvise:
      return {pages_, kPageBytes, MADV_DONTNEED};
    case SYS_brk:
      process_.memory.start_break(0x18000000);
      process_.memory.set_break(0x18000000 + kBytes);
      return {0x18000000};
    case SYS_shmat:
    case SYS_shmdt:
      segment_ = shmget(IPC_PRIVATE, kPageBytes, 0600);
      if (GetParam()->number == SYS_shmdt) process_.memory.attach(segment_, pages_, SHM_REMAP);
      return GetParam()->number == SYS_shmdt
                 ? Arguments{pages_}
                 : Arguments{static_cast<std::uint64_t>(segment_), pages_, SHM_REMAP};
    case SYS_setrlimit:
      map(0, 0, RegionUse::kStack);
      return {RLIMIT_STACK, at(&small_)};
    case SYS_prlimit64:
      map(0, 0, RegionUse::kStack);
      return {0, RLIMIT_STACK, at(&small_)};
    default:
      ADD_FAILURE() << "with which arguments does " << GetParam()->name << " take memory away?";
      return {};
  }
}

TEST_P(MappingCall, EndsTransactionsAsItsRowStates) {
  const Arguments values = arguments();
  const int ended = engine_.ended_transactions;
  const std::uint64_t ended_by_memory = process_.memory.ended_transactions();
  ASSERT_EQ(make(values), SyscallOutcome::kReturn);
  EXPECT_GT(engine_.ended_transactions, ended) << result();
  EXPECT_GT(process_.memory.ended_transactions(), ended_by_memory);
}

INSTANTIATE_TEST_SUITE_P(Rows, MappingCall, testing::ValuesIn(rows_that_map()), name_of);

class SilentCall : public EffectsTest {};
using SilentCallDeathTest = SilentCall;

TEST_P(SilentCallDeathTest, FailsACheckWhenItWaits) {
  Call call = call_with({});
  EXPECT_DEATH((void)park(call, Wait{}), "does not state kBlocks");
  EXPECT_DEATH((void)block_on_host(call), "does not state kBlocks");
}

INSTANTIATE_TEST_SUITE_P(Getpid, SilentCallDeathTest, testing::Values(find_system_call(SYS_getpid)), name_of);

}  // namespace
}  // namespace elision::vm
