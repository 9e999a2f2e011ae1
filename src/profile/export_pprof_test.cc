// SPDX-License-Identifier: Apache-2.0
// tests/programs/export_test.py reads whole files by pprof's own description of the format.
#include "profile/export_pprof.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <protozero/pbf_reader.hpp>

#include "profile/export_for_test.h"

namespace elision::profile {
namespace {

constexpr protozero::pbf_tag_type kSample = 2, kLocation = 4, kStringTable = 6, kLine = 4;

std::string unpacked(const std::string& file) {
  std::string text(1 << 16, '\0');
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
  std::string input = file;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

std::vector<std::string> fields(const std::string& message, protozero::pbf_tag_type tag) {
  std::vector<std::string> found;
  protozero::pbf_reader reader(message);
  while (reader.next()) {
    if (reader.tag() == tag)
      found.push_back(reader.get_string());
    else
      reader.skip();
  }
  return found;
}

TEST(Pprof, EachPathIsASampleAndEachAddressALocation) {
  const std::string message = unpacked(pprof_file(table_for_test(), kOriginForTest));
  EXPECT_EQ(fields(message, kSample).size(), 3u);
  std::vector<std::size_t> lines;
  for (const std::string& location : fields(message, kLocation))
    lines.push_back(fields(location, kLine).size());
  EXPECT_EQ(lines, (std::vector<std::size_t>{2, 1, 1, 1})) << "add in transfer, main, transfer, unknown";
}

TEST(Pprof, StringTableBeginsWithTheEmptyStringAndIsUtf8) {
  Profile profile = profile_for_test();
  profile.frames[0].name = "m\xff";
  const std::vector<std::string> strings =
      fields(unpacked(pprof_file(paths_of_time(profile), kOriginForTest)), kStringTable);
  EXPECT_EQ(strings.front(), "");
  EXPECT_NE(std::find(strings.begin(), strings.end(), "m\xef\xbf\xbd"), strings.end());
}

TEST(Pprof, FunctionThatCallsItselfAtOneAddressIsNotInlined) {
  Profile profile = profile_for_test();
  profile.paths = {{State::kOutside, Path::kNoLock, 0, {1, 2, 1, 2}, 1000, 1}};
  const std::string message = unpacked(pprof_file(paths_of_time(profile), kOriginForTest));
  ASSERT_EQ(fields(message, kLocation).size(), 1u) << "the same one twice";
  EXPECT_EQ(fields(fields(message, kLocation)[0], kLine).size(), 2u);
}

TEST(Pprof, FramesWithoutAddressAreNotOneLocation) {
  Profile profile = profile_for_test();
  for (Place& frame : profile.frames) frame.address = 0;
  EXPECT_EQ(fields(unpacked(pprof_file(paths_of_time(profile), kOriginForTest)), kLocation).size(), 5u);
}

TEST(Pprof, AbortsHaveTypesAndLabelsOfTheirOwn) {
  const std::vector<std::string> strings =
      fields(unpacked(pprof_file(paths_of_aborts(aborts_for_test()), kOriginForTest)), kStringTable);
  const auto has = [&strings](const char* text) {
    return std::find(strings.begin(), strings.end(), text) != strings.end();
  };
  EXPECT_TRUE(has("aborted_cycles") && has("cause") && has("conflict") && has("[in a transaction]"));
  EXPECT_FALSE(has("nanoseconds") || has("state"));
}

}  // namespace
}  // namespace elision::profile
