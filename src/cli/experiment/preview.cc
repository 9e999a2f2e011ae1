// SPDX-License-Identifier: Apache-2.0
#include "cli/experiment/preview.h"

#include <algorithm>
#include <iterator>

#include "cli/options/designs.h"

namespace elision::cli::experiment {
namespace {

/// What programs call at the end of a section. The lock library has these functions under every design.
constexpr const char* kReleases[] = {"libelision!pthread_mutex_unlock", "libelision!pthread_rwlock_unlock",
                                     "libelision!pthread_spin_unlock",  "libelision!mtx_unlock",
                                     "libelision!GOMP_critical_end",    "libelision!GOMP_critical_name_end",
                                     "libelision!GOMP_atomic_end",      "libelision!__kmpc_end_critical",
                                     "libelision!omp_unset_lock",       "libelision!omp_unset_nest_lock"};

}  // namespace

std::optional<Preview> preview_of(const std::vector<nlohmann::json>& processes) {
  std::optional<Preview> most;
  for (const nlohmann::json& process : processes) {
    const nlohmann::json& region = process.at("region");
    const nlohmann::json& second = region.at("second_thread_instructions");
    if (second.is_null()) continue;
    const Preview seen{.alone = second, .all = region.at("end_instructions"), .is_cut = region.at("ended")};
    if (!most || seen.all > most->all) most = seen;
  }
  return most;
}

namespace {

/// Looks, one after the other.
class Looks {
 public:
  Looks(const Plan& plan, Runner& runner, const LookLimits& limits)
      : plan_(plan), runner_(runner), limits_(limits) {}

  /// With one number of threads. Nothing: there is no part with several threads to look at.
  std::optional<Preview> look(std::optional<unsigned> threads) {
    constexpr std::uint64_t kAll = 1ULL << 62;
    if (limits_.enough <= 0) return look_at({threads, plan_.reference()}, kAll);
    constexpr std::uint64_t kFirst = 500'000'000;  // tells how fast fast mode is
    const std::optional<Preview> first = look_at({threads, plan_.reference()}, kFirst);
    if (!first || !first->is_cut) return first;
    const double per_second = static_cast<double>(first->all) / std::max(first->host_seconds, 1e-3);
    const double alone_seconds = static_cast<double>(first->alone) / per_second;
    const double enough =
        (limits_.enough - alone_seconds) * per_second / times_slower({threads, plan_.reference()}, *first);
    if (!(enough > static_cast<double>(kFirst)) || runner_.cancelled()) return first;
    return look_at({threads, plan_.reference()}, static_cast<std::uint64_t>(std::min(enough, 1e18)));
  }

  bool timed_out() const { return timed_out_; }
  double spent() const { return spent_; }

 private:
  /// Than the reference, an eliding design over the same instructions; 1 if it is not slower, or if it is not
  /// known in time.
  double times_slower(Cell cell, const Preview& reference) {
    const auto elided = eliding_design(plan_);
    if (!elided) return 1;
    cell.design = *elided;
    const double before = spent_;
    (void)look_at(cell, reference.all - reference.alone);
    timed_out_ = false;
    return std::max(1.0, (spent_ - before) / std::max(reference.host_seconds, 1e-3));
  }

  std::optional<Preview> look_at(Cell cell, std::uint64_t length) {
    cell.seed = plan_.first_seed;
    cell.previews = true;
    cell.look_length = length;
    const Sample sample = runner_.run_one(cell, limits_.all - spent_);
    spent_ += sample.host_seconds;
    timed_out_ = !runner_.cancelled() && sample.outcome == Outcome::kTimedOut;
    if (runner_.cancelled() || !sample.start_error.empty() || !plan_.accepts(sample)) return std::nullopt;
    auto preview = preview_of(sample.processes);
    if (preview) preview->host_seconds = sample.host_seconds;
    return preview;
  }

  const Plan& plan_;
  Runner& runner_;
  const LookLimits limits_;
  double spent_ = 0;
  bool timed_out_ = false;  // the last look
};

}  // namespace

std::optional<std::string> eliding_design(const Plan& plan) {
  if (!plan.compares_locks()) return std::nullopt;
  const auto found = std::find_if(plan.designs.begin(), plan.designs.end(), [&](const std::string& design) {
    return elides(design) && !plan.not_run.contains(design);
  });
  return found == plan.designs.end() ? std::nullopt : std::optional(*found);
}

Previews previews(const Plan& plan, Runner& runner, Observer& observer, const LookLimits& limits) {
  Previews found;
  Looks looks(plan, runner, limits);
  for (const std::optional<unsigned>& threads : plan.thread_counts) {
    observer.progress({0, plan.thread_counts.size(), true, std::nullopt, "a look in fast mode"});
    const auto preview = looks.look(threads);
    if (!preview) return {.timed_out = looks.timed_out(), .host_seconds = looks.spent()};
    found.seen.push_back(*preview);
  }
  found.host_seconds = looks.spent();
  return found;
}

std::vector<unsigned> spread_order(unsigned count) {
  std::vector<unsigned> order;
  std::vector<unsigned> distances(count, ~0U);  // to the nearest one before it
  const auto take = [&](unsigned number) {
    order.push_back(number);
    for (unsigned i = 0; i < count; ++i)
      distances[i] = std::min(distances[i], i < number ? number - i : i - number);
  };
  const unsigned shares = std::min(count, kFirstWindows);
  const auto middle_of = [&](unsigned share) { return (2 * share + 1) * count / (2 * shares); };
  if (shares > 0) take(middle_of(shares / 2));
  for (unsigned share = 0; share < shares; ++share)
    if (share != shares / 2) take(middle_of(share));
  while (order.size() < count)
    take(static_cast<unsigned>(std::max_element(distances.begin(), distances.end()) - distances.begin()));
  return order;
}

std::vector<vm::RunRegion> windows_in(const Preview& preview, unsigned count, unsigned places,
                                      std::uint64_t length_ns) {
  std::vector<vm::RunRegion> windows;
  const double share = static_cast<double>(preview.all - preview.alone) / places;
  for (const unsigned i : spread_order(places)) {
    if (windows.size() == count) break;
    // Different windows begin at different instructions, however short the program is.
    const std::uint64_t begin = preview.alone + static_cast<std::uint64_t>((i + 0.5) * share) + 2 + i;
    vm::RunRegion window;
    window.start = {vm::Trigger::Kind::kInstructions, begin};
    window.warm_from = {vm::Trigger::Kind::kInstructions,
                        begin > kWarmUpInstructions ? begin - kWarmUpInstructions : 1};
    window.length = length_ns;
    window.ends_process = true;
    window.counted.assign(std::begin(kReleases), std::end(kReleases));
    windows.push_back(window);
  }
  return windows;
}

vm::RunRegion together(const std::vector<vm::RunRegion>& windows) {
  vm::RunRegion all = windows.front();
  for (auto window = windows.begin() + 1; window != windows.end(); ++window) {
    all.later_starts.push_back(window->start.value);
    all.later_warm_from.push_back(window->warm_from.value);
  }
  return all;
}

}  // namespace elision::cli::experiment
