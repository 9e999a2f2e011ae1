// SPDX-License-Identifier: Apache-2.0
#include "profile/perf_records.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "profile/perf_record_for_test.h"

namespace elision::profile {
namespace {

constexpr std::uint64_t kUserContext = static_cast<std::uint64_t>(PERF_CONTEXT_USER),
                        kKernelContext = static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL);

perf_event_attr attr_with(std::uint64_t sample_type) {
  perf_event_attr attr{};
  attr.sample_type = sample_type;
  attr.sample_id_all = 1;
  return attr;
}

/// All fields that a sample of an abort may have.
PerfLayout whole_layout() {
  perf_event_attr attr = attr_with(
      PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
      PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |
      PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |
      PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION);
  attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED;
  attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_HW_INDEX;
  attr.sample_regs_user = 1u << 7 | 1u << 8 | 1u << 16;  // SP, IP, R8
  return PerfLayout(attr);
}

std::vector<std::uint8_t> whole_sample() {
  RecordForTest record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP);
  record.word(5).word(0x401000).pair(12, 13).word(77).word(0x9000).word(6).word(7).pair(2, 0).word(2003);
  record.word(2).word(1000).word(11).word(6).word(12).word(8);  // a group of two counts
  record.word(6)
      .word(kKernelContext)
      .word(0xffff800000000000)
      .word(kUserContext)
      .word(0x401000)
      .word(0x402000)
      .word(0x403000);
  record.put(std::uint32_t{4}).put(std::uint32_t{0});
  record.word(2).word(0).word(0x1).word(0x2).word(1 << 2).word(0x3).word(0x4).word(1 << 3);
  record.word(PERF_SAMPLE_REGS_ABI_64).word(0x7ff0).word(0x401000).word(88);
  record.word(16).word(0x1111).word(0x2222).word(8);
  record.word(450).word(0).word(PERF_TXN_TRANSACTION | PERF_TXN_CONFLICT);
  return record.bytes();
}

TEST(PerfSample, HasAllFields) {
  const auto bytes = whole_sample();
  const auto sample = read_sample(bytes, whole_layout());
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->id, 6u);
  EXPECT_EQ(sample->ip, 0x401000u);
  EXPECT_EQ(sample->process, 12u);
  EXPECT_EQ(sample->thread, 13u);
  EXPECT_EQ(sample->time, 77u);
  EXPECT_EQ(sample->address, 0x9000u);
  EXPECT_EQ(sample->period, 2003u);
  EXPECT_EQ(sample->weight, 450u);
  EXPECT_EQ(sample->transaction, std::uint64_t{PERF_TXN_TRANSACTION | PERF_TXN_CONFLICT});
  EXPECT_TRUE(sample->is_exact);
  EXPECT_EQ(sample->calls, (std::vector<std::uint64_t>{0x401000, 0x402000, 0x403000})) << "of user code";
  ASSERT_EQ(sample->branches.size(), 2u);
  EXPECT_TRUE(sample->branches[0].in_transaction && !sample->branches[0].is_abort);
  EXPECT_TRUE(!sample->branches[1].in_transaction && sample->branches[1].is_abort);
  EXPECT_EQ(sample->branches[1].to, 4u);
  ASSERT_TRUE(sample->state);
  EXPECT_EQ((*sample->state)[kDwarfStackPointer], 0x7ff0u);
  EXPECT_EQ((*sample->state)[kDwarfPc], 0x401000u);
  EXPECT_EQ((*sample->state)[8], 88u);
  EXPECT_EQ(sample->stack.size(), 8u) << "as much as was copied";
  EXPECT_EQ(time_of_record(bytes, whole_layout()), 77u);
}

TEST(PerfSample, EveryCutIsRefused) {
  const auto whole = whole_sample();
  for (std::size_t size = 0; size < whole.size(); size += 4) {
    auto cut = whole;
    cut.resize(size);
    EXPECT_FALSE(read_sample(cut, whole_layout())) << "the header says more";
    if (size < sizeof(perf_event_header)) continue;
    const auto short_size = static_cast<std::uint16_t>(size);
    std::memcpy(cut.data() + offsetof(perf_event_header, size), &short_size, sizeof short_size);
    EXPECT_FALSE(read_sample(cut, whole_layout())) << size;
  }
}

