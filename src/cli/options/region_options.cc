// SPDX-License-Identifier: Apache-2.0
#include "cli/options/region_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
constexpr const char* kEndWithPart = "--end-with-part";
constexpr const char* kCountCalls = "--count-calls";
constexpr std::string_view kTime = "time:";
constexpr std::string_view kMarker = "marker";
constexpr std::string_view kInstructions = "instructions:", kParallel = "parallel:";

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
                                {kInstructions, Trigger::Kind::kInstructions},
                                {kParallel, Trigger::Kind::kParallel},
                                {"marker:", Trigger::Kind::kMarker}};

constexpr std::string_view kFunction = "function:";
constexpr std::string_view kAddress = "address:";

std::optional<std::uint64_t> nanoseconds_of(std::string_view text) {
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    const auto number = number_of<double>(std::string(text.substr(0, text.size() - unit.name.size())));
    if (!number) continue;  // the name of another unit ends with this one's
    const double nanoseconds = std::round(*number * unit.nanoseconds);
    if (!(nanoseconds >= 0 && nanoseconds <= static_cast<double>(kMostNanoseconds))) return std::nullopt;
    return static_cast<std::uint64_t>(nanoseconds);
  }
  return std::nullopt;
}

/// `example` shows how the time is written.
std::uint64_t nanoseconds_or_throw(const char* option, std::string_view text, std::string_view time,
                                   std::string_view example) {
  if (const auto nanoseconds = nanoseconds_of(time)) return *nanoseconds;
  throw UsageError(fmt::format("{} '{}': a time looks like {}, in ns, us, ms or s, up to {:.0f} s", option,
                               text, example, static_cast<double>(kMostNanoseconds) / 1e9));
}

/// Removes a count ":N" from the end of `text` and returns it; without one, returns 1. `text` may contain
/// "::".
std::uint64_t cut_count(const char* option, std::string_view whole, std::string_view& text) {
  const std::size_t colon = text.rfind(':');
  const bool has_count = colon != std::string_view::npos && colon > 0 && text[colon - 1] != ':' &&
                         text.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  if (!has_count) return 1;
  const auto count = number_of<std::uint64_t>(text.substr(colon + 1));
  if (!count || *count == 0)
    throw UsageError(
        fmt::format("{} '{}': the number behind the last colon must be 1 or more", option, whole));
  text = text.substr(0, colon);
  return *count;
}

/// function:NAME, function:OBJECT!NAME: as vm::Trigger::place has it.
Trigger function_of(const char* option, std::string_view text) {
  std::string_view name = text.substr(kFunction.size());
  Trigger trigger{Trigger::Kind::kCode, cut_count(option, text, name), std::string(name)};
  const std::size_t mark = name.find('!');
  const std::string_view own = mark == std::string_view::npos ? name : name.substr(mark + 1);
  if (own.empty() || mark == 0 || own.starts_with("0x") || own.starts_with('+'))
    throw UsageError(
        fmt::format("{} '{}': a function looks like function:NAME or function:OBJECT!NAME", option, text));
  return trigger;
}

/// address:0xADDRESS, address:OBJECT+0xADDRESS.
Trigger address_of(const char* option, std::string_view text) {
  std::string_view place = text.substr(kAddress.size());
  Trigger trigger{Trigger::Kind::kCode, cut_count(option, text, place)};
  const std::size_t number = place.rfind("0x");
  const bool in_object = number != std::string_view::npos && number >= 2 && place[number - 1] == '+';
  const std::string_view digits = number == std::string_view::npos ? "" : place.substr(number + 2);
  const bool is_number = !digits.empty() && digits.size() <= 16 &&
                         digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
  if (!is_number || (number != 0 && !in_object))
    throw UsageError(fmt::format("{} '{}': an address looks like address:0x401136 or address:OBJECT+0x1136",
                                 option, text));
  trigger.place = in_object ? fmt::format("{}!{}", place.substr(0, number - 1), place.substr(number - 1))
                            : std::string(place);
  return trigger;
}

/// As on the command line.
std::string text_of_code(const Trigger& trigger) {
  const std::string& place = trigger.place;
  const std::size_t in_object = place.find("!+0x");
  const std::string count = trigger.value == 1 ? "" : fmt::format(":{}", trigger.value);
  if (in_object != std::string::npos)
    return fmt::format("{}{}{}{}", kAddress, place.substr(0, in_object), place.substr(in_object + 1), count);
  return fmt::format("{}{}{}", place.starts_with("0x") ? kAddress : kFunction, place, count);
}

