// SPDX-License-Identifier: Apache-2.0
#include "runtime/region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/shared_file.h"

extern "C" {
[[gnu::visibility("default"), gnu::used]] const elision::abi::CountersHeader* elision_counters = nullptr;
}

namespace elision::runtime {
namespace {

constexpr long kMostFiles = 1000000;

/// Used if no address space can be reserved.
struct StaticRegion {
  abi::CountersHeader header;
  abi::CounterSlot slot;
};
constinit StaticRegion static_region{};

constexpr std::size_t kReservedBytes = abi::kCountersHeaderBytes + abi::kCounterSlotBytes;

/// Creates the file with the next free number. Returns its descriptor, or -1 and errno.
int create_file(const char* directory, long& number) {
  for (number = 0; number < kMostFiles; ++number) {
    const int file = create_shared_file(path_of_file(directory, number, abi::kCountersExtension).c_str(),
                                        abi::kCountersFileBytes);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

/// Maps a new counter file. MAP_FAILED and errno: it cannot be had, and nothing is left of it.
void* map_new_file(const char* directory, void* place, long& number) {
  const int file = create_file(directory, number);
  if (file < 0) return MAP_FAILED;
  void* memory = map_shared_file(file, abi::kCountersFileBytes, kReservedBytes, place);
  if (memory != MAP_FAILED) return memory;
  const int error = errno;
  unlink(path_of_file(directory, number, abi::kCountersExtension).c_str());
  errno = error;
  return MAP_FAILED;
}

/// Leaves a note in the directory that a process has no counters, and why.
void note_absence(const char* directory, int error) {
  Line path;
  path.text(directory).text("/").text(abi::kNoCountersMark).decimal(static_cast<std::uint64_t>(error));
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file >= 0) close(file);
}

/// Maps a new region, at `place` if that is not null. Null if there is no address space.
void* map_region(const char* directory, void* place, Region::File& file) {
  const int saved_errno = errno;
  void* memory = MAP_FAILED;
  file = {};
  if (directory != nullptr) {
    memory = map_new_file(directory, place, file.number);
    if (memory == MAP_FAILED) {
      file = {-1, errno};
      note_absence(directory, file.error);
    }
  }
  if (memory == MAP_FAILED) {
    memory = mmap(place, abi::kCountersFileBytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (place != nullptr ? MAP_FIXED : 0), -1, 0);
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

Line path_of_file(const char* directory, long number, const char* extension) {
  Line path;
  path.text(directory).text("/");
  for (long padding = 1000; padding > 1 && number < padding; padding /= 10) path.text("0");
  path.decimal(static_cast<std::uint64_t>(number)).text(extension);
  return path;
}

void Region::open(const char* directory) {
  void* memory = map_region(directory, nullptr, file_);
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
  elision_counters = header_;
}

void Region::reopen_in_child(const char* directory) {
  if (header_ == &static_region.header) {
    static_region = {};
  } else if (map_region(directory, header_, file_) == nullptr) {
    // The old mapping is the parent's, and a new one failed. Use memory of our own.
    header_ = &static_region.header;
    slots_ = &static_region.slot;
    slot_count_ = 1;
  }
  if (slots_ != &static_region.slot) slot_count_ = abi::kCounterSlots;
  take_over_from_ = 1;
  header_->slot_count = slot_count_;
  header_->next_slot = 1;
  elision_counters = header_;
}

void Region::publish() { __atomic_store_n(&header_->magic, abi::kCountersMagic, __ATOMIC_RELEASE); }

abi::CounterSlot& Region::claim_slot(std::uint32_t thread_id, bool& shared) {
  shared = false;
  std::uint32_t& next = header_->next_slot;
  if (__atomic_load_n(&next, __ATOMIC_RELAXED) < slot_count()) {
    const std::uint32_t index = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
    if (index < slot_count() && has_room_for(index)) {
      __atomic_store_n(&slots_[index].thread_id, thread_id, __ATOMIC_RELAXED);
      return slots_[index];
    }
  }
  if (abi::CounterSlot* slot = take_over_slot(thread_id)) return *slot;
  shared = true;
  __atomic_store_n(&slots_[0].thread_id, thread_id, __ATOMIC_RELAXED);
  return slots_[0];
}

/// If there is no room for one slot, there is none for later ones either.
bool Region::has_room_for(std::uint32_t index) {
  if (file_.number < 0 || has_room(&slots_[index], abi::kCounterSlotBytes)) return true;
  std::uint32_t count = slot_count();
  while (index < count && !__atomic_compare_exchange_n(&slot_count_, &count, index, true, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED)) {
  }
  return false;
}

/// When all slots are claimed, a new thread continues the slot of a thread that ended.
abi::CounterSlot* Region::take_over_slot(std::uint32_t thread_id) {
  const std::uint32_t start = __atomic_load_n(&take_over_from_, __ATOMIC_RELAXED);
  const std::uint32_t count = slot_count();
  for (std::uint32_t step = 0; step + 1 < count; ++step) {
    const std::uint32_t index = 1 + (start - 1 + step) % (count - 1);
    std::uint32_t owner = __atomic_load_n(&slots_[index].thread_id, __ATOMIC_RELAXED);
    if (owner == 0 || !thread_is_gone(owner)) continue;
    if (!__atomic_compare_exchange_n(&slots_[index].thread_id, &owner, thread_id, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED)) {
      continue;
    }
    __atomic_store_n(&take_over_from_, index + 1 < count ? index + 1 : 1, __ATOMIC_RELAXED);
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
