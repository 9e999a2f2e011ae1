// SPDX-License-Identifier: Apache-2.0
// Usage: looks_at_itself KIND THREADS MILLISECONDS LOOK-MICROSECONDS SEED
//
// A program that takes locks, and that is looked at as `elision record` looks at programs, by the same code,
// but from its own first thread. So in the virtual machine the looks have the program's clock, and what they
// find can be compared with what the machine counts (intervals_test.py). The first thread takes no lock: the
// looks do not see it. It never sleeps, so all its time is outside of locks. Prints the profile and the
// intervals of its shares as JSON.
//
// KIND is how the threads behave:
//   sections  short sections of one lock at random distances
//   phases    together, in turn: outside of locks, at one lock, asleep; each for a random time that is long
//             beside the distance of looks
//   data      sections of one lock that change random data, for designs that elide it
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <vector>

#include "abi/lock_variables.h"
#include "cli/experiment/activity_looks.h"
#include "cli/show/paths_json.h"
#include "profile/profile_json.h"

namespace {

using elision::cli::experiment::ActivityLooks;
using Clock = ActivityLooks::Clock;

constexpr int kLines = 24;
struct alignas(64) Line {
  long value = 0;
};

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_barrier_t barrier;
Line lines[kLines];
Clock::time_point end_of_work;
unsigned seed;
std::atomic<int> working = 0;

/// A cycle or less a round.
void work(double rounds) {
  for (long i = static_cast<long>(rounds); i > 0; --i) asm volatile("" : : "r"(i));
}

double exponential(std::mt19937& random, double mean) {
  return std::exponential_distribution<double>(1 / mean)(random);
}

bool goes_on() { return Clock::now() < end_of_work; }

void short_sections(std::mt19937& random) {
  while (goes_on())
    for (int i = 0; i < 8; ++i) {
      work(exponential(random, 20000));
      pthread_mutex_lock(&mutex);
      work(exponential(random, 6000));
      pthread_mutex_unlock(&mutex);
    }
}

void data_sections(std::mt19937& random) {
  while (goes_on())
    for (int i = 0; i < 8; ++i) {
      work(exponential(random, 8000));
      Line& line = lines[random() % kLines];
      pthread_mutex_lock(&mutex);
      ++line.value;
      work(exponential(random, 4000));
      pthread_mutex_unlock(&mutex);
    }
}

/// All threads draw the same phases.
void phases(std::mt19937& own) {
  std::mt19937 common(seed);
  for (bool any = true; any;) {
    const auto kind = common() % 3;
    const auto until =
        Clock::now() + std::chrono::nanoseconds(static_cast<long>(std::min(exponential(common, 1e5), 5e5)));
    if (kind == 2) {
      std::this_thread::sleep_until(until);
    } else {
      while (Clock::now() < until) {
        if (kind == 1) pthread_mutex_lock(&mutex);
        work(exponential(own, 10000));
        if (kind == 1) pthread_mutex_unlock(&mutex);
      }
    }
    // The decision to go on is one thread's, between two barriers.
    static bool another;
    if (pthread_barrier_wait(&barrier) != 0) another = goes_on();
    pthread_barrier_wait(&barrier);
    any = another;
  }
}

using Behaviour = void (*)(std::mt19937& random);

struct Worker {
  Behaviour behave;
  unsigned number;
};

void* run(void* argument) {
  const auto* const worker = static_cast<Worker*>(argument);
  pthread_mutex_lock(&mutex);  // from here on the looks see this thread
  pthread_mutex_unlock(&mutex);
  std::mt19937 random(seed * 1000 + worker->number);
  worker->behave(random);
  --working;
  return nullptr;
}

Behaviour behaviour_of(const char* kind) {
  if (std::strcmp(kind, "sections") == 0) return short_sections;
  if (std::strcmp(kind, "phases") == 0) return phases;
  if (std::strcmp(kind, "data") == 0) return data_sections;
  return nullptr;
}

/// Looks at the workers until they end, at random distances, as ActivitySampler does.
void look_at_workers(ActivityLooks& looks, double mean_us) {
  std::mt19937 random(seed);
  Clock::time_point before = Clock::now();
  while (working != 0) {
    const Clock::time_point next =
        Clock::now() + std::chrono::nanoseconds(
                           static_cast<long>(1000 * std::min(exponential(random, mean_us), 10 * mean_us)));
    while (Clock::now() < next) work(100);
    const Clock::time_point now = Clock::now();
    looks.look(now, now - before);
    before = now;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* const directory =
      std::getenv(elision::abi::row_of(elision::abi::LockVariable::kCountersDir).name);
  const Behaviour behave = argc == 6 ? behaviour_of(argv[1]) : nullptr;
  if (behave == nullptr || directory == nullptr) {
    std::fprintf(stderr, "looks_at_itself: bad arguments, or no directory for counters\n");
    return 2;
  }
  const auto threads = static_cast<unsigned>(std::atoi(argv[2]));
  seed = static_cast<unsigned>(std::atoi(argv[5]));
  end_of_work = Clock::now() + std::chrono::microseconds(static_cast<long>(1000 * std::atof(argv[3])));
  pthread_barrier_init(&barrier, nullptr, threads);
  working = static_cast<int>(threads);
  ActivityLooks looks(directory);
  std::vector<Worker> workers;
  for (unsigned i = 0; i < threads; ++i) workers.push_back({behave, i});
  std::vector<pthread_t> ids(threads);
  for (unsigned i = 0; i < threads; ++i) pthread_create(&ids[i], nullptr, run, &workers[i]);
  look_at_workers(looks, std::atof(argv[4]));
  for (const pthread_t id : ids) pthread_join(id, nullptr);
  const elision::profile::Profile profile = looks.profile();
  const nlohmann::json out{{"profile", elision::profile::profile_json(profile)},
                           {"intervals", elision::cli::time_intervals_json(profile)}};
  std::puts(out.dump().c_str());
  return 0;
}
