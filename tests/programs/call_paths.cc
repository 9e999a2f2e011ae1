// SPDX-License-Identifier: Apache-2.0
// Threads at locks on known call paths, which say how long they were there.
//
//   call_paths sections SECONDS  two threads hold a lock each, in long_section() three times as long as in
//                                short_section(), until each has used so much CPU time; prints both times
//   call_paths waits SECONDS     one thread waits in wait_for_turn(), another holds the lock asleep; prints
//                                the time waited
//   call_paths resets SECONDS    as sections, but SIGURG does first what it does by default
//   call_paths handles SECONDS   as sections, but SIGURG has a handler of the program; prints how often it
//                                ran
//   call_paths threads COUNT     as many threads, one after the other; prints the timers of the process
//   call_paths forks SECONDS     as sections, in a child process
//   call_paths makes SECONDS     as sections, but both are called by code that is made at run time, which
//                                /tmp/perf-PID.map names "made code"; prints the process's number
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace {

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
double cpu_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

struct alignas(64) Place {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  double in_short = 0, in_long = 0;
};

void spin(int rounds) {
  for (int i = 0; i < rounds; ++i) asm volatile("");
}

constexpr int kRounds = 20'000;

[[gnu::noinline]] void short_section(Place& place) {
  pthread_mutex_lock(&place.lock);
  spin(kRounds);
  pthread_mutex_unlock(&place.lock);
  asm volatile("");
}

[[gnu::noinline]] void long_section(Place& place) {
  pthread_mutex_lock(&place.lock);
  spin(3 * kRounds);
  pthread_mutex_unlock(&place.lock);
  asm volatile("");
}

[[gnu::noinline]] void work(Place& place, double seconds) {
  while (place.in_short + place.in_long < seconds) {
    const double begin = cpu_seconds();
    short_section(place);
    const double between = cpu_seconds();
    long_section(place);
    place.in_short += between - begin;
    place.in_long += cpu_seconds() - between;
  }
}

int sections(double seconds) {
  Place places[2];
  std::thread other([&] {
    pthread_setname_np(pthread_self(), "other");
    work(places[1], seconds);
  });
  work(places[0], seconds);
  other.join();
  std::printf("short %.6f\nlong %.6f\n", places[0].in_short + places[1].in_short,
              places[0].in_long + places[1].in_long);
  return 0;
}

pthread_mutex_t awaited = PTHREAD_MUTEX_INITIALIZER;
std::atomic<int> held{0}, asked{0}, got{0};  // the round
std::atomic<bool> done{false};

/// With a frame of unknown size, so that its caller is found by the frame pointer.
bool errno_is_kept = true;

[[gnu::noinline]] double wait_for_turn(int round) {
  void* volatile frame = __builtin_alloca(static_cast<std::size_t>(16 + round % 16 * 16));
  (void)frame;
  const double begin = seconds_of(CLOCK_MONOTONIC);
  asked = round;
  errno = ENOTSUP;
  pthread_mutex_lock(&awaited);
  errno_is_kept &= errno == ENOTSUP;
  const double waited = seconds_of(CLOCK_MONOTONIC) - begin;
  pthread_mutex_unlock(&awaited);
  return waited;
}

void await(const std::atomic<int>& number, int round) {
  while (number < round && !done) sched_yield();
}

/// Asleep while it holds the lock, so that the other thread sleeps, too.
void hold_again_and_again() {
  constexpr useconds_t kHeldUs = 5'000;
  for (int round = 1; !done; ++round) {
    pthread_mutex_lock(&awaited);
    held = round;
    await(asked, round);
    usleep(kHeldUs);
    pthread_mutex_unlock(&awaited);
    await(got, round);
  }
}

using Wait = double (*)(int round);
using CallWait = double (*)(Wait wait, int round);

/// Behind half of the time, the waits are called by `caller_of_second_half()`.
template <class Caller>
double wait_again_and_again(double seconds, Caller caller_of_second_half) {
  double waited = 0;
  CallWait caller = nullptr;
  for (int round = 1; waited < seconds; ++round) {
    await(held, round);
    if (caller == nullptr && waited > seconds / 2) caller = caller_of_second_half();
    waited += caller != nullptr ? caller(wait_for_turn, round) : wait_for_turn(round);
    got = round;
  }
  return waited;
}

CallWait from_library() {
  const std::string own = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  void* const library = dlopen((own + "/libcall_paths_loaded.so").c_str(), RTLD_NOW);
  if (library == nullptr) std::abort();
  return reinterpret_cast<CallWait>(dlsym(library, "wait_in_library"));
}

int waits(double seconds, CallWait (*caller_of_second_half)()) {
  std::thread holder(hold_again_and_again);
  const double waited = wait_again_and_again(seconds, caller_of_second_half);
  done = true;
  holder.join();
  std::printf("waited %.6f\n", waited);
  return 0;
}

/// The kernel answers EPERM.
void forbid_reads_of_memory() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{4, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) std::abort();
}

