// SPDX-License-Identifier: Apache-2.0
#include "vm/engine/counter_copies.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "abi/counters.h"
#include "abi/counters_reader.h"
#include "vm/engine/whole_file_writer.h"
#include "vm/host/host_limits.h"

namespace elision::vm {
namespace {

/// The header and the slots in use of a complete file; otherwise nothing.
std::string read_counters(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return {};
  std::string data(abi::kCountersHeaderBytes, '\0');
  const auto read_up_to = [&](std::size_t done) {
    while (done < data.size()) {
      const ssize_t part = pread(fd, data.data() + done, data.size() - done, static_cast<off_t>(done));
      if (part <= 0) return false;
      done += static_cast<std::size_t>(part);
    }
    return true;
  };
  bool whole = read_up_to(0);
  if (whole) {
    data.resize(abi::counter_bytes_in_use(data.data()));
    whole = read_up_to(abi::kCountersHeaderBytes);
  }
  close(fd);
  return whole ? data : std::string();
}

}  // namespace

void copy_counters(const std::string& directory, std::uint32_t id, const char* suffix) {
  const LiftedLimits lifted;
  std::string newest, its_data;
  std::uint64_t started = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() != abi::kCountersExtension) continue;
    std::string data = read_counters(at->path());
    const auto totals = abi::sum_counters(data.data(), data.size());
    if (!totals || totals->process_id != id || totals->start_monotonic_ns < started) continue;
    started = totals->start_monotonic_ns;
    newest = at->path();
    its_data = std::move(data);
  }
  if (!newest.empty()) write_whole(newest + suffix, its_data);
}

}  // namespace elision::vm
