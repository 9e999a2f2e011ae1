// SPDX-License-Identifier: Apache-2.0
// Transactions are isolated from the kernel as from other CPUs. A system call of another thread that writes
// memory aborts transactions that have read it; a call that reads memory aborts those that have written it.
// One row per call, each on one word. Only for the virtual CPU: silicon has no table of calls that could be
// wrong.
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>

#include <cerrno>
#include <string>

#include "rtm_rules.h"

namespace {

using namespace rules;

Page page, second;

/// The files of the calls, opened once.
struct Files {
  int zero = open("/dev/zero", O_RDWR);
  int null = open("/dev/null", O_RDWR);
  int memory = memfd_create("rtm", 0);
  int other_memory = memfd_create("rtm", 0);
  int folder = open("/", O_RDONLY | O_DIRECTORY);
  int event = eventfd(1, EFD_NONBLOCK);
  int epoll = epoll_create1(0);
  int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  int stream[2], datagrams[2], pipe[2];

  Files() {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, stream) != 0 ||
        socketpair(AF_UNIX, SOCK_DGRAM, 0, datagrams) != 0 || ::pipe(pipe) != 0 ||
        ftruncate(memory, 1l << 40) != 0 || ftruncate(other_memory, 65536) != 0)
      std::perror("files");
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wanted);
  }
};
Files files;

using Word = volatile std::uint64_t;
void* pointer(Word& word) { return const_cast<std::uint64_t*>(&word); }
iovec vector_of(Word& word) { return {pointer(word), 8}; }

/// Sends a datagram to be received.
void send_one() {
  const char byte = 0;
  syscall(SYS_sendto, files.datagrams[0], &byte, 1, 0, nullptr, 0);
}

long receive_message(Word& word) {
  send_one();
  iovec piece = vector_of(word);
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  return syscall(SYS_recvmsg, files.datagrams[1], &message, 0);
}
long receive_messages(Word& word) {
  send_one();
  iovec piece = vector_of(word);
  mmsghdr message{};
  message.msg_hdr.msg_iov = &piece;
  message.msg_hdr.msg_iovlen = 1;
  return syscall(SYS_recvmmsg, files.datagrams[1], &message, 1, 0, nullptr);
}
template <class Call>
long with_vector(Word& word, Call call) {
  iovec piece = vector_of(word);
  return call(&piece);
}
/// Passes a pointer to a length, as some calls need.
template <class Call>
long with_length(Call call) {
  socklen_t length = 8;
  return call(&length);
}
long send_message(Word& word, long number) {
  char received[16];
  iovec piece = vector_of(word);
  mmsghdr message{};
  message.msg_hdr.msg_iov = &piece;
  message.msg_hdr.msg_iovlen = 1;
  const long sent = syscall(number, files.datagrams[0], &message, number == SYS_sendmmsg ? 1 : 0, 0);
  syscall(SYS_recvfrom, files.datagrams[1], received, sizeof received, 0, nullptr, nullptr);
  return sent;
}
long receive_after_write(Word& word) {
  const char byte = 0;
  syscall(SYS_write, files.pipe[1], &byte, 1);
  return syscall(SYS_read, files.pipe[0], pointer(word), 8);
}
long write_to_pipe(Word& word) {
  char received[16];
  iovec piece = vector_of(word);
  const long written = syscall(SYS_writev, files.pipe[1], &piece, 1);
  syscall(SYS_read, files.pipe[0], received, sizeof received);
  return written;
}
long make_and_close(Word& word, long number) {
  const long result = number == SYS_pipe2 ? syscall(SYS_pipe2, pointer(word), 0)
                                          : syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, pointer(word));
  const std::uint64_t both = word;
  close(static_cast<int>(both));
  close(static_cast<int>(both >> 32));
  return result;
}
/// The word is a file offset that the call advances.
long copy_range(Word& word, long number) {
  std::uint64_t to = 0;
  char rest[16];
  if (number == SYS_sendfile) return syscall(number, files.null, files.memory, pointer(word), 8);
  if (number == SYS_copy_file_range)
    return syscall(number, files.memory, pointer(word), files.other_memory, &to, 8, 0);
  const long result = syscall(number, files.memory, pointer(word), files.pipe[1], nullptr, 8, 0);
  syscall(SYS_read, files.pipe[0], rest, sizeof rest);
  return result;
}

struct Row {
  const char* name;
  std::function<long(Word&)> call;
};

// Rows access the word only by their call, since a plain access would abort the transaction too.
#define WORD pointer(w)
#define W(name, ...)                                  \
  {                                                   \
    name, [](Word& w) -> long { return __VA_ARGS__; } \
  }

