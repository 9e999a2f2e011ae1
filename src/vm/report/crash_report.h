// SPDX-License-Identifier: Apache-2.0
// Reports of a program's death by its own fault, and of a deadlock of all its threads. Pure except for
// reading guest memory; engine/reports.cc decides where a report is written.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "vm/interface/guest_state.h"

namespace elision::vm {

class Symbols;

inline constexpr const char* kDeadlock = "elision vm: deadlock: every thread waits for another";
inline constexpr std::size_t kMostFrames = 64;
inline constexpr std::size_t kMostThreads = 16;

/// A thread's position, as a report names it.
struct ThreadPlace {
  int tid = 0;
  std::string name;
  const GuestState* state = nullptr;
  std::string waits_for;  // a system call; deadlocks only
};

struct Crash {
  siginfo_t info{};
  ThreadPlace thread;
  std::string program;
  std::uint64_t cycle = 0;
  unsigned cpu = 0;
  std::string command;  // repeats the run
  std::string note;     // one more line, or nothing
};

/// "SIGSEGV (address not mapped) at 0x10".
std::string describe_signal(const siginfo_t& info);

std::string crash_report(const Crash& crash, Symbols& symbols);

/// The threads of a deadlock, each with the system call in which it waits.
std::string deadlock_report(const std::vector<ThreadPlace>& threads, const std::string& program,
                            const std::string& command, Symbols& symbols);

}  // namespace elision::vm
