// SPDX-License-Identifier: Apache-2.0
#include "profile/process_images.h"

#include <gtest/gtest.h>

#include "profile/perf_record_for_test.h"

namespace elision::profile {
namespace {

std::string line(const char* text) { return std::string(text) + "\n"; }

TEST(ProcessImages, TheNewerMappingCounts) {
  ProcessImages images;
  EXPECT_TRUE(images.add(mapping_record(1, 0x1000, 0x5000, 0, "/lib/a", false)));
  EXPECT_TRUE(images.add(mapping_record(1, 0x2000, 0x2000, 0x1000, "/lib/a")));
  EXPECT_EQ(images[images.number_of(1)].memory_map(), line("1000-2000 r--p 00000000 00:00 0 /lib/a") +
                                                          line("2000-4000 r-xp 00001000 00:00 0 /lib/a") +
                                                          line("4000-6000 r--p 00003000 00:00 0 /lib/a"));
  EXPECT_TRUE(images.add(mapping_record(1, 0x1800, 0x4000, 0, "//anon", false)));
  EXPECT_EQ(images[images.number_of(1)].memory_map(), line("1000-1800 r--p 00000000 00:00 0 /lib/a") +
                                                          line("1800-5800 r--p 00000000 00:00 0 ") +
                                                          line("5800-6000 r--p 00004800 00:00 0 /lib/a"));
  EXPECT_TRUE(images.add(mapping_record(1, 0, 0x10000, 0, "/lib/b")));
  EXPECT_EQ(images[images.number_of(1)].memory_map(), line("0-10000 r-xp 00000000 00:00 0 /lib/b"));
}

/// perf records code alone by default.
TEST(ProcessImages, FilesOfWhichOnlyCodeIsKnownGetTheirBegin) {
  ProcessImages images;
  images.add(mapping_record(1, 0x7000, 0x2000, 0x3000, "/lib/a"));
  images.add(mapping_record(1, 0xa000, 0x1000, 0, "[vdso]"));
  EXPECT_EQ(images[images.number_of(1)].memory_map(), line("4000-5000 r--p 00000000 00:00 0 /lib/a") +
                                                          line("7000-9000 r-xp 00003000 00:00 0 /lib/a") +
                                                          line("a000-b000 r-xp 00000000 00:00 0 [vdso]"));
}

TEST(ProcessImages, ForksShareAnImageUntilExecve) {
  ProcessImages images;
  images.add(mapping_record(1, 0x1000, 0x1000, 0, "/bin/sh"));
  EXPECT_TRUE(images.add(RecordForTest(PERF_RECORD_FORK).pair(2, 1).pair(2, 1).word(0).bytes()));
  EXPECT_EQ(images.number_of(2), images.number_of(1));
  EXPECT_TRUE(images.add(RecordForTest(PERF_RECORD_COMM).pair(2, 2).text("thread").bytes()));
  EXPECT_EQ(images.number_of(2), images.number_of(1)) << "a name alone";
  EXPECT_TRUE(
      images.add(RecordForTest(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC).pair(2, 2).text("ls").bytes()));
  EXPECT_NE(images.number_of(2), images.number_of(1));
  EXPECT_EQ(images[images.number_of(2)].memory_map(), "");
  EXPECT_FALSE(images.add(RecordForTest(PERF_RECORD_SAMPLE).bytes()));
}

TEST(ProcessImages, MemoryThatIsNoCodeTakesNoRoom) {
  ProcessImages images;
  images.add(mapping_record(1, 0x1000, 0x1000, 0, "/bin/a"));
  const Names* const names = &images[images.number_of(1)].names();
  for (std::uint64_t i = 0; i <= ProcessImages::kMostMappings; ++i)
    images.add(mapping_record(1, 0x100000 + i * 0x1000, 0x1000, 0, "//anon", false));
  EXPECT_EQ(&images[images.number_of(1)].names(), names) << "nor time";
  images.add(mapping_record(1, 0x3000, 0x1000, 0, "/lib/late"));
  EXPECT_NE(images[images.number_of(1)].memory_map().find("/lib/late"), std::string::npos);
}

/// Of a process that ran before its records began. What these tell comes later, and replaces it.
TEST(ProcessImages, MapOfAProcessIsThereBeforeItsRecords) {
  ProcessImages images;
  images.add_map(1, line("1000-2000 r--p 00000000 08:01 7 /bin/a") +
                        line("2000-4000 r-xp 00001000 08:01 7 /bin/a") +
                        line("5000-6000 rw-p 00000000 00:00 0 [heap]"));
  images.add(mapping_record(1, 0x3000, 0x1000, 0, "/lib/late"));
  images.add(RecordForTest(PERF_RECORD_FORK).pair(2, 1).pair(2, 1).word(0).bytes());
  EXPECT_EQ(images[images.number_of(2)].memory_map(), line("1000-2000 r--p 00000000 00:00 0 /bin/a") +
                                                          line("2000-3000 r-xp 00001000 00:00 0 /bin/a") +
                                                          line("3000-4000 r-xp 00000000 00:00 0 /lib/late"));
}

TEST(ProcessImages, AreBounded) {
  ProcessImages images;
  for (std::uint32_t process = 1; process < 2 * ProcessImages::kMost; ++process) images.number_of(process);
  EXPECT_EQ(images.number_of(2 * ProcessImages::kMost), ProcessImages::kMost - 1);
}

TEST(ProcessImages, NamesCodeOfThisProgram) {
  ProcessImages images;
  std::uint64_t here = reinterpret_cast<std::uint64_t>(&mapping_record);
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  char text[4096];
  while (std::fgets(text, sizeof text, maps) != nullptr) {
    const auto mappings = mappings_of(text);
    if (mappings.size() == 1 && mappings[0].executable && mappings[0].begin <= here && here < mappings[0].end)
      images.add(mapping_record(9, mappings[0].begin, mappings[0].end - mappings[0].begin, mappings[0].offset,
                                mappings[0].name.substr(0, mappings[0].name.find('\n'))));
  }
  std::fclose(maps);
  const std::string name = images[images.number_of(9)].names().code(here).name;
  EXPECT_NE(name.find("mapping_record"), std::string::npos) << name;
}

}  // namespace
}  // namespace elision::profile
