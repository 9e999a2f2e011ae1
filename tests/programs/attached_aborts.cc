// SPDX-License-Identifier: Apache-2.0
// A program for a profiler that attaches to it and is its parent: `attached_aborts THREADS SECTIONS EVERY
// FOLDER`.
//
// THREADS threads begin, then there is a file FOLDER-ready. They wait until there is a file below FOLDER:
// `elision record` with that folder for temporary files has then read this process's counters. Then as many
// further threads begin, and each of all takes one lock SECTIONS times. One in EVERY sections executes CPUID,
// which no transaction may. When all threads have ended, the program interrupts its parent and waits until it
// has removed its files. It ends early if its parent does.
#include <cpuid.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
std::uint64_t entered = 0;
std::atomic<bool> go = false;

[[gnu::noinline]] void execute_cpuid() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  __cpuid(0, eax, ebx, ecx, edx);
  __asm__ volatile("" : : "r"(eax), "r"(ebx), "r"(ecx), "r"(edx));
}

void take_lock(std::uint64_t sections, std::uint64_t every) {
  go.wait(false);
  for (std::uint64_t i = 0; i < sections; ++i) {
    pthread_mutex_lock(&lock);
    ++entered;
    if (i % every == 0) execute_cpuid();
    pthread_mutex_unlock(&lock);
  }
}

bool has_files(const char* folder) {
  std::error_code removed_meanwhile;
  for (std::filesystem::recursive_directory_iterator at(folder, removed_meanwhile), end; at != end;
       at.increment(removed_meanwhile))
    if (at->is_regular_file(removed_meanwhile)) return true;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const std::uint64_t count = std::strtoull(argv[1], nullptr, 10),
                      sections = std::strtoull(argv[2], nullptr, 10),
                      every = std::strtoull(argv[3], nullptr, 10);
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < count; ++i) threads.emplace_back(take_lock, sections, every);
  std::ofstream(std::string(argv[4]) + "-ready") << "\n";
  const pid_t parent = getppid();
  while (!has_files(argv[4])) {
    if (getppid() != parent) _exit(0);
    sched_yield();
  }
  for (std::uint64_t i = 0; i < count; ++i) threads.emplace_back(take_lock, sections, every);
  go = true;
  go.notify_all();
  for (std::thread& thread : threads) thread.join();
  if (entered != 2 * count * sections) std::puts("LOST sections");
  kill(getppid(), SIGINT);
  while (has_files(argv[4])) sched_yield();
}
