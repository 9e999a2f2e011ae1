// SPDX-License-Identifier: Apache-2.0
// What one process image hands to the next arrives field by field, and a damaged hand-over is refused.
#include "vm/linux/load/hand_over.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

namespace elision::vm {
namespace {

struct Field {
  std::string name, value;
};

using Limits = std::vector<std::pair<rlim_t, rlim_t>>;

Limits pairs_of(const LimitTable& table) {
  Limits limits;
  for (const rlimit& limit : table) limits.emplace_back(limit.rlim_cur, limit.rlim_max);
  return limits;
}

template <class T>
Field field(const char* name, const T& value) {
  return {name, testing::PrintToString(value)};
}

// The bindings below name every member, so this does not compile after a member was added. Then the new
// member needs a line here and a value in sample().

std::vector<Field> fields_of(const Options& options) {
  const auto& [machine, cpus, seed, variation, stats_directory, date_seconds, run_ahead_cycles, fast, region,
               fast_path, conflict_detection, profile, lock_times, record_forms, serves, crash_reports,
               command, preload] = options;
  const auto& [start, stop, warm_from, warm_up, length, later_starts, later_warm_from, ends_process,
               counted] = region;
  const auto& [start_kind, start_value, start_place] = start;
  const auto& [stop_kind, stop_value, stop_place] = stop;
  const auto& [warm_kind, warm_value, warm_place] = warm_from;
  return {field("machine", machine),
          field("cpus", cpus),
          field("seed", seed),
          field("variation", variation),
          field("stats_directory", stats_directory),
          field("date_seconds", date_seconds),
          field("run_ahead_cycles", run_ahead_cycles),
          field("fast", fast),
          field("start kind", static_cast<int>(start_kind)),
          field("start value", start_value),
          field("start place", start_place),
          field("stop kind", static_cast<int>(stop_kind)),
          field("stop value", stop_value),
          field("stop place", stop_place),
          field("warm from kind", static_cast<int>(warm_kind)),
          field("warm from value", warm_value),
          field("warm from place", warm_place),
          field("warm-up", warm_up),
          field("later starts", later_starts),
          field("later warm from", later_warm_from),
          field("length", length),
          field("ends_process", ends_process),
          field("counted", counted),
          field("fast_path", fast_path),
          field("conflict_detection", conflict_detection),
          field("profile", profile),
          field("lock_times", lock_times),
          field("record_forms", record_forms),
          field("serves", serves),
          field("crash_reports", crash_reports),
          field("command", command),
          field("preload", preload)};
}

std::vector<Field> fields_of(const ProgramRequest& program) {
  const auto& [path, arguments, environment, descriptor] = program;
  return {field("path", path), field("arguments", arguments), field("environment", environment),
          field("descriptor", descriptor)};
}

std::vector<Field> fields_of(const ProcessOrigin& origin) {
  const auto& [root_host_pid, start_time, blocked_signals, cpu_time, children_cpu_time, cpu_time_board,
               process_board, event_board, event_slots, affinity, limits, scheduling, answers_for_region] =
      origin;
  const auto& [policy, resets_policy, nice] = scheduling;
  return {field("root_host_pid", root_host_pid),
          field("start_time", start_time),
          field("blocked_signals", blocked_signals),
          field("cpu_time", cpu_time),
          field("children_cpu_time", children_cpu_time),
          field("cpu_time_board", cpu_time_board),
          field("process_board", process_board),
          field("event_board", event_board),
          field("event_slots", event_slots),
          field("affinity", affinity),
          field("limits", pairs_of(limits)),
          field("policy", policy),
          field("resets_policy", resets_policy),
          field("nice", nice),
          field("answers_for_region", answers_for_region)};
}

std::vector<Field> fields_of(const HandOver& hand_over) {
  const auto& [options, program, origin] = hand_over;
  std::vector<Field> all = fields_of(options);
  for (const auto& part : {fields_of(program), fields_of(origin)})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// No field has its default, and no two neighbours of an array are alike.
HandOver sample() {
  HandOver h;
  h.options = {.machine = "some machine",
               .cpus = 7,
               .seed = ~0ull,
               .variation = 9999,
               .stats_directory = "/s",
               .date_seconds = 5,
               .run_ahead_cycles = 123,
               .fast = true,
               .region = {{Trigger::Kind::kCode, 8, "f"},
                          {Trigger::Kind::kTime, 7000, "g"},
                          {Trigger::Kind::kMarker, 3, "w"},
                          11,
                          12,
                          {13, 14},
                          {15},
                          true,
                          {"h", "i!j"}},
               .fast_path = false,
               .conflict_detection = false,
               .profile = true,
               .lock_times = true,
               .record_forms = true,
               .serves = "/socket",
               .crash_reports = "/crashes",
               .command = "elision vm -- 'two words'",
               .preload = {"a.so", "", "b.so"}};
  h.program = {"/bin/x", {"x", "", "two words"}, {"A=1", std::string("B=\xff\0", 4)}, 17};
  h.origin = {.root_host_pid = 4711,
              .start_time = 99,
              .blocked_signals = 1ull << 63,
              .cpu_time = 31,
              .children_cpu_time = 32,
              .cpu_time_board = 1001,
              .process_board = 1003,
              .event_board = 1002,
              .event_slots = {5, 6},
              .affinity = {3, 4},
              .limits = {},
              .scheduling = {3, true, -7},
              .answers_for_region = false};
  for (std::size_t i = 0; i < h.origin.limits.size(); ++i) h.origin.limits[i] = {100 + i, 200 + i};
  return h;
}

HandOver through_a_descriptor(const HandOver& hand_over) {
  const int descriptor = write_hand_over(hand_over);
  EXPECT_GE(descriptor, kFirstEngineDescriptor);
  const Fallible<HandOver> result = read_hand_over(descriptor);
  EXPECT_EQ(close(descriptor), -1) << "the reader closes it";
  EXPECT_TRUE(result.ok());
  return result.ok() ? result.value() : HandOver();
}

TEST(HandOver, SampleSetsEveryField) {
  const std::vector<Field> given = fields_of(sample()), defaults = fields_of(HandOver());
  for (std::size_t i = 0; i < given.size(); ++i)
    EXPECT_NE(given[i].value, defaults[i].value) << given[i].name;
}

TEST(HandOver, EveryFieldArrives) {
  const std::vector<Field> given = fields_of(sample()), arrived = fields_of(through_a_descriptor(sample()));
  for (std::size_t i = 0; i < given.size(); ++i) EXPECT_EQ(arrived[i].value, given[i].value) << given[i].name;
}

TEST(HandOver, DefaultsArrive) {
  const std::vector<Field> given = fields_of(HandOver()),
                           arrived = fields_of(through_a_descriptor(HandOver()));
  for (std::size_t i = 0; i < given.size(); ++i) EXPECT_EQ(arrived[i].value, given[i].value) << given[i].name;
}

TEST(HandOver, WrongLengthIsRefused) {
  const std::string whole = encode_hand_over(sample());
  for (std::size_t size = 0; size < whole.size(); ++size)
    ASSERT_FALSE(decode_hand_over(whole.substr(0, size)).ok()) << size;
  EXPECT_FALSE(decode_hand_over(whole + "x").ok());
  EXPECT_TRUE(decode_hand_over(whole).ok());
}

}  // namespace
}  // namespace elision::vm
