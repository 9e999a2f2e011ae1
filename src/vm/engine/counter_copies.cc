// SPDX-License-Identifier: Apache-2.0
#include "vm/engine/counter_copies.h"

#include <filesystem>
#include <string>
#include <utility>

#include "abi/counters_file.h"
#include "vm/engine/whole_file_writer.h"
#include "vm/host/host_limits.h"

namespace elision::vm {

void copy_counters(const std::string& directory, std::uint32_t id, const std::string& to,
                   const char* suffix) {
  const LiftedLimits lifted;
  std::filesystem::path newest;
  std::string its_data;
  std::uint64_t started = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() != abi::kCountersExtension) continue;
    std::string data = abi::read_counter_file(at->path().c_str());
    const auto totals = abi::sum_counters(data.data(), data.size());
    if (!totals || totals->process_id != id || totals->start_monotonic_ns < started) continue;
    started = totals->start_monotonic_ns;
    newest = at->path();
    its_data = std::move(data);
  }
  if (!newest.empty()) write_whole(to + "/" + newest.filename().string() + suffix, its_data);
}

}  // namespace elision::vm
