// SPDX-License-Identifier: Apache-2.0
#include "cli/options/region_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <optional>
#include <string_view>

#include "cli/host/parse.h"
#include "cli/host/usage_error.h"

namespace elision::cli {
namespace {

using vm::Trigger;

constexpr const char* kWarmUp = "--warmup";
constexpr const char* kLength = "--length";
constexpr std::string_view kTime = "time:";
constexpr std::string_view kMarker = "marker";
constexpr double kMostNanoseconds = 1e15;  // eleven days

struct Unit {
  std::string_view name;
  double nanoseconds;
};
constexpr Unit kUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

/// Events that are counted from 1.
struct Counted {
  std::string_view prefix;
  Trigger::Kind kind;
};
constexpr Counted kCounted[] = {{"thread:", Trigger::Kind::kThread},
                                {"instructions:", Trigger::Kind::kInstructions},
                                {"marker:", Trigger::Kind::kMarker}};

std::optional<std::uint64_t> nanoseconds_of(std::string_view text) {
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    const auto number = number_of<double>(std::string(text.substr(0, text.size() - unit.name.size())));
    if (!number) continue;  // the name of another unit ends with this one's
    const double nanoseconds = std::round(*number * unit.nanoseconds);
    if (!(nanoseconds >= 0 && nanoseconds <= kMostNanoseconds)) return std::nullopt;
    return static_cast<std::uint64_t>(nanoseconds);
  }
  return std::nullopt;
}

/// `example` shows how the time is written.
std::uint64_t nanoseconds_or_throw(const char* option, std::string_view text, std::string_view time,
                                   std::string_view example) {
  if (const auto nanoseconds = nanoseconds_of(time)) return *nanoseconds;
  throw UsageError(fmt::format("{} '{}': a time looks like {}, in ns, us, ms or s, up to {:.0f} s", option,
                               text, example, kMostNanoseconds / 1e9));
}

Trigger trigger_of(const char* option, std::string_view text) {
  if (text == kMarker) return {Trigger::Kind::kMarker, 1};
  if (text.starts_with(kTime))
    return {Trigger::Kind::kTime, nanoseconds_or_throw(option, text, text.substr(kTime.size()), "time:5ms")};
  for (const Counted& counted : kCounted) {
    if (!text.starts_with(counted.prefix)) continue;
    const auto number = number_of<std::uint64_t>(text.substr(counted.prefix.size()));
    if (number && *number >= 1) return {counted.kind, *number};
    throw UsageError(fmt::format("{} '{}': {} takes a number, 1 or more", option, text, counted.prefix));
  }
  throw UsageError(fmt::format(
      "{} '{}' is no event: use thread:NUMBER, time:TIME, instructions:NUMBER, marker or marker:NUMBER",
      option, text));
}

void add_time(std::vector<std::string>& words, const char* option, std::uint64_t nanoseconds) {
  if (nanoseconds != 0) words.insert(words.end(), {option, fmt::format("{}ns", nanoseconds)});
}

void add_trigger(std::vector<std::string>& words, const char* option, const Trigger& trigger) {
  if (trigger.kind == Trigger::Kind::kTime)
    words.insert(words.end(), {option, fmt::format("{}{}ns", kTime, trigger.value)});
  for (const Counted& counted : kCounted)
    if (trigger.kind == counted.kind)
      words.insert(words.end(), {option, fmt::format("{}{}", counted.prefix, trigger.value)});
}

}  // namespace

void add_region_options(CLI::App& app, vm::RunRegion& region) {
  const auto add_event = [&app](const char* option, Trigger& trigger, const char* help) {
    return app
        .add_option_function<std::string>(
            option, [option, &trigger](const std::string& text) { trigger = trigger_of(option, text); }, help)
        ->type_name("EVENT");
  };
  const auto add_length = [&app](const char* option, std::uint64_t& time, const char* help) {
    const auto store = [option, &time](const std::string& text) {
      time = nanoseconds_or_throw(option, text, text, "5ms");
      if (time == 0) throw UsageError(fmt::format("{} '{}': the time must not be 0", option, text));
    };
    return app.add_option_function<std::string>(option, store, help)->type_name("TIME");
  };
  add_event(
      kStart, region.start,
      "simulate and count from this event on, in fast mode until then: thread:N (the program starts its "
      "N-th thread), time:T (5ms), instructions:N or marker[:N]");
  add_length(kWarmUp, region.warm_up, "simulate for this long before counting begins (1ms)");
  CLI::Option* stop = add_event(kStop, region.stop, "simulate and count until this event");
  add_length(kLength, region.length, "simulate and count for this long")->excludes(stop);
}

void check_region(const vm::RunRegion& region) {
  const Trigger &start = region.start, &stop = region.stop;
  const bool is_ordered = start.kind == stop.kind && start.kind != Trigger::Kind::kMarker;
  const std::uint64_t warm_up = start.kind == Trigger::Kind::kTime ? region.warm_up : 0;
  if (start.is_set() && is_ordered && stop.value <= start.value + warm_up)
    throw UsageError(fmt::format("{} is not after {}: there is nothing between them", kStop,
                                 warm_up == 0 ? kStart : "--start and --warmup"));
  const bool ends_at_once = (stop.kind == Trigger::Kind::kThread && stop.value == 1) ||
                            (stop.kind == Trigger::Kind::kTime && stop.value <= region.warm_up);
  if (ends_at_once)
    throw UsageError(fmt::format("{} comes before counting begins: nothing would be counted", kStop));
}

std::vector<std::string> as_words(const vm::RunRegion& region) {
  std::vector<std::string> words;
  add_trigger(words, kStart, region.start);
  add_time(words, kWarmUp, region.warm_up);
  add_trigger(words, kStop, region.stop);
  add_time(words, kLength, region.length);
  return words;
}

}  // namespace elision::cli
