// SPDX-License-Identifier: Apache-2.0
// Reads a counter file (counters.h, tm_counters.h). Header only, hosted.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "abi/counters_reader.h"
#include "abi/tm_counters_reader.h"

namespace elision::abi {

/// The first bytes of the file at `path`: as many as `size(header)` says, which gets the first `header_bytes`
/// bytes. Fewer if it is shorter, none if it cannot be read. Never blocks.
template <class Size>
std::string read_front(const char* path, std::size_t header_bytes, Size size) {
  const int descriptor = ::open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return {};
  std::string data;
  const auto read_until = [&](std::size_t end) {
    std::size_t done = data.size();
    data.resize(end);
    for (ssize_t part = 1; part > 0 && done < end; done += static_cast<std::size_t>(part)) {
      part = ::pread(descriptor, data.data() + done, end - done, static_cast<off_t>(done));
      if (part < 0) part = 0;
    }
    data.resize(done);
  };
  read_until(header_bytes);
  if (data.size() == header_bytes) read_until(size(data.data()));
  ::close(descriptor);
  return data;
}

/// The bytes in use of the counter file at `path`, which is sparse, 16 MB long and mostly holes.
inline std::string read_counter_file(const char* path) {
  return read_front(path, kCountersHeaderBytes, counter_bytes_in_use);
}

/// The counter file of libelision-tm at `path`.
inline std::string read_tm_counter_file(const char* path) {
  return read_front(path, kTmCountersHeaderBytes, [](const char*) { return kTmCountersFileBytes; });
}

}  // namespace elision::abi
