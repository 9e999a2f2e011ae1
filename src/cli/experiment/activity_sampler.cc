// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/activity_sampler.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "cli/experiment/activity_looks.h"

namespace elision::cli::experiment {
namespace {

using Clock = ActivityLooks::Clock;

/// Names profiles and saves them, while the looks go on.
class Saver {
 public:
  explicit Saver(ActivitySampler::Save save) : save_(std::move(save)) {
    if (save_) thread_ = std::thread([this] { save_until_stopped(); });
  }
  ~Saver() { stop(); }
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  bool is_due(Clock::time_point now) {
    if (!save_) return false;
    const std::lock_guard guard(mutex_);
    return !next_ && now >= due_;
  }
  void hand_over(ActivityLooks::Collected collected) {
    {
      const std::lock_guard guard(mutex_);
      next_ = std::move(collected);
    }
    wake_.notify_all();
  }
  /// Returns when the save in progress is complete.
  void stop() {
    {
      const std::lock_guard guard(mutex_);
      stopped_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void save_until_stopped() {
    constexpr std::chrono::seconds kLeastDistance{5};
    constexpr int kDistanceInCosts = 50;
    std::unique_lock guard(mutex_);
    for (;;) {
      wake_.wait(guard, [this] { return stopped_ || next_; });
      if (stopped_) return;
      ActivityLooks::Collected collected = std::move(*next_);
      guard.unlock();
      const Clock::time_point begin = Clock::now();
      try {
        save_(ActivityLooks::named(std::move(collected), profile::DebugFiles::kLocal));
      } catch (const std::exception&) {  // the profile at the end says what is wrong
      }
      const Clock::time_point end = Clock::now();
      guard.lock();
      due_ = end + std::max<Clock::duration>(kLeastDistance, kDistanceInCosts * (end - begin));
      next_.reset();
    }
  }

  const ActivitySampler::Save save_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<ActivityLooks::Collected> next_;  // until it is saved
  Clock::time_point due_ = Clock::now() + std::chrono::seconds(1);
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace

struct ActivitySampler::Impl {
  template <class... Where>
  explicit Impl(double mean_ms, Save save, const Where&... where)
      : distance_ms(mean_ms), looks(where...), saver(std::move(save)) {
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
    saver.stop();
  }

  void look_until_stopped() {
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
      if (saver.is_due(now)) saver.hand_over(looks.collect());
    }
  }

  const double distance_ms;
  ActivityLooks looks;
  Saver saver;
  std::mutex mutex;
  std::condition_variable wake;
  bool stopped = false;
  std::thread looker;
};

ActivitySampler::ActivitySampler(const std::filesystem::path& directory, double distance_ms, Save save)
    : impl_(std::make_unique<Impl>(distance_ms, std::move(save), directory)) {}
ActivitySampler::ActivitySampler(const std::filesystem::path& directory, const AttachedProcess& process,
                                 double distance_ms, Save save)
    : impl_(std::make_unique<Impl>(distance_ms, std::move(save), directory, process)) {}
ActivitySampler::~ActivitySampler() = default;

profile::Profile ActivitySampler::finish() {
  impl_->stop();
  return impl_->looks.profile();
}

}  // namespace elision::cli::experiment