/// Calls that write the word.
const Row kWriters[] = {
    W("read", syscall(SYS_read, files.zero, WORD, 8)),
    W("pread64", syscall(SYS_pread64, files.memory, WORD, 8, 0)),
    W("readv", with_vector(w, [](iovec* v) { return syscall(SYS_readv, files.zero, v, 1); })),
    W("preadv", with_vector(w, [](iovec* v) { return syscall(SYS_preadv, files.memory, v, 1, 0, 0); })),
    W("preadv2", with_vector(w, [](iovec* v) { return syscall(SYS_preadv2, files.memory, v, 1, 0, 0, 0); })),
    W("read of a pipe", receive_after_write(w)),
    W("recvmsg", receive_message(w)),
    W("recvmmsg", receive_messages(w)),
    W("recvfrom", (send_one(), syscall(SYS_recvfrom, files.datagrams[1], WORD, 8, 0, nullptr, nullptr))),
    W("getsockopt", with_length([&](socklen_t* n) {
        return syscall(SYS_getsockopt, files.stream[0], SOL_SOCKET, SO_TYPE, WORD, n);
      })),
    W("getsockname",
      with_length([&](socklen_t* n) { return syscall(SYS_getsockname, files.stream[0], WORD, n); })),
    W("getpeername",
      with_length([&](socklen_t* n) { return syscall(SYS_getpeername, files.stream[0], WORD, n); })),
    W("socketpair", make_and_close(w, SYS_socketpair)),
    W("pipe2", make_and_close(w, SYS_pipe2)),
    W("fstat", syscall(SYS_fstat, files.memory, WORD)),
    W("stat", syscall(SYS_stat, "/", WORD)),
    W("newfstatat", syscall(SYS_newfstatat, AT_FDCWD, "/", WORD, 0)),
    W("statx", syscall(SYS_statx, AT_FDCWD, "/", 0, STATX_BASIC_STATS, WORD)),
    W("statfs", syscall(SYS_statfs, "/", WORD)),
    W("fstatfs", syscall(SYS_fstatfs, files.memory, WORD)),
    W("getdents64", (lseek(files.folder, 0, SEEK_SET), syscall(SYS_getdents64, files.folder, WORD, 512))),
    W("getcwd", syscall(SYS_getcwd, WORD, 4096)),
    W("readlink", syscall(SYS_readlink, "/proc/self/fd/0", WORD, 8)),
    W("poll", syscall(SYS_poll, WORD, 1, 0)),
    W("select", syscall(SYS_select, 1, WORD, nullptr, nullptr, second.word)),
    W("epoll_wait", syscall(SYS_epoll_wait, files.epoll, WORD, 4, 0)),
    W("times", syscall(SYS_times, WORD)),
    W("getrusage", syscall(SYS_getrusage, RUSAGE_SELF, WORD)),
    W("sysinfo", syscall(SYS_sysinfo, WORD)),
    W("uname", syscall(SYS_uname, WORD)),
    W("getrlimit", syscall(SYS_getrlimit, RLIMIT_NOFILE, WORD)),
    W("prlimit64", syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, WORD)),
    W("getitimer", syscall(SYS_getitimer, ITIMER_REAL, WORD)),
    W("timerfd_gettime", syscall(SYS_timerfd_gettime, files.timer, WORD)),
    W("clock_gettime", syscall(SYS_clock_gettime, CLOCK_MONOTONIC, WORD)),
    W("gettimeofday", syscall(SYS_gettimeofday, WORD, nullptr)),
    W("sched_getaffinity", syscall(SYS_sched_getaffinity, 0, 128, WORD)),
    W("sched_getparam", syscall(SYS_sched_getparam, 0, WORD)),
    W("sched_getattr", syscall(SYS_sched_getattr, 0, WORD, 48, 0)),
    W("getresuid", syscall(SYS_getresuid, WORD, second.word, second.word + 1)),
    W("sigaltstack", syscall(SYS_sigaltstack, nullptr, WORD)),
    W("rt_sigaction", syscall(SYS_rt_sigaction, SIGUSR1, nullptr, WORD, 8)),
    W("rt_sigprocmask", syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, WORD, 8)),
    W("rt_sigpending", syscall(SYS_rt_sigpending, WORD, 8)),
    W("getrandom", syscall(SYS_getrandom, WORD, 8, 0)),
    W("mincore", syscall(SYS_mincore, second.word, 4096, WORD)),
    W("sendfile", copy_range(w, SYS_sendfile)),
    W("copy_file_range", copy_range(w, SYS_copy_file_range)),
    W("splice", copy_range(w, SYS_splice)),
    W("ioctl", syscall(SYS_ioctl, files.pipe[0], FIONREAD, WORD)),
    W("fcntl", syscall(SYS_fcntl, files.memory, F_GETLK, WORD)),
    W("prctl, a name", syscall(SYS_prctl, PR_GET_NAME, WORD)),
    W("prctl, a signal", syscall(SYS_prctl, PR_GET_PDEATHSIG, WORD)),
    W("capget", (second.word[0] = _LINUX_CAPABILITY_VERSION_3, syscall(SYS_capget, second.word, WORD))),
    W("futex", syscall(SYS_futex, second.word, FUTEX_WAKE_OP, 0, 0, WORD, FUTEX_OP(FUTEX_OP_SET, 0, 0, 0))),
    W("get_robust_list", syscall(SYS_get_robust_list, 0, WORD, second.word)),
    W("eventfd", (eventfd_write(files.event, 1), syscall(SYS_read, files.event, WORD, 8))),
};

