// SPDX-License-Identifier: Apache-2.0
// Reads a counter file (counters.h). Header only, hosted.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "abi/counters_reader.h"

namespace elision::abi {

/// The bytes in use of the counter file at `path`, which is sparse, 16 MB long and mostly holes: fewer if it
/// is shorter, none if it cannot be read. Never blocks.
inline std::string read_counter_file(const char* path) {
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
  read_until(kCountersHeaderBytes);
  if (data.size() == kCountersHeaderBytes) read_until(counter_bytes_in_use(data.data()));
  ::close(descriptor);
  return data;
}

}  // namespace elision::abi
