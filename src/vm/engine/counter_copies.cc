// SPDX-License-Identifier: Apache-2.0
#include "vm/engine/counter_copies.h"

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "abi/counters_file.h"
#include "vm/engine/whole_file_writer.h"
#include "vm/host/host_limits.h"

namespace elision::vm {
namespace {

/// A counter file.
struct Counters {
  std::filesystem::path path;
  std::string data;
  std::uint32_t process = 0;
  std::uint64_t order = 0;  // later files have greater numbers
};

/// Nothing if the file is no complete counter file of the lock library.
std::optional<Counters> of_locks(const std::filesystem::path& path) {
  std::string data = abi::read_counter_file(path.c_str());
  const auto totals = abi::sum_counters(data.data(), data.size());
  if (!totals) return std::nullopt;
  return Counters{path, std::move(data), totals->process_id, totals->start_monotonic_ns};
}

/// The same for libelision-tm, which numbers its files.
std::optional<Counters> of_transactions(const std::filesystem::path& path) {
  std::string data = abi::read_tm_counter_file(path.c_str());
  const auto totals = abi::sum_tm_counters(data.data(), data.size());
  if (!totals) return std::nullopt;
  return Counters{path, std::move(data), totals->process_id, std::strtoull(path.stem().c_str(), nullptr, 10)};
}

}  // namespace

void copy_counters(const std::string& directory, std::uint32_t id, const std::string& to,
                   const char* suffix) {
  const LiftedLimits lifted;
  std::optional<Counters> locks, transactions;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    const bool is_of_locks = at->path().extension() == abi::kCountersExtension;
    if (!is_of_locks && at->path().extension() != abi::kTmCountersExtension) continue;
    std::optional<Counters>& newest = is_of_locks ? locks : transactions;
    auto found = is_of_locks ? of_locks(at->path()) : of_transactions(at->path());
    if (found && found->process == id && (!newest || found->order >= newest->order))
      newest = std::move(found);
  }
  for (const auto& newest : {std::cref(locks), std::cref(transactions)})
    if (newest.get())
      write_whole(to + "/" + newest.get()->path.filename().string() + suffix, newest.get()->data);
}

}  // namespace elision::vm
