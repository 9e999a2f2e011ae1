// SPDX-License-Identifier: Apache-2.0
// Builds records of perf_event_open, byte by byte.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "profile/perf_records.h"

namespace elision::profile {

class RecordForTest {
 public:
  explicit RecordForTest(std::uint32_t type, std::uint16_t flags = 0) {
    put(perf_event_header{type, flags, 0});
  }

  template <class Value>
  RecordForTest& put(const Value& value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
    return *this;
  }
  RecordForTest& word(std::uint64_t value) { return put(value); }
  RecordForTest& pair(std::uint32_t first, std::uint32_t second) { return put(first).put(second); }
  RecordForTest& text(const std::string& text) {
    for (const char c : text) bytes_.push_back(static_cast<std::uint8_t>(c));
    bytes_.resize(bytes_.size() + 8 - text.size() % 8, 0);
    return *this;
  }
  std::vector<std::uint8_t> bytes() const {
    std::vector<std::uint8_t> whole = bytes_;
    const auto size = static_cast<std::uint16_t>(whole.size());
    std::memcpy(whole.data() + offsetof(perf_event_header, size), &size, sizeof size);
    return whole;
  }

 private:
  std::vector<std::uint8_t> bytes_;
};

inline std::vector<std::uint8_t> mapping_record(std::uint32_t process, std::uint64_t begin,
                                                std::uint64_t size, std::uint64_t offset,
                                                const std::string& name, bool is_code = true) {
  return RecordForTest(PERF_RECORD_MMAP, is_code ? 0 : PERF_RECORD_MISC_MMAP_DATA)
      .pair(process, process)
      .word(begin)
      .word(size)
      .word(offset)
      .text(name)
      .bytes();
}

}  // namespace elision::profile
