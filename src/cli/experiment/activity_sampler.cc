// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/activity_sampler.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "cli/experiment/activity_looks.h"

namespace elision::cli::experiment {

struct ActivitySampler::Impl {
  template <class... Where>
  explicit Impl(double mean_ms, const Where&... where) : distance_ms(mean_ms), looks(where...) {
    looker = std::thread([this] { look_until_stopped(); });
  }
  ~Impl() { stop(); }

  void stop() {
    {
      const std::lock_guard guard(mutex);
      stopped = true;
    }
    wake.notify_all();
    if (looker.joinable()) looker.join();
  }

  void look_until_stopped() {
    using Clock = ActivityLooks::Clock;
    std::mt19937 random(1);
    std::exponential_distribution<double> distance(1 / distance_ms);
    Clock::time_point before = Clock::now();
    std::unique_lock guard(mutex);
    while (!stopped) {
      const auto pause =
          std::chrono::duration<double, std::milli>(std::min(distance(random), 10 * distance_ms));
      if (wake.wait_for(guard, pause, [this] { return stopped; })) break;
      const Clock::time_point now = Clock::now();
      looks.look(now, now - before);
      before = now;
    }
  }

  const double distance_ms;
  ActivityLooks looks;
  std::mutex mutex;
  std::condition_variable wake;
  bool stopped = false;
  std::thread looker;
};

ActivitySampler::ActivitySampler(const std::filesystem::path& directory, double distance_ms)
    : impl_(std::make_unique<Impl>(distance_ms, directory)) {}
ActivitySampler::ActivitySampler(const std::filesystem::path& directory, const AttachedProcess& process,
                                 double distance_ms)
    : impl_(std::make_unique<Impl>(distance_ms, directory, process)) {}
ActivitySampler::~ActivitySampler() = default;

profile::Profile ActivitySampler::finish() {
  impl_->stop();
  return impl_->looks.profile();
}

}  // namespace elision::cli::experiment
