// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as a file of `perf record`: it is refused, or its records lie in it, in the order of time,
// and each can be read or is refused.
#include <algorithm>
#include <memory>

#include "fuzz.h"
#include "profile/perf_file.h"

namespace {

namespace profile = elision::profile;

void check_sample(const profile::PerfSample& sample, const profile::PerfFile::Record& record) {
  const std::uint8_t* const end = record.bytes.data() + record.bytes.size();
  if (!sample.stack.empty() &&
      (sample.stack.data() < record.bytes.data() || sample.stack.data() + sample.stack.size() > end))
    fuzz::fail("a stack beyond its record");
  if (sample.calls.size() * 8 > record.bytes.size() || sample.branches.size() * 24 > record.bytes.size())
    fuzz::fail("more calls or branches than the record has room for");
}

void check_record(const profile::PerfFile& file, const profile::PerfFile::Record& record) {
  if (record.event >= file.events().size()) fuzz::fail("a record of an event that is not there");
  const auto header = profile::read_header(record.bytes);
  if (!header || header->size != record.bytes.size()) fuzz::fail("a record that is not whole");
  if (const auto sample = profile::read_sample(record.bytes, file.events()[record.event].layout))
    check_sample(*sample, record);
  if (const auto mapping = profile::read_mapping(record.bytes);
      mapping && mapping->name.size() > record.bytes.size())
    fuzz::fail("a name longer than its record");
  (void)profile::read_name(record.bytes);
  (void)profile::read_fork(record.bytes);
  (void)profile::read_losses(record.bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Exactly as large, so that a read beyond the end is noticed.
  const auto exact = std::make_unique<char[]>(size);
  std::copy_n(data, size, exact.get());
  const auto file = profile::PerfFile::parse({exact.get(), size});
  if (!file) {
    if (file.error().empty() || file.error().find('\n') != std::string::npos) fuzz::fail("not one line");
    return 0;
  }
  std::uint64_t before = 0;
  for (const profile::PerfFile::Record& record : file->records()) {
    if (record.bytes.data() < reinterpret_cast<const std::uint8_t*>(exact.get()) ||
        record.bytes.data() + record.bytes.size() > reinterpret_cast<const std::uint8_t*>(exact.get()) + size)
      fuzz::fail("a record outside of the file");
    if (record.time < before) fuzz::fail("not in the order of time");
    before = record.time;
    check_record(*file, record);
  }
  ++fuzz::g_accepted;
  return 0;
}