/// "instructions:N,N,..." has the triggers of several parts: cuts off those behind the first.
std::vector<std::uint64_t> cut_later(const char* option, std::string_view whole, std::string_view& text) {
  std::vector<std::uint64_t> later;
  const bool is_number = text.starts_with(kInstructions) || text.starts_with(kParallel);
  const std::size_t comma = is_number ? text.find(',') : std::string_view::npos;
  if (comma == std::string_view::npos) return later;
  for (const std::string& word : split_list(text.substr(comma + 1), ',')) {
    const auto number = number_of<std::uint64_t>(word);
    if (!number || *number == 0)
      throw UsageError(fmt::format("{} '{}': '{}' is not a whole number from 1 on", option, whole, word));
    later.push_back(*number);
  }
  text = text.substr(0, comma);
  return later;
}

/// `whole`: what the user wrote, of which `text` may be a part.
Trigger trigger_of(const char* option, std::string_view whole, std::string_view text) {
  if (text.starts_with(kFunction)) return function_of(option, text);
  if (text.starts_with(kAddress)) return address_of(option, text);
  if (text == kMarker) return {Trigger::Kind::kMarker, 1};
  if (text.starts_with(kTime))
    return {Trigger::Kind::kTime, nanoseconds_or_throw(option, text, text.substr(kTime.size()), "time:5ms")};
  for (const Counted& counted : kCounted) {
    if (!text.starts_with(counted.prefix)) continue;
    const auto number = number_of<std::uint64_t>(text.substr(counted.prefix.size()));
    if (number && *number >= 1) return {counted.kind, *number};
    throw UsageError(fmt::format("{} '{}': {} takes a number, 1 or more", option, whole, counted.prefix));
  }
  throw UsageError(fmt::format(
      "{} '{}' is no event: use thread:NUMBER, function:NAME, address:0xADDRESS, marker, time:TIME, "
      "instructions:NUMBER or parallel:NUMBER",
      option, whole));
}

Trigger trigger_of(const char* option, std::string_view text) { return trigger_of(option, text, text); }

void add_time(std::vector<std::string>& words, const char* option, std::uint64_t nanoseconds) {
  if (nanoseconds != 0) words.insert(words.end(), {option, fmt::format("{}ns", nanoseconds)});
}

/// `later`: of the parts behind the first one.
void add_trigger(std::vector<std::string>& words, const char* option, const Trigger& trigger,
                 const std::vector<std::uint64_t>& later = {}) {
  if (trigger.kind == Trigger::Kind::kCode) words.insert(words.end(), {option, text_of_code(trigger)});
  if (trigger.kind == Trigger::Kind::kTime)
    words.insert(words.end(), {option, fmt::format("{}{}ns", kTime, trigger.value)});
  for (const Counted& counted : kCounted)
    if (trigger.kind == counted.kind)
      words.insert(words.end(), {option, fmt::format("{}{}", counted.prefix, trigger.value)});
  for (const std::uint64_t value : later) words.back() += fmt::format(",{}", value);
}

/// Of parts behind the first one.
void check_later_parts(const vm::RunRegion& region) {
  const auto &starts = region.later_starts, &warm = region.later_warm_from;
  if (starts.empty() && warm.empty()) return;
  if (region.warm_from.is_set() && warm.size() != starts.size())
    throw UsageError(
        fmt::format("{} has {} parts, {} has {}", kStart, 1 + starts.size(), kWarmUp, 1 + warm.size()));
  if (region.length == 0) throw UsageError(fmt::format("{} of several parts needs {}", kStart, kLength));
  std::uint64_t last = region.start.value;
  for (const std::uint64_t start : starts) {
    if (start <= last) throw UsageError(fmt::format("{}: {} is not after {}", kStart, start, last));
    last = start;
  }
  if (region.warm_from.kind != region.start.kind) return;
  for (std::size_t i = 0; i < starts.size(); ++i)
    if (starts[i] <= warm[i])
      throw UsageError(fmt::format("{} {} is not after {} {}: there is nothing between them", kStart,
                                   starts[i], kWarmUp, warm[i]));
}

