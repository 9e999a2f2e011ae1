// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/syscalls/system_calls.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "vm/host/guest_memory.h"

namespace elision::vm {
namespace {

constexpr std::uint64_t kLast = 462;

TEST(SystemCalls, EveryNumberHasOneNamedRowWithHandler) {
  std::set<std::string> names;
  for (const SystemCall& row : system_calls()) {
    EXPECT_EQ(find_system_call(row.number), &row) << row.name;
    EXPECT_NE(row.handler, nullptr) << row.name;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
  for (std::uint64_t number = 0; number <= kLast; ++number) {
    const bool gap = number > 334 && number < 424;  // syscall_64.tbl has none there
    EXPECT_EQ(find_system_call(number) != nullptr, !gap) << number;
  }
}

TEST(SystemCalls, OthersAreUnknown) {
  for (const std::uint64_t number : {std::uint64_t{335}, std::uint64_t{423}, kLast + 1, ~std::uint64_t{0}})
    EXPECT_EQ(find_system_call(number), nullptr) << number;
}

/// The arguments that are pointers, by digits: those that the prototypes of Linux's include/linux/syscalls.h
/// call __user, and those whose meaning a command decides. Calls without any are left out, and refused ones.
const std::map<std::string, std::string> kPointers = {
    {"read", "1"},
    {"perf_event_open", "0"},
    {"process_vm_readv", "13"},
    {"write", "1"},
    {"open", "0"},
    {"stat", "01"},
    {"fstat", "1"},
    {"lstat", "01"},
    {"poll", "0"},
    {"rt_sigaction", "12"},
    {"rt_sigprocmask", "12"},
    {"ioctl", "2"},
    {"pread64", "1"},
    {"pwrite64", "1"},
    {"readv", "1"},
    {"writev", "1"},
    {"access", "0"},
    {"pipe", "0"},
    {"select", "1234"},
    {"mincore", "2"},
    {"shmat", "1"},
    {"shmctl", "2"},
    {"nanosleep", "01"},
    {"getitimer", "1"},
    {"setitimer", "12"},
    {"sendfile", "2"},
    {"connect", "1"},
    {"accept", "12"},
    {"sendto", "14"},
    {"recvfrom", "145"},
    {"sendmsg", "1"},
    {"recvmsg", "1"},
    {"bind", "1"},
    {"getsockname", "12"},
    {"getpeername", "12"},
    {"socketpair", "3"},
    {"setsockopt", "3"},
    {"getsockopt", "34"},
    {"clone", "234"},
    {"execve", "012"},
    {"wait4", "13"},
    {"uname", "0"},
    {"semop", "1"},
    {"semctl", "3"},
    {"shmdt", "0"},
    {"msgsnd", "1"},
    {"msgrcv", "1"},
    {"msgctl", "2"},
    {"fcntl", "2"},
    {"truncate", "0"},
    {"getdents", "1"},
    {"getcwd", "0"},
    {"chdir", "0"},
    {"rename", "01"},
    {"mkdir", "0"},
    {"rmdir", "0"},
    {"creat", "0"},
    {"link", "01"},
    {"unlink", "0"},
    {"symlink", "01"},
    {"readlink", "01"},
    {"chmod", "0"},
    {"chown", "0"},
    {"lchown", "0"},
    {"gettimeofday", "01"},
    {"getrlimit", "1"},
    {"getrusage", "1"},
    {"sysinfo", "0"},
    {"ptrace", "23"},
    {"times", "0"},
    {"syslog", "1"},
    {"getgroups", "1"},
    {"setgroups", "1"},
    {"getresuid", "012"},
    {"getresgid", "012"},
    {"capget", "01"},
    {"capset", "01"},
    {"rt_sigpending", "0"},
    {"rt_sigtimedwait", "012"},
    {"rt_sigqueueinfo", "2"},
    {"rt_sigsuspend", "0"},
    {"sigaltstack", "01"},
    {"utime", "01"},
    {"mknod", "0"},
    {"ustat", "1"},
    {"statfs", "01"},
    {"fstatfs", "1"},
    {"sysfs", "12"},
    {"sched_setparam", "1"},
    {"sched_getparam", "1"},
    {"sched_setscheduler", "2"},
    {"sched_rr_get_interval", "1"},
    {"pivot_root", "01"},
    {"prctl", "1"},
    {"arch_prctl", "1"},
    {"adjtimex", "0"},
    {"setrlimit", "1"},
    {"chroot", "0"},
    {"acct", "0"},
    {"mount", "0124"},
    {"umount2", "0"},
    {"sethostname", "0"},
    {"setdomainname", "0"},
    {"quotactl", "13"},
    {"setxattr", "012"},
    {"lsetxattr", "012"},
    {"fsetxattr", "12"},
    {"getxattr", "012"},
    {"lgetxattr", "012"},
    {"fgetxattr", "12"},
    {"listxattr", "01"},
    {"llistxattr", "01"},
    {"flistxattr", "1"},
    {"removexattr", "01"},
    {"lremovexattr", "01"},
    {"fremovexattr", "1"},
    {"time", "0"},
    {"futex", "034"},
    {"sched_setaffinity", "2"},
    {"sched_getaffinity", "2"},
    {"getdents64", "1"},
    {"set_tid_address", "0"},
    {"semtimedop", "13"},
    {"timer_create", "12"},
    {"timer_settime", "23"},
    {"timer_gettime", "1"},
    {"clock_settime", "1"},
    {"clock_gettime", "1"},
    {"clock_getres", "1"},
    {"clock_nanosleep", "23"},
    {"epoll_wait", "1"},
    {"epoll_ctl", "3"},
    {"utimes", "01"},
    {"mbind", "3"},
    {"set_mempolicy", "1"},
    {"get_mempolicy", "01"},
    {"mq_open", "03"},
    {"mq_unlink", "0"},
    {"mq_timedsend", "14"},
    {"mq_timedreceive", "134"},
    {"mq_notify", "1"},
    {"mq_getsetattr", "12"},
    {"waitid", "24"},
    {"add_key", "012"},
    {"request_key", "012"},
    {"keyctl", "1234"},
    {"inotify_add_watch", "1"},
    {"migrate_pages", "23"},
    {"openat", "1"},
    {"mkdirat", "1"},
    {"mknodat", "1"},
    {"fchownat", "1"},
    {"futimesat", "12"},
    {"newfstatat", "12"},
    {"unlinkat", "1"},
    {"renameat", "13"},
    {"linkat", "13"},
    {"symlinkat", "02"},
    {"readlinkat", "12"},
    {"fchmodat", "1"},
    {"faccessat", "1"},
    {"pselect6", "12345"},
    {"ppoll", "023"},
    {"set_robust_list", "0"},
    {"get_robust_list", "12"},
    {"splice", "13"},
    {"vmsplice", "1"},
    {"move_pages", "234"},
    {"utimensat", "12"},
    {"epoll_pwait", "14"},
    {"signalfd", "1"},
    {"timerfd_settime", "23"},
    {"timerfd_gettime", "1"},
    {"accept4", "12"},
    {"signalfd4", "1"},
    {"pipe2", "0"},
    {"preadv", "1"},
    {"pwritev", "1"},
    {"rt_tgsigqueueinfo", "3"},
    {"recvmmsg", "14"},
    {"fanotify_mark", "4"},
    {"prlimit64", "23"},
    {"name_to_handle_at", "123"},
    {"open_by_handle_at", "1"},
    {"clock_adjtime", "1"},
    {"sendmmsg", "1"},
    {"getcpu", "012"},
    {"kcmp", "4"},
    {"sched_setattr", "1"},
    {"sched_getattr", "1"},
    {"renameat2", "13"},
    {"getrandom", "0"},
    {"memfd_create", "0"},
    {"execveat", "123"},
    {"copy_file_range", "13"},
    {"preadv2", "1"},
    {"pwritev2", "1"},
    {"statx", "14"},
    {"pidfd_send_signal", "2"},
    {"open_tree", "1"},
    {"move_mount", "13"},
    {"fsopen", "0"},
    {"fsconfig", "23"},
    {"fspick", "1"},
    {"clone3", "0"},
    {"openat2", "12"},
    {"faccessat2", "1"},
    {"process_madvise", "1"},
    {"epoll_pwait2", "134"},
    {"mount_setattr", "13"},
    {"quotactl_fd", "3"},
    {"cachestat", "12"},
    {"fchmodat2", "1"},
    {"statmount", "01"},
    {"listmount", "01"},
    {"lsm_get_self_attr", "12"},
    {"lsm_list_modules", "01"},
};

std::string stated_pointers(const SystemCall& row) {
  std::set<char> arguments;
  for (const Memory& memory : row.memory) {
    arguments.insert(static_cast<char>('0' + memory.argument));
    if (memory.kind == Memory::Kind::kValueResult) arguments.insert(static_cast<char>('0' + memory.count));
  }
  return {arguments.begin(), arguments.end()};
}

TEST(SystemCalls, EveryRowStatesTheMemoryOfEveryPointer) {
  for (const SystemCall& row : system_calls()) {
    const auto expected = kPointers.find(row.name);
    EXPECT_EQ(stated_pointers(row), expected != kPointers.end() ? expected->second : "") << row.name;
  }
}

std::string shown(const GuestRanges& ranges) {
  std::string text;
  for (const GuestRange& range : ranges.list) {
    constexpr const char* kExtents[] = {"", "result ", "perhaps "};
    text += std::string(text.empty() ? "" : ", ") + kExtents[static_cast<int>(range.extent)] +
            (range.write ? "w" : "r") + std::to_string(range.address) + "+" + std::to_string(range.size);
  }
  return text;
}

std::string ranges_of(unsigned number, const CallArguments& arguments) {
  GuestRanges ranges;
  for (const Memory& memory : find_system_call(number)->memory) resolve(memory, arguments, ranges);
  return ranges.everything ? "everything" : shown(ranges);
}

std::uint64_t at(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

TEST(CallMemory, LengthsComeFromArgumentsAndFromMemory) {
  EXPECT_EQ(ranges_of(SYS_read, {3, 1000, 20}), "result w1000+20");
  EXPECT_EQ(ranges_of(SYS_write, {3, 1000, 20}), "r1000+20");
  EXPECT_EQ(ranges_of(SYS_read, {3, 0, 20}), "");
  EXPECT_EQ(ranges_of(SYS_poll, {1000, 3}), "w1000+24");
  EXPECT_EQ(ranges_of(SYS_mincore, {0, 4097, 1000}), "w1000+2");
  EXPECT_EQ(ranges_of(SYS_set_mempolicy, {0, 1000, 65}), "r1000+16");
  const std::uint32_t length = 28;
  EXPECT_EQ(ranges_of(SYS_getsockname, {3, 1000, at(&length)}),
            "w" + std::to_string(at(&length)) + "+4, perhaps w1000+28");
  EXPECT_EQ(ranges_of(SYS_epoll_pwait, {3, 1000, ~0ull}), "result w1000+18446744073709551615")
      << "no overflow";
}

TEST(CallMemory, VectorsAndMessagesAreFollowed) {
  const iovec vectors[] = {
      {reinterpret_cast<void*>(1000), 8}, {nullptr, 0}, {reinterpret_cast<void*>(2000), 16}};
  EXPECT_EQ(ranges_of(SYS_readv, {3, at(vectors), 3}), "result w1000+8, result w2000+16");
  EXPECT_EQ(ranges_of(SYS_pwritev2, {3, at(vectors), 3}), "r1000+8, r2000+16");
  EXPECT_EQ(ranges_of(SYS_vmsplice, {3, at(vectors), 1}), "perhaps w1000+8");
  msghdr message{};
  message.msg_name = reinterpret_cast<void*>(3000);
  message.msg_namelen = 16;
  message.msg_iov = const_cast<iovec*>(vectors);
  message.msg_iovlen = 1;
  const std::string header = "w" + std::to_string(at(&message)) + "+56, ";
  EXPECT_EQ(ranges_of(SYS_recvmsg, {3, at(&message)}), header + "perhaps w3000+16, result w1000+8");
  EXPECT_EQ(ranges_of(SYS_sendmsg, {3, at(&message)}), "r3000+16, r1000+8");
}

TEST(CallMemory, CommandsDecide) {
  EXPECT_EQ(ranges_of(SYS_fcntl, {3, 5 /* F_GETLK */, 1000}), "w1000+32");
  EXPECT_EQ(ranges_of(SYS_fcntl, {3, 4 /* F_SETFL */, 1000}), "");
  EXPECT_EQ(ranges_of(SYS_ioctl, {3, 0x541b /* FIONREAD */, 1000}), "w1000+4");
  EXPECT_EQ(ranges_of(SYS_ioctl, {3, 0x80045430 /* TIOCGPTN */, 1000}), "w1000+4");
  EXPECT_EQ(ranges_of(SYS_ioctl, {3, 0x8912 /* SIOCGIFCONF */, 10000}), "everything");
  EXPECT_EQ(ranges_of(SYS_ioctl, {3, 0x8912, 0}), "") << "no pointer";
  EXPECT_EQ(ranges_of(SYS_prctl, {2 /* PR_GET_PDEATHSIG */, 1000}), "w1000+4");
  EXPECT_EQ(ranges_of(SYS_prctl, {1 /* PR_SET_PDEATHSIG */, 9}), "");
}

/// Notes what the door is opened for.
class NotingDoor final : public GuestDoor {
 public:
  NotingDoor() { set_guest_door(this); }
  ~NotingDoor() { set_guest_door(nullptr); }
  void open(std::uint64_t address, std::uint64_t size, bool write) override {
    noted.add(address, size, write);
  }
  GuestRanges noted;
};

TEST(GuestMemory, EveryAccessGoesThroughTheDoor) {
  NotingDoor door;
  std::uint32_t word = 1;
  const char* const text = "four";
  (void)load_guest<std::uint32_t>(at(&word));
  (void)store_guest(at(&word), 2u);
  (void)compare_exchange_guest(at(&word), 2, 3);
  EXPECT_EQ(load_guest_string(at(text)), "four");
  EXPECT_EQ(word, 3u);
  const std::string w = std::to_string(at(&word)), t = std::to_string(at(text));
  EXPECT_EQ(shown(door.noted), "r" + w + "+4, w" + w + "+4, w" + w + "+4, r" + t + "+5");
}

}  // namespace
}  // namespace elision::vm
