// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/process/process_board.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "vm/host/host_limits.h"
#include "vm/host/reserved_descriptors.h"
#include "vm/interface/guest_layout.h"
#include "vm/linux/process/process_ids.h"

namespace elision::vm {

struct ProcessBoard::Entry {
  std::atomic<int> host_pid;              // 0: free
  std::atomic<std::uint64_t> host_start;  // 0: not complete yet
  struct {
    std::atomic<std::uint32_t> turn;
    std::atomic<std::uint64_t> size;
  } parts[kParts];
};

namespace {

constexpr std::uint64_t kTableBytes = page_up(ProcessBoard::kEntries * 128);
constexpr std::uint64_t kWindowBytes = [] {
  std::uint64_t sum = 0;
  for (const std::uint64_t bytes : ProcessBoard::kPartBytes) sum += bytes;
  return sum;
}();
constexpr std::chrono::seconds kLongestWrite{1};

/// Returns the start time of a host process, in clock ticks since boot (field 22 of stat, proc(5)), or 0 if
/// no such process exists.
std::uint64_t host_start_of(int host_pid) {
  char text[1024] = {};
  std::snprintf(text, sizeof text, "/proc/%d/stat", host_pid);
  const LiftedLimits lifted;
  const int file = open(text, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  text[size > 0 ? size : 0] = 0;
  const char* at = std::strrchr(text, ')');
  for (int field = 2; at != nullptr && field < 22; ++field) at = std::strchr(at + 1, ' ');
  return at != nullptr ? std::strtoull(at, nullptr, 10) : 0;
}

}  // namespace

ProcessBoard::ProcessBoard(int inherited) {
  static_assert(sizeof(Entry) <= 128);
  if (inherited < 0) return;
  descriptor_ = reserve_descriptor(inherited);
  map();
}

void ProcessBoard::make() {
  if (descriptor_ >= 0) return;
  const LiftedLimits lifted;
  const int file = memfd_create("elision", MFD_CLOEXEC);
  if (file < 0) return;
  if (ftruncate(file, static_cast<off_t>(kTableBytes + kEntries * kWindowBytes)) != 0)
    return void(close(file));
  descriptor_ = reserve_descriptor(file);
  map();
}

bool ProcessBoard::map() {
  void* const memory = mmap(nullptr, kTableBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) return false;
  entries_ = static_cast<Entry*>(memory);
  return true;
}

int ProcessBoard::descriptor_over_exec() const {
  return descriptor_ < 0 ? -1 : fcntl(descriptor_, F_DUPFD, kFirstEngineDescriptor);
}

std::uint64_t ProcessBoard::place_of(const Entry& entry, Part part) const {
  std::uint64_t at = kTableBytes + static_cast<std::uint64_t>(&entry - entries_) * kWindowBytes;
  for (unsigned before = 0; before < part; ++before) at += kPartBytes[before];
  return at;
}

ProcessBoard::Entry* ProcessBoard::find(int host_pid) const {
  for (std::size_t i = 0; entries_ != nullptr && i < kEntries; ++i)
    if (entries_[i].host_pid == host_pid) return &entries_[i];
  return nullptr;
}

ProcessBoard::Entry* ProcessBoard::take(int host_pid) {
  for (const bool of_the_dead : {false, true})
    for (std::size_t i = 0; entries_ != nullptr && i < kEntries; ++i) {
      Entry& entry = entries_[i];
      int owner = of_the_dead ? entry.host_pid.load() : 0;
      if (owner != 0 && !is_gone(owner)) continue;
      if (entry.host_pid.compare_exchange_strong(owner, host_pid)) return &entry;
    }
  return nullptr;
}

bool ProcessBoard::claim(int host_pid) {
  if (!exists()) return false;
  if (window_ != nullptr) munmap(window_, kWindowBytes);  // of the process that forked this one
  window_ = nullptr;
  own_ = nullptr;
  const std::uint64_t start = host_start_of(host_pid);
  if (start == 0) return false;
  Entry* entry = find(host_pid);
  const bool is_of_image_before = entry != nullptr && entry->host_start == start;
  if (entry == nullptr) entry = take(host_pid);
  if (entry == nullptr) return false;
  const auto at = static_cast<off_t>(place_of(*entry, kThreads));
  if (!is_of_image_before) {
    entry->host_start = 0;
    for (auto& part : entry->parts) part.turn += part.turn % 2, part.size = 0;
    fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, kWindowBytes);
  }
  void* const memory = mmap(nullptr, kWindowBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, at);
  if (memory == MAP_FAILED) return entry->host_pid = 0, false;
  window_ = static_cast<char*>(memory);
  own_ = entry;
  own_->host_start = start;
  return true;
}

void ProcessBoard::leave() {
  if (!is_claimed()) return;
  own_->host_start = 0;
  own_->host_pid = 0;
  own_ = nullptr;
}

char* ProcessBoard::publish(Part part, const std::string& bytes) {
  if (!is_claimed()) return nullptr;
  auto& state = own_->parts[part];
  char* const place = window_ + (place_of(*own_, part) - place_of(*own_, kThreads));
  const bool fits = bytes.size() <= kPartBytes[part];
  if (state.turn % 2 == 0) ++state.turn;
  if (fits) std::memcpy(place, bytes.data(), bytes.size());
  state.size = fits ? bytes.size() : 0;
  ++state.turn;
  return fits ? place : nullptr;
}

/// A writer that the host has put aside is waited for, and one that has ended in the middle is not.
std::optional<std::string> ProcessBoard::read(int host_pid, Part part) const {
  const Entry* const entry = find(host_pid);
  const std::uint64_t start = entry != nullptr ? entry->host_start.load() : 0;
  if (start == 0 || start != host_start_of(host_pid)) return std::nullopt;
  const auto& state = entry->parts[part];
  const auto deadline = std::chrono::steady_clock::now() + kLongestWrite;
  std::string bytes;
  do {
    const std::uint32_t turn = state.turn;
    if (turn % 2 == 0) {
      bytes.resize(std::min<std::uint64_t>(state.size, kPartBytes[part]));
      const ssize_t got =
          pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(place_of(*entry, part)));
      if (entry->host_pid != host_pid || entry->host_start != start) return std::nullopt;  // another's by now
      if (state.turn == turn)
        return got == static_cast<ssize_t>(bytes.size()) ? std::optional(bytes) : std::nullopt;
    }
    sched_yield();
  } while (std::chrono::steady_clock::now() < deadline);
  return std::nullopt;
}

std::vector<int> ProcessBoard::host_pids() const {
  std::vector<int> result;
  for (std::size_t i = 0; entries_ != nullptr && i < kEntries; ++i)
    if (const int host_pid = entries_[i].host_pid; host_pid != 0) result.push_back(host_pid);
  return result;
}

}  // namespace elision::vm
