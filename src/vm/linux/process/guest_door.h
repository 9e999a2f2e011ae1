// SPDX-License-Identifier: Apache-2.0
// The door of a process: every access of the kernel to guest memory goes through it (guest_memory.h).
#pragma once

#include <utility>

#include "vm/host/guest_memory.h"
#include "vm/linux/process/process.h"

namespace elision::vm {

/// Of the process: what all handlers read and write goes through it, on behalf of the thread that acts.
class ProcessDoor final : public GuestDoor {
 public:
  explicit ProcessDoor(Process& process) : process_(process) {}
  void open(std::uint64_t address, std::uint64_t size, bool write) override;

 private:
  Process& process_;
};

/// While it lives, the kernel acts for `thread`: its CPU makes the accesses, if it is on one.
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