/// Calls that read the word, which is 0.
const Row kReaders[] = {
    W("write", syscall(SYS_write, files.null, WORD, 8)),
    W("pwrite64", syscall(SYS_pwrite64, files.memory, WORD, 8, 0)),
    W("writev", with_vector(w, [](iovec* v) { return syscall(SYS_writev, files.null, v, 1); })),
    W("pwritev", with_vector(w, [](iovec* v) { return syscall(SYS_pwritev, files.memory, v, 1, 0, 0); })),
    W("pwritev2",
      with_vector(w, [](iovec* v) { return syscall(SYS_pwritev2, files.memory, v, 1, 0, 0, 0); })),
    W("writev to a pipe", write_to_pipe(w)),
    W("sendmsg", send_message(w, SYS_sendmsg)),
    W("sendmmsg", send_message(w, SYS_sendmmsg)),
    W("setsockopt", syscall(SYS_setsockopt, files.stream[0], SOL_SOCKET, SO_KEEPALIVE, WORD, 4)),
    W("a path", syscall(SYS_access, WORD, 0) == -1 && errno == ENOENT ? 0 : -1),
    W("a path behind a descriptor",
      syscall(SYS_unlinkat, AT_FDCWD, WORD, 0) == -1 && errno == ENOENT ? 0 : -1),
    W("a vector", syscall(SYS_writev, files.null, WORD, 1)),
    W("nanosleep", syscall(SYS_nanosleep, WORD, nullptr)),
    W("utimensat", syscall(SYS_utimensat, files.memory, nullptr, WORD, 0)),
    W("select", syscall(SYS_select, 1, nullptr, WORD, nullptr, second.word)),
    W("epoll_ctl", syscall(SYS_epoll_ctl, files.epoll, EPOLL_CTL_MOD, files.timer, WORD) == -1 ? 0 : -1),
    W("rt_sigprocmask", syscall(SYS_rt_sigprocmask, SIG_BLOCK, WORD, nullptr, 8)),
    W("setitimer", syscall(SYS_setitimer, ITIMER_VIRTUAL, WORD, nullptr)),
    W("timerfd_settime", syscall(SYS_timerfd_settime, files.timer, 0, WORD, nullptr)),
    W("futex", syscall(SYS_futex, WORD, FUTEX_WAIT, 1, nullptr) == -1 && errno == EAGAIN ? 0 : -1),
    W("ioctl", syscall(SYS_ioctl, files.pipe[0], FIONBIO, WORD)),
    W("prctl", syscall(SYS_prctl, PR_SET_NAME, WORD)),
};

/// A transaction accesses the word by `mine` and runs for ever. The call of another thread must abort it with
/// a conflict. Names the calls that did not.
template <class Mine>
const char* each_ends(std::span<const Row> rows, Mine mine) {
  constexpr int kEnds = 10;
  std::string without;
  for (const Row& row : rows) {
    for (Word& word : page.word) word = 0;
    second.word[0] = 0;
    second.word[1] = 0;
    errno = 0;
    if (row.call(page.word[0]) < 0) return seen("%s: %s", row.name, std::strerror(errno));
    Other other([&] { row.call(page.word[0]); });
    int conflicts = 0;
    for (int i = 0; conflicts == 0 && i < kEnds; ++i) {
      const Status status = Rtm::begin();
      if (status.started()) {
        mine(page.word[0]);
        for (;;) asm volatile("");
      }
      conflicts += (status.raw & Status::kConflictBit) != 0;
    }
    if (conflicts == 0) without += (without.empty() ? "" : ", ") + std::string(row.name);
  }
  return without.empty() ? nullptr : seen("not ended by %s", without.c_str());
}

const char* writers_end_readers() {
  return each_ends(kWriters, [](Word& word) { load(word); });
}
const char* writers_end_writers() {
  return each_ends(kWriters, [](Word& word) { word = 0; });
}
const char* readers_end_writers() {
  return each_ends(kReaders, [](Word& word) { word = 0; });
}

