// SPDX-License-Identifier: Apache-2.0
// A program that works for a while before it has a second thread, with locks and a file that it reads:
//   beginnings THREADS SECTIONS ROUNDS [OBSTACLE]
// The obstacle is what keeps copies of the process from running on by themselves. Prints the sum of all
// sections, and both halves of its file.
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
pthread_barrier_t barrier;
volatile unsigned long sum = 0;

void section() {
  pthread_mutex_lock(&mutex);
  sum = sum + 1;
  pthread_mutex_unlock(&mutex);
}

void read_section() {
  pthread_rwlock_rdlock(&rwlock);
  if (sum == 0) std::abort();
  pthread_rwlock_unlock(&rwlock);
}

/// The locks are used before there is a second thread, and are free.
void work(unsigned long rounds) {
  unsigned long x = 1;
  for (unsigned long i = 0; i < rounds; ++i) {
    for (int j = 0; j < 1000; ++j) x = x * 6364136223846793005UL + 1;
    section();
    pthread_rwlock_wrlock(&rwlock);
    sum = sum + (x == 0);
    pthread_rwlock_unlock(&rwlock);
    read_section();
  }
}

void meet(const std::string& obstacle) {
  if (obstacle == "lock") pthread_mutex_lock(&held);
  if (obstacle == "file") (void)!write(open("beginnings.out", O_WRONLY | O_CREAT | O_TRUNC, 0600), "x", 1);
  if (obstacle == "memory") mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (obstacle == "thread") std::thread([] { section(); }).join();
  if (obstacle == "output") (void)!freopen("/dev/null", "w", stdout);
  if (obstacle == "input") {
    char byte;
    (void)!read(STDIN_FILENO, &byte, 1);
  }
  if (obstacle == "mapped input") mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, STDIN_FILENO, 0);
  if (obstacle == "position") lseek(STDIN_FILENO, 1, SEEK_CUR);
  if (obstacle == "limit") {
    rlimit limit;
    prlimit(getppid(), RLIMIT_CORE, nullptr, &limit);
    prlimit(getppid(), RLIMIT_CORE, &limit, nullptr);
  }
  if (obstacle == "program") execl("/bin/true", "true", nullptr);
  if (obstacle == "pipe") {
    int ends[2];
    (void)!pipe(ends);
  }
  if (obstacle == "event") {
    perf_event_attr attr{};
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_TASK_CLOCK;
    syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
  }
  if (obstacle == "process") {
    if (fork() == 0) _exit(0);
    wait(nullptr);
  }
  if (obstacle == "condition") {
    timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&condition, &mutex, &soon);
    pthread_mutex_unlock(&mutex);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int threads = std::atoi(argv[1]), sections = std::atoi(argv[2]);
  const std::string obstacle = argc > 4 ? argv[4] : "";
  const int file = open("/proc/self/exe", O_RDONLY);
  char first[4], second[4];
  (void)!read(file, first, sizeof first);
  std::printf("begins with %c%c%c\n", first[1], first[2], first[3]);
  std::fflush(stdout);
  if (isatty(file)) return 2;
  syscall(SYS_io_uring_setup, 0, nullptr);  // fails, so it has no effect
  meet(obstacle);
  work(std::strtoul(argv[3], nullptr, 10));
  if (obstacle == "lock") pthread_mutex_unlock(&held);
  pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(threads));
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back([sections] {
      pthread_barrier_wait(&barrier);
      for (int j = 0; j < sections; ++j) {
        section();
        read_section();
      }
    });
  for (std::thread& thread : all) thread.join();
  (void)!read(file, second, sizeof second);
  std::printf("sum %lu, class %d\n", sum, second[0]);
  return std::memcmp(first, "\177ELF", 4) == 0 ? 0 : 1;
}
