// SPDX-License-Identifier: Apache-2.0
#include "tm/counters_region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "runtime/raw_output.h"
#include "tm/process.h"

namespace elision::tm {
namespace {

constexpr long kMostFiles = 1000000;

constinit abi::TmCountersHeader plain_header{};
constinit abi::TmCounters plain_slots[abi::kTmCounterSlots]{};
constinit abi::TmCounters* slots = plain_slots;
constinit std::atomic<bool> in_use[abi::kTmCounterSlots]{};

/// Creates the file with the next free number. Returns its descriptor, or -1.
int create_file(const char* directory) {
  for (long number = 0; number < kMostFiles; ++number) {
    runtime::Line path;
    path.text(directory)
        .text("/")
        .decimal(static_cast<std::uint64_t>(number))
        .text(abi::kTmCountersExtension);
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

/// Maps a new file, with room on the file system for all of it. Null if that fails.
void* map_new_file(const char* directory) {
  const int file = create_file(directory);
  if (file < 0) return nullptr;
  void* memory = MAP_FAILED;
  if (posix_fallocate(file, 0, abi::kTmCountersFileBytes) == 0)
    memory = mmap(nullptr, abi::kTmCountersFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

void open_counters() {
  const int saved_errno = errno;
  auto* header = &plain_header;
  slots = plain_slots;
  void* const file =
      process.counters_directory != nullptr ? map_new_file(process.counters_directory) : nullptr;
  if (file != nullptr) {
    header = static_cast<abi::TmCountersHeader*>(file);
    slots = reinterpret_cast<abi::TmCounters*>(static_cast<char*>(file) + abi::kTmCountersHeaderBytes);
  }
  for (auto& used : in_use) used.store(false, std::memory_order_relaxed);
  header->version = abi::kTmCountersVersion;
  header->slot_bytes = sizeof(abi::TmCounters);
  header->slots = abi::kTmCounterSlots;
  header->process_id = static_cast<std::uint32_t>(getpid());
  header->mode = static_cast<std::uint32_t>(process.mode);
  header->two_speed = process.two_speed ? 1 : 0;
  header->has_rtm = process.has_rtm ? 1 : 0;
  __atomic_store_n(&header->magic, abi::kTmCountersMagic, __ATOMIC_RELEASE);
  errno = saved_errno;
}

abi::TmCounters* claim_counters() {
  for (std::uint32_t i = 1; i < abi::kTmCounterSlots; ++i) {
    if (!in_use[i].exchange(true, std::memory_order_acquire)) return &slots[i];
  }
  return &slots[0];
}

void give_counters_back(abi::TmCounters* counters) {
  in_use[counters - slots].store(false, std::memory_order_release);
}

}  // namespace elision::tm
