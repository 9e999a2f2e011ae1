// SPDX-License-Identifier: Apache-2.0
#include "cli/show/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>

#include "cli/host/console.h"

namespace elision::cli::experiment {
namespace {

constexpr std::size_t kBarCharacters = 30;
constexpr double kShownInMinutesFrom = 120;

}  // namespace

void Progress::estimate(const Outlook& outlook, unsigned workers) {
  clear();
  tell(verb_, fmt::format("{}, {} at a time, {}", format_runs(outlook), workers,
                          format_estimate(outlook.seconds_left.value_or(0), true)));
}

void Progress::progress(const Outlook& outlook) {
  if (!terminal_) return;
  const std::size_t width = appearance_of(STDERR_FILENO).width.value_or(kDefaultWidth);
  print_error("\r\x1b[K" + format_bar(outlook, width - 1));
  drawn_ = true;
}

void Progress::clear() {
  if (drawn_) print_error("\r\x1b[K");
  drawn_ = false;
}

std::string format_estimate(double seconds, bool at_least) {
  const char* const how = at_least ? "more than" : "about";
  if (seconds < 1) return at_least ? "a second or more" : "less than a second";
  if (seconds < kShownInMinutesFrom) return fmt::format("{} {:.0f} s", how, std::ceil(seconds));
  return fmt::format("{} {:.0f} min", how, std::ceil(seconds / 60));
}

std::string format_runs(const Outlook& outlook) {
  return fmt::format("{}{} {}", outlook.may_grow ? "at least " : "", outlook.runs,
                     outlook.runs == 1 ? "run" : "runs");
}

std::string format_bar(const Outlook& outlook, std::size_t width) {
  const std::size_t filled =
      outlook.runs == 0 ? kBarCharacters : kBarCharacters * outlook.done / outlook.runs;
  std::string text = fmt::format("[{:#<{}}{:.<{}}] {} of {}", "", filled, "", kBarCharacters - filled,
                                 outlook.done, format_runs(outlook));
  if (outlook.seconds_left)
    text += fmt::format(", {} left", format_estimate(*outlook.seconds_left, outlook.may_grow));
  if (!outlook.running.empty()) text += ", " + outlook.running;
  return text.substr(0, width);
}

}  // namespace elision::cli::experiment
