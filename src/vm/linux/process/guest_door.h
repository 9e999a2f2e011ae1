// SPDX-License-Identifier: Apache-2.0
// The door of a process (guest_memory.h): before the kernel accesses guest memory, transactions that conflict
// end.
#pragma once

#include <utility>

#include "vm/host/guest_memory.h"
#include "vm/linux/process/process.h"

namespace elision::vm {

/// Charges each access to the thread for which the kernel acts.
class ProcessDoor final : public GuestDoor {
 public:
  explicit ProcessDoor(Process& process) : process_(process) {}
  void open(std::uint64_t address, std::uint64_t size, bool write) override;

 private:
  Process& process_;
};

/// In its scope the kernel acts for `thread`. If the thread is on a CPU, that CPU makes the accesses.
class ActingThread {
 public:
  ActingThread(Process& process, Thread& thread)
      : process_(process), before_(std::exchange(process.acting, &thread)) {}
  ~ActingThread() { process_.acting = before_; }
  ActingThread(const ActingThread&) = delete;
  ActingThread& operator=(const ActingThread&) = delete;

 private:
  Process& process_;
  Thread* before_;
};

}  // namespace elision::vm