TEST(PerfSample, NumbersOfEntriesAreNotBelieved) {
  const auto refused = [](std::uint64_t sample_type, std::uint64_t count) {
    return !read_sample(RecordForTest(PERF_RECORD_SAMPLE).word(count).word(1).bytes(),
                        PerfLayout(attr_with(sample_type)));
  };
  for (const std::uint64_t count : {std::uint64_t{2}, std::uint64_t{1} << 32, ~std::uint64_t{0},
                                    std::uint64_t{0x5555555555555556}, std::uint64_t{1} << 61})
    for (const std::uint64_t type : {PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_STACK_USER})
      EXPECT_TRUE(refused(type, count)) << count << " of " << type;
  EXPECT_FALSE(refused(PERF_SAMPLE_CALLCHAIN, 1));
}

TEST(PerfSample, RandomBytesAreRefusedOrRead) {
  Random random(1);
  const auto whole = whole_sample();
  std::size_t read = 0;
  for (int i = 0; i < 20000; ++i) {
    auto bytes = whole;
    for (std::uint64_t n = 1 + random.below(4); n > 0; --n)
      bytes[8 + random.below(bytes.size() - 8)] = static_cast<std::uint8_t>(random.below(256));
    if (const auto sample = read_sample(bytes, whole_layout())) {
      ++read;
      EXPECT_LE(sample->stack.size(), 16u);
    }
  }
  EXPECT_GT(read, 1000u);
  EXPECT_LT(read, 20000u);
}

TEST(PerfRecords, MappingsInBothForms) {
  const auto first = read_mapping(mapping_record(7, 0x1000, 0x2000, 0x3000, "/bin/true"));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->process, 7u);
  EXPECT_EQ(first->begin, 0x1000u);
  EXPECT_EQ(first->size, 0x2000u);
  EXPECT_EQ(first->offset, 0x3000u);
  EXPECT_TRUE(first->is_code);
  EXPECT_EQ(first->name, "/bin/true");
  const auto second = read_mapping(RecordForTest(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_DATA)
                                       .pair(7, 8)
                                       .word(1)
                                       .word(2)
                                       .word(3)
                                       .pair(8, 1)
                                       .word(99)
                                       .word(0)
                                       .pair(1, 2)
                                       .text("//anon")
                                       .bytes());
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->is_code);
  EXPECT_EQ(second->name, "//anon");
  EXPECT_FALSE(read_mapping(mapping_record(7, ~std::uint64_t{0} - 5, 100, 0, "x")))
      << "beyond the last address";
}

TEST(PerfRecords, NamesForksAndLosses) {
  const auto name = read_name(
      RecordForTest(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC).pair(3, 4).text("worker").bytes());
  ASSERT_TRUE(name);
  EXPECT_TRUE(name->by_exec && name->name == "worker" && name->process == 3 && name->thread == 4);
  const auto fork = read_fork(RecordForTest(PERF_RECORD_FORK).pair(5, 3).pair(5, 3).word(9).bytes());
  ASSERT_TRUE(fork);
  EXPECT_TRUE(fork->process == 5 && fork->parent == 3);
  EXPECT_EQ(read_losses(RecordForTest(PERF_RECORD_LOST).word(1).word(44).bytes()), 44u);
  EXPECT_EQ(read_losses(RecordForTest(PERF_RECORD_LOST_SAMPLES).word(45).bytes()), 45u);
  EXPECT_FALSE(read_losses(RecordForTest(PERF_RECORD_EXIT).word(1).word(44).bytes()));
}

TEST(PerfRecords, TimeIsAtTheEndOfRecordsThatAreNoSamples) {
  const PerfLayout layout(attr_with(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU));
  const auto record =
      RecordForTest(PERF_RECORD_LOST).word(1).word(2).pair(1, 1).word(123).word(6).pair(0, 0).bytes();
  EXPECT_EQ(time_of_record(record, layout), 123u);
  EXPECT_EQ(time_of_record(RecordForTest(PERF_RECORD_LOST).bytes(), layout), 0u);
}

}  // namespace
}  // namespace elision::profile
