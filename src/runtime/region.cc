// SPDX-License-Identifier: Apache-2.0
#include "runtime/region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/raw_output.h"

namespace elision::runtime {
namespace {

constexpr long kMostFiles = 1000000;

/// Serves when no address space can be reserved.
struct StaticRegion {
  abi::CountersHeader header;
  abi::CounterSlot slot;
};
constinit StaticRegion static_region{};

/// A file larger than the limit would not fail but kill the process (SIGXFSZ).
bool file_size_is_allowed() {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= abi::kCountersFileBytes;
}

/// Creates DIR/NNNN.counters with the next free number; -1 if that cannot be done.
int create_file(const char* directory, long& number) {
  for (number = 0; number < kMostFiles; ++number) {
    Line path;
    path.text(directory).text("/");
    for (long padding = 1000; padding > 1 && number < padding; padding /= 10) path.text("0");
    path.decimal(static_cast<std::uint64_t>(number)).text(".counters");
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file >= 0) {
      if (ftruncate(file, abi::kCountersFileBytes) == 0) return file;
      unlink(path.c_str());
      close(file);
      break;
    }
    if (errno != EEXIST) break;
  }
  number = -1;
  return -1;
}

/// Maps a new region, at `place` if that is not null. Null if there is no address space.
void* map_region(const char* directory, void* place, long& number) {
  const int saved_errno = errno;
  const int fixed = place != nullptr ? MAP_FIXED : 0;
  void* memory = MAP_FAILED;
  number = -1;
  if (directory != nullptr && file_size_is_allowed()) {
    const int file = create_file(directory, number);
    if (file >= 0) {
      memory = mmap(place, abi::kCountersFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED | fixed, file, 0);
      close(file);
    }
  }
  if (memory == MAP_FAILED) {
    memory = mmap(place, abi::kCountersFileBytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
  }
  errno = saved_errno;
  return memory == MAP_FAILED ? nullptr : memory;
}

bool thread_is_gone(std::uint32_t thread_id) {
  const int saved_errno = errno;
  const bool gone = syscall(SYS_tgkill, getpid(), thread_id, 0) != 0 && errno == ESRCH;
  errno = saved_errno;
  return gone;
}

}  // namespace

void Region::open(const char* directory) {
  void* memory = map_region(directory, nullptr, file_number_);
  if (memory == nullptr) {
    header_ = &static_region.header;
    slots_ = &static_region.slot;
  } else {
    header_ = static_cast<abi::CountersHeader*>(memory);
    slots_ = reinterpret_cast<abi::CounterSlot*>(static_cast<char*>(memory) + abi::kCountersHeaderBytes);
    slot_count_ = abi::kCounterSlots;
  }
  header_->slot_count = slot_count_;
  header_->next_slot = 1;  // slot 0 is the shared one
}

void Region::reopen_in_child(const char* directory) {
  if (header_ == &static_region.header) {
    static_region = {};
  } else if (map_region(directory, header_, file_number_) == nullptr) {
    // Nothing new could be mapped. What is there belongs to the parent: keep writing to memory of our own.
    header_ = &static_region.header;
    slots_ = &static_region.slot;
    slot_count_ = 1;
  }
  take_over_from_ = 1;
  header_->slot_count = slot_count_;
  header_->next_slot = 1;
}

void Region::publish() { __atomic_store_n(&header_->magic, abi::kCountersMagic, __ATOMIC_RELEASE); }

abi::CounterSlot& Region::claim_slot(std::uint32_t thread_id, bool& shared) {
  shared = false;
  std::uint32_t& next = header_->next_slot;
  if (__atomic_load_n(&next, __ATOMIC_RELAXED) < slot_count_) {
    const std::uint32_t index = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
    if (index < slot_count_) {
      __atomic_store_n(&slots_[index].thread_id, thread_id, __ATOMIC_RELAXED);
      return slots_[index];
    }
  }
  if (abi::CounterSlot* slot = take_over_slot(thread_id)) return *slot;
  shared = true;
  __atomic_store_n(&slots_[0].thread_id, thread_id, __ATOMIC_RELAXED);
  return slots_[0];
}

/// Once all slots were claimed, a new thread goes on counting in that of a thread that ended.
abi::CounterSlot* Region::take_over_slot(std::uint32_t thread_id) {
  const std::uint32_t start = __atomic_load_n(&take_over_from_, __ATOMIC_RELAXED);
  for (std::uint32_t step = 0; step + 1 < slot_count_; ++step) {
    const std::uint32_t index = 1 + (start - 1 + step) % (slot_count_ - 1);
    std::uint32_t owner = __atomic_load_n(&slots_[index].thread_id, __ATOMIC_RELAXED);
    if (owner == 0 || !thread_is_gone(owner)) continue;
    if (!__atomic_compare_exchange_n(&slots_[index].thread_id, &owner, thread_id, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED)) {
      continue;
    }
    __atomic_store_n(&take_over_from_, index + 1 < slot_count_ ? index + 1 : 1, __ATOMIC_RELAXED);
    return &slots_[index];
  }
  return nullptr;
}

abi::CounterEntry& entry_of(abi::CounterSlot& slot, const void* lock, const void* site) {
  constexpr std::size_t kPlaces = abi::kCounterEntries - 1;
  constexpr std::size_t kMostProbes = 16;
  const auto lock_number = reinterpret_cast<std::uint64_t>(lock);
  const auto site_number = reinterpret_cast<std::uint64_t>(site);
  const std::uint64_t hash = ((lock_number >> 3) ^ (site_number << 1)) * 0x9e3779b97f4a7c15ULL;
  for (std::size_t probe = 0; probe < kMostProbes; ++probe) {
    abi::CounterEntry& entry = slot.entries[1 + ((hash >> 40) + probe) % kPlaces];
    if (entry.lock == lock_number && entry.site == site_number) return entry;
    if (entry.lock == 0) {
      entry.site = site_number;
      entry.lock = lock_number;
      ++slot.entries_used;
      return entry;
    }
  }
  ++slot.merged;
  return slot.entries[0];
}

}  // namespace elision::runtime