void add_warm_up(CLI::App& app, vm::RunRegion& region) {
  const auto store = [&region](const std::string& text) {
    region.warm_up = 0;
    region.warm_from = {};
    region.later_warm_from.clear();
    if (text.find(':') == std::string::npos) {
      region.warm_up = nonzero_time_or_throw(kWarmUp, text);
      return;
    }
    std::string_view first = text;
    region.later_warm_from = cut_later(kWarmUp, text, first);
    region.warm_from = trigger_of(kWarmUp, text, first);
    if (!is_cut(region.warm_from))
      throw UsageError(fmt::format("{} '{}': use a time, time:TIME, instructions:NUMBER or parallel:NUMBER",
                                   kWarmUp, text));
  };
  app.add_option_function<std::string>(
         kWarmUp, store,
         "simulate for this long before counting begins (1ms), or from this event on until --start "
         "(instructions:N, parallel:N, time:T)")
      ->type_name("TIME|EVENT");
}

}  // namespace

std::uint64_t nonzero_time_or_throw(const char* option, const std::string& text) {
  const std::uint64_t time = nanoseconds_or_throw(option, text, text, "5ms");
  if (time == 0) throw UsageError(fmt::format("{} '{}': the time must not be 0", option, text));
  return time;
}

void add_region_options(CLI::App& app, vm::RunRegion& region) {
  const auto add_length = [&app](const char* option, std::uint64_t& time, const char* help) {
    const auto store = [option, &time](const std::string& text) {
      time = nonzero_time_or_throw(option, text);
    };
    return app.add_option_function<std::string>(option, store, help)->type_name("TIME");
  };
  const auto store_start = [&region](const std::string& text) {
    std::string_view first = text;
    region.later_starts = cut_later(kStart, text, first);
    region.start = trigger_of(kStart, text, first);
  };
  app.add_option_function<std::string>(
         kStart, store_start,
         "simulate and count from this event on, in fast mode until then: thread:N (the program starts its "
         "N-th thread), function:NAME[:N] (its N-th call), address:0xA[:N], marker[:N], time:T (5ms), "
         "instructions:N or parallel:N (so many since the second thread started); N,N,... for several parts")
      ->type_name("EVENT");
  add_warm_up(app, region);
  const auto store_stop = [&region](const std::string& text) { region.stop = trigger_of(kStop, text); };
  CLI::Option* stop =
      app.add_option_function<std::string>(kStop, store_stop, "simulate and count until this event")
          ->type_name("EVENT");
  add_length(kLength, region.length, "simulate and count for this long")->excludes(stop);
}

void add_part_options(CLI::App& app, vm::RunRegion& region) {
  app.add_flag(kEndWithPart, region.ends_process,
               "end the process there, with exit code 0, instead of running on in fast mode");
  app.add_option(
         kCountCalls, region.counted,
         "count in this part the calls of functions, for the statistics, without those in transactions that "
         "abort: [OBJECT!]NAME, separated by commas")
      ->type_name("NAME,...")
      ->delimiter(',');
}

bool is_cut(const Trigger& trigger) {
  return trigger.kind == Trigger::Kind::kTime || trigger.kind == Trigger::Kind::kInstructions ||
         trigger.kind == Trigger::Kind::kParallel;
}

void check_region(const vm::RunRegion& region) {
  check_later_parts(region);
  if (region.ends_process && !region.stop.is_set() && region.length == 0)
    throw UsageError(fmt::format("{} has no effect without {} or {}", kEndWithPart, kStop, kLength));
  const bool awaits_code =
      region.start.kind == Trigger::Kind::kCode || region.stop.kind == Trigger::Kind::kCode;
  if (!region.counted.empty() && (awaits_code || !region.is_set()))
    throw UsageError(
        fmt::format("{} needs a part that neither begins nor ends with function: or address:", kCountCalls));
  const Trigger &start = region.start, &stop = region.stop, &warm = region.warm_from;
  if (warm.is_set() && !start.is_set())
    throw UsageError(fmt::format("{} with an event has no effect without {}", kWarmUp, kStart));
  if (warm.kind == start.kind && warm.is_set() && start.value <= warm.value)
    throw UsageError(fmt::format("{} is not after {}: there is nothing between them", kStart, kWarmUp));
  const bool is_ordered =
      start.kind == stop.kind && start.kind != Trigger::Kind::kMarker && start.kind != Trigger::Kind::kCode;
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
  add_trigger(words, kStart, region.start, region.later_starts);
  add_trigger(words, kWarmUp, region.warm_from, region.later_warm_from);
  add_time(words, kWarmUp, region.warm_up);
  add_trigger(words, kStop, region.stop);
  add_time(words, kLength, region.length);
  if (region.ends_process) words.emplace_back(kEndWithPart);
  if (!region.counted.empty())
    words.insert(words.end(), {kCountCalls, fmt::format("{}", fmt::join(region.counted, ","))});
  return words;
}

}  // namespace elision::cli
