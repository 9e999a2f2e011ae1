// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/process/cpu_time_board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "vm/host/reserved_descriptors.h"
#include "vm/linux/process/process_ids.h"

namespace elision::vm {
namespace {

constexpr std::size_t kEntries = 4096;
constexpr std::size_t kProbes = 64;

}  // namespace

struct CpuTimeBoard::Entry {
  std::atomic<int> host_pid;  // 0: free
  std::atomic<Nanoseconds> time;
};

CpuTimeBoard::CpuTimeBoard(int inherited) {
  if (inherited < 0) return;
  descriptor_ = reserve_descriptor(inherited);
  map();
}

void CpuTimeBoard::make() {
  if (descriptor_ >= 0) return;
  const int file = memfd_create("elision", MFD_CLOEXEC);
  if (file < 0) return;
  if (ftruncate(file, kEntries * sizeof(Entry)) != 0) return void(close(file));
  descriptor_ = reserve_descriptor(file);
  map();
}

void CpuTimeBoard::map() {
  void* const memory =
      mmap(nullptr, kEntries * sizeof(Entry), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory != MAP_FAILED) entries_ = static_cast<Entry*>(memory);
}

int CpuTimeBoard::descriptor_over_exec() const {
  return descriptor_ < 0 ? -1 : fcntl(descriptor_, F_DUPFD, kFirstEngineDescriptor);
}

CpuTimeBoard::Entry* CpuTimeBoard::find(int host_pid, bool claim) {
  if (entries_ == nullptr) return nullptr;
  for (std::size_t i = 0; i < kProbes; ++i) {
    Entry& entry = entries_[(static_cast<std::size_t>(host_pid) + i) % kEntries];
    if (entry.host_pid == host_pid) return &entry;
  }
  for (const bool of_the_dead : {false, true})
    for (std::size_t i = 0; i < kProbes && claim; ++i) {
      Entry& entry = entries_[(static_cast<std::size_t>(host_pid) + i) % kEntries];
      int owner = of_the_dead ? entry.host_pid.load() : 0;
      if (owner != 0 && !is_gone(owner)) continue;  // nobody will ask for its time
      if (entry.host_pid.compare_exchange_strong(owner, host_pid)) return &entry;
    }
  return nullptr;
}

void CpuTimeBoard::publish(int host_pid, Nanoseconds time) {
  if (Entry* const entry = find(host_pid, true)) entry->time = time;
}

Nanoseconds CpuTimeBoard::look(int host_pid, bool forget) {
  Entry* const entry = find(host_pid, false);
  if (entry == nullptr) return 0;
  const Nanoseconds time = entry->time;
  if (forget) entry->host_pid = 0;
  return time;
}

}  // namespace elision::vm