/// While this lives, another thread repeats transactions that write `value` to the word, wait, and abort.
class AbortedWriter {
 public:
  explicit AbortedWriter(std::uint64_t value)
      : other_([value] {
          if (!Rtm::begin().started()) return;
          page.word[0] = value;
          for (unsigned i = 0; i < 1000; ++i) asm volatile("");
          Rtm::abort<1>();
        }) {}

 private:
  Other other_;
};

/// The rollback of an earlier transactional store does not overwrite the data of a call.
const char* written_stays() {
  AbortedWriter writer(1);
  for (std::uint64_t value = 2; value < kTries; ++value) {
    if (pwrite(files.memory, &value, sizeof value, 0) != 8) return "pwrite";
    iovec piece = vector_of(page.word[0]);
    if (syscall(SYS_preadv, files.memory, &piece, 1, 0, 0) != 8) return "preadv";
    if (const std::uint64_t now = page.word[0]; now != value)
      return seen("%llu where the call wrote %llu", static_cast<unsigned long long>(now),
                  static_cast<unsigned long long>(value));
  }
  return nullptr;
}

/// Data of an aborted transaction reaches no file.
const char* read_is_committed() {
  page.word[0] = 0;
  AbortedWriter writer(1);
  for (int i = 0; i < kTries; ++i) {
    std::uint64_t value = 2;
    iovec piece = vector_of(page.word[0]);
    if (syscall(SYS_pwritev, files.memory, &piece, 1, 0, 0) != 8) return "pwritev";
    if (pread(files.memory, &value, sizeof value, 0) != 8) return "pread";
    if (value != 0) return seen("the file has %llu", static_cast<unsigned long long>(value));
  }
  return nullptr;
}

/// A call that waits writes at the end of its wait, perhaps long after it began.
const char* late_results() {
  int pipe[2];
  if (pipe2(pipe, 0) != 0 || fcntl(pipe[1], F_SETFL, O_NONBLOCK) != 0) return "pipe";
  Other writer([&] {
    const std::uint64_t value = 0;
    for (unsigned i = 0; i < 1000; ++i) asm volatile("");
    (void)!write(pipe[1], &value, sizeof value);
  });
  Other reader([&] {
    iovec piece = vector_of(page.word[0]);
    syscall(SYS_readv, pipe[0], &piece, 1);
  });
  int conflicts = 0;
  for (int i = 0; conflicts < 5 && i < 50; ++i) {
    const Status status = Rtm::begin();
    if (status.started()) {
      load(page.word[0]);
      for (;;) asm volatile("");
    }
    conflicts += (status.raw & Status::kConflictBit) != 0;
  }
  return conflicts >= 5 ? nullptr : seen("%d conflicts", conflicts);
}

/// A call that fills a part of its buffer conflicts with readers of that part, and not with readers of other
/// parts.
const char* short_read() {
  constexpr unsigned kTransactions = 20;
  static Page buffer;
  for (Word& word : buffer.word) word = 0;
  unsigned conflicts[2] = {};
  Other other([] {
    const char byte = 0;
    syscall(SYS_write, files.pipe[1], &byte, 1);
    syscall(SYS_read, files.pipe[0], pointer(buffer.word[0]), sizeof buffer);
  });
  for (const bool at_start : {false, true})
    for (unsigned i = 0; i < kTransactions; ++i) {
      const Status status = Rtm::begin();
      if (status.started()) {
        load(buffer.word[at_start ? 0 : 256]);
        for (unsigned j = 0; j < 20000; ++j) asm volatile("");
        Rtm::commit();
      }
      conflicts[at_start] += (status.raw & Status::kConflictBit) != 0 && !status.started();
    }
  if (conflicts[0] != 0) return seen("%u conflicts of %u behind what is read", conflicts[0], kTransactions);
  return conflicts[1] != 0 ? nullptr : "no conflict with what is read";
}

const Case kCases[] = {
    {"a system call that writes ends readers", "17.3.9.2", Where::kTwoVirtualCpus, writers_end_readers},
    {"a system call that writes ends writers", "17.3.9.2", Where::kTwoVirtualCpus, writers_end_writers},
    {"a system call that reads ends writers", "17.3.9.2", Where::kTwoVirtualCpus, readers_end_writers},
    {"no rollback takes back what a system call wrote", "17.3.9.2", Where::kTwoVirtualCpus, written_stays},
    {"no system call reads what never was committed", "17.3.9.2", Where::kTwoVirtualCpus, read_is_committed},
    {"a short read ends no readers behind what it fills", "17.3.9.2", Where::kTwoVirtualCpus, short_read},
    {"a system call that waited ends readers as it ends", "17.3.9.2", Where::kTwoVirtualCpus, late_results},
};

}  // namespace

int main(int argc, char** argv) {
  // Page faults at the first accesses would abort transactions.
  page.word[0] = 0;
  second.word[0] = 0;
  return rules::run(argc, argv, kCases);
}
