// SPDX-License-Identifier: Apache-2.0
#include "cli/show/progress.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/host/console.h"

namespace elision::cli::experiment {
namespace {

constexpr std::size_t kBarCharacters = 30;
constexpr double kShownInMinutesFrom = 120;

}  // namespace

void Progress::estimate(std::size_t runs, unsigned workers, double seconds_left) {
  tell(verb_, fmt::format("{} runs, {} at a time, {}", runs, workers, format_estimate(seconds_left)));
}

void Progress::progress(std::size_t done, std::size_t runs, double seconds_left) {
  if (!terminal_) return;
  print_error("\r\x1b[K" + format_bar(done, runs, seconds_left));
  drawn_ = true;
}

void Progress::clear() {
  if (drawn_) print_error("\r\x1b[K");
  drawn_ = false;
}

std::string format_estimate(double seconds) {
  if (seconds < 1) return "less than a second";
  if (seconds < kShownInMinutesFrom) return fmt::format("about {:.0f} s", std::ceil(seconds));
  return fmt::format("about {:.0f} min", std::ceil(seconds / 60));
}

std::string format_bar(std::size_t done, std::size_t runs, double seconds_left) {
  const std::size_t filled = runs == 0 ? kBarCharacters : kBarCharacters * done / runs;
  return fmt::format("[{:#<{}}{:.<{}}] {}/{} runs, {} left", "", filled, "", kBarCharacters - filled, done,
                     runs, format_estimate(seconds_left));
}

}  // namespace elision::cli::experiment