int sandboxed(double seconds) {
  forbid_reads_of_memory();
  std::thread holder(hold_again_and_again);
  wait_again_and_again(
      seconds, +[]() -> CallWait { return nullptr; });
  done = true;
  holder.join();
  std::puts(errno_is_kept ? "errno kept" : "errno changed");
  return 0;
}

void block_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGURG);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

bool leader_is_gone() {
  std::ifstream stat("/proc/self/stat");
  std::string text;
  std::getline(stat, text);
  return text.find(") Z") != std::string::npos;
}

/// main() ends first.
[[noreturn]] void leave(double seconds) {
  std::thread([seconds] {
    while (!leader_is_gone()) sched_yield();
    const int status = sections(seconds);
    std::exit(status);
  }).detach();
  pthread_exit(nullptr);
}

std::atomic<unsigned> handled{0};

int threads(int count) {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  for (int i = 0; i < count; ++i)
    std::thread([&] {
      pthread_mutex_lock(&lock);
      pthread_mutex_unlock(&lock);
    }).join();
  std::ifstream timers("/proc/self/timers");
  unsigned found = 0;
  for (std::string line; std::getline(timers, line);) found += line.starts_with("ID:");
  std::printf("timers %u\n", found);
  return 0;
}

/// As a compiler at run time does: PUSH RBP; MOV RBP, RSP; MOV RAX, work; CALL RAX; POP RBP; RET.
int makes(double seconds) {
  constexpr std::size_t kBytes = 4096;
  std::uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3};
  const auto callee = reinterpret_cast<std::uint64_t>(&work);
  std::memcpy(code + 6, &callee, sizeof callee);
  void* const made = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return 1;
  std::memcpy(made, code, sizeof code);
  if (mprotect(made, kBytes, PROT_READ | PROT_EXEC) != 0) return 1;
  std::ofstream("/tmp/perf-" + std::to_string(getpid()) + ".map")
      << std::hex << reinterpret_cast<std::uint64_t>(made) << ' ' << sizeof code << " made code\n";
  Place place;
  reinterpret_cast<decltype(&work)>(made)(place, seconds);
  std::printf("long %f\nshort %f\nprocess %d\n", place.in_long, place.in_short, getpid());
  return 0;
}

int in_child(double seconds) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) return sections(seconds);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  const std::string mode = words[1];
  const double number = std::atof(words[2]);
  if (mode == "sections") return sections(number);
  if (mode == "waits") return waits(number, [] { return CallWait{}; });
  if (mode == "loads") return waits(number, from_library);
  if (mode == "sandboxed") return sandboxed(number);
  if (mode == "leaves") leave(number);
  if (mode == "blocks") {
    block_signal();
    return sections(number);
  }
  if (mode == "threads") return threads(static_cast<int>(number));
  if (mode == "forks") return in_child(number);
  if (mode == "makes") return makes(number);
  if (mode == "resets") {
    signal(SIGURG, SIG_DFL);
    return sections(number);
  }
  if (mode == "handles") {
    signal(SIGURG, [](int) { ++handled; });
    const int status = sections(number);
    std::printf("handled %u\n", handled.load());
    return status;
  }
  return 2;
}
