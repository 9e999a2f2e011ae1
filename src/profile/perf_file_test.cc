// SPDX-License-Identifier: Apache-2.0
#include "profile/perf_file.h"

#include <gtest/gtest.h>

#include "profile/perf_import.h"
#include "profile/perf_record_for_test.h"

namespace elision::profile {
namespace {

constexpr std::uint64_t kSampleType =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
constexpr std::uint64_t kHeaderBytes = 104;

template <class Value>
void append(std::string& bytes, const Value& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// A file with cycles (id 5) and aborts (id 6), whose samples have weights, and `records`.
std::string file_with(const std::vector<std::vector<std::uint8_t>>& records, bool is_finished = true) {
  std::string ids, attrs, data;
  append(ids, std::uint64_t{5});
  append(ids, std::uint64_t{6});
  for (const bool aborts : {false, true}) {
    perf_event_attr attr{};
    attr.type = aborts ? PERF_TYPE_RAW : PERF_TYPE_HARDWARE;
    attr.config = aborts ? 0x4c9 : PERF_COUNT_HW_CPU_CYCLES;
    attr.sample_type = kSampleType | (aborts ? PERF_SAMPLE_WEIGHT | PERF_SAMPLE_TRANSACTION : 0u);
    attr.sample_period = 1000;
    attr.sample_id_all = 1;
    append(attrs, attr);
    append(attrs, kHeaderBytes + (aborts ? 8 : 0));
    append(attrs, std::uint64_t{8});
  }
  for (const auto& record : records) data.append(record.begin(), record.end());
  std::string file = "PERFILE2";
  append(file, kHeaderBytes);
  append(file, std::uint64_t{attrs.size() / 2});
  append(file, kHeaderBytes + ids.size());
  append(file, std::uint64_t{attrs.size()});
  append(file, kHeaderBytes + ids.size() + attrs.size());
  append(file, std::uint64_t{is_finished ? data.size() : 0});
  file.resize(kHeaderBytes);
  return file + ids + attrs + data;
}

std::vector<std::uint8_t> cycles(std::uint64_t time, std::uint32_t thread = 7) {
  return RecordForTest(PERF_RECORD_SAMPLE).word(5).word(0x1100).pair(7, thread).word(time).word(1000).bytes();
}
std::vector<std::uint8_t> abort_at(std::uint64_t time) {
  return RecordForTest(PERF_RECORD_SAMPLE)
      .word(6)
      .word(0x1104)
      .pair(7, 8)
      .word(time)
      .word(13)
      .word(300)
      .word(PERF_TXN_TRANSACTION | PERF_TXN_CONFLICT)
      .bytes();
}

TEST(PerfFile, RecordsAreInTheOrderOfTimeAndKnowTheirEvent) {
  const std::string bytes = file_with({cycles(30), abort_at(20), RecordForTest(68).bytes(), cycles(10)});
  const auto file = PerfFile::parse(bytes);
  ASSERT_TRUE(file) << file.error();
  ASSERT_EQ(file->records().size(), 3u) << "without those of perf itself";
  EXPECT_EQ(file->records()[0].time, 10u);
  EXPECT_EQ(file->records()[1].time, 20u);
  EXPECT_EQ(file->records()[1].event, 1u);
  EXPECT_EQ(file->records()[2].event, 0u);
  EXPECT_EQ(file->damage(), "");
}

TEST(PerfFile, SamplesOfUnknownEventsAreSkipped) {
  auto unknown = cycles(20);
  unknown[sizeof(perf_event_header)] = 77;  // the id
  const std::string bytes = file_with({cycles(10), unknown, mapping_record(7, 0x1000, 0x1000, 0, "/bin/a")});
  const auto file = PerfFile::parse(bytes);
  ASSERT_TRUE(file) << file.error();
  ASSERT_EQ(file->records().size(), 2u) << "a mapping concerns all events";
  for (const PerfFile::Record& record : file->records()) EXPECT_NE(record.time, 20u);
  EXPECT_EQ(file->unknown_samples(), 1u);
}

TEST(PerfFile, WhatFollowsARecordOfATraceIsSkipped) {
  auto trace = RecordForTest(71).word(16).word(0).word(0).word(0).bytes();
  trace.resize(trace.size() + 16, 0xff);
  const std::string bytes = file_with({cycles(1), trace, cycles(2)});
  const auto file = PerfFile::parse(bytes);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->records().size(), 2u);
  EXPECT_EQ(file->damage(), "");
}

TEST(PerfFile, DamageEndsTheRecords) {
  std::string bytes = file_with({cycles(1), cycles(2), cycles(3)});
  bytes.resize(bytes.size() - 60);
  const auto file = PerfFile::parse(bytes);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->records().size(), 1u);
  EXPECT_NE(file->damage(), "");
  const std::string unfinished = file_with({cycles(1), cycles(2)}, false);
  const auto other = PerfFile::parse(unfinished);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->records().size(), 2u);
  EXPECT_EQ(other->damage(), "perf record did not finish it");
}

TEST(PerfFile, CompressedRecordsAreRefused) {
  const std::string bytes = file_with({cycles(1), RecordForTest(81).word(0).bytes()});
  EXPECT_FALSE(PerfFile::parse(bytes));
}

TEST(PerfImport, TimeOfOneProcessAndAbortsOfAll) {
  const std::string bytes = file_with({cycles(10), cycles(20, 9), abort_at(30), abort_at(40)});
  const auto file = PerfFile::parse(bytes);
  ASSERT_TRUE(file);
  const PerfImport imported = import_perf(*file);
  EXPECT_EQ(imported.time_samples, 2);
  EXPECT_EQ(imported.abort_samples, 2);
  EXPECT_EQ(imported.profile.wall_ns, 30);
  EXPECT_EQ(imported.profile.threads.size(), 2u);
  const AbortEvents& events = *imported.profile.abort_events;
  EXPECT_EQ(events.aborts, 26);
  EXPECT_FALSE(events.counted);
  EXPECT_EQ(events.cycles, 26 * 300);
  EXPECT_EQ(events.by_cause.at("conflict"), 26);
}

TEST(PerfImport, EventsAreKnownByNumberOrName) {
  const auto meaning = [](std::uint32_t type, std::uint64_t config, const char* name) {
    PerfFileEvent event;
    event.type = type;
    event.config = config;
    event.name = name;
    return meaning_of(event);
  };
  EXPECT_EQ(meaning(PERF_TYPE_RAW, 0x4c9, ""), PerfMeaning::kAborts);
  EXPECT_EQ(meaning(PERF_TYPE_RAW, 0x2c9, ""), PerfMeaning::kCommits);
  EXPECT_EQ(meaning(9, 0, "cpu/tx-abort/upp"), PerfMeaning::kAborts);
  EXPECT_EQ(meaning(9, 0, "RTM_RETIRED.ABORTED:pp"), PerfMeaning::kAborts);
  EXPECT_EQ(meaning(9, 0, "rtm_retired.aborted_mem"), PerfMeaning::kNothing);
  EXPECT_EQ(meaning(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, "task-clock"), PerfMeaning::kTime);
  EXPECT_EQ(meaning(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, "instructions"), PerfMeaning::kNothing);
  EXPECT_EQ(
      meaning(PERF_TYPE_HARDWARE, std::uint64_t{10} << 32 | PERF_COUNT_HW_CPU_CYCLES, "cpu_atom/cycles/"),
      PerfMeaning::kTime);
}

}  // namespace
}  // namespace elision::profile
