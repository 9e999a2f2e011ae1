// SPDX-License-Identifier: Apache-2.0
// Engine services for tests of the kernel alone. The test sets the time; timers and wake-ups are recorded.
#pragma once

#include <cstdlib>
#include <map>
#include <set>
#include <vector>

#include "base/random.h"
#include "vm/interface/engine_services.h"

namespace elision::vm {

class FakeEngine final : public EngineServices {
 public:
  Nanoseconds now(const Thread&) const override { return time; }
  std::uint64_t random() override { return numbers.next(); }
  unsigned cpu_count() const override { return 4; }
  unsigned cpu_of(const Thread&) const override { return 0; }
  ThreadCounts counts(const Thread&) const override { return counted; }
  void set_count_limits(Thread&, const CountLimits& limits) override { count_limits = limits; }
  void record_branches(std::uint32_t kinds) override { recorded_branches = kinds; }
  void count_accesses(std::uint32_t kinds) override { counted_accesses = kinds; }
  Thread& create_thread(const GuestState& state, Thread&) override {
    made.push_back(std::make_unique<Thread>());
    made.back()->state = state;
    return *made.back();
  }
  void end_thread(Thread&) override {}
  void park(Thread& thread, Nanoseconds deadline, std::function<void()> on_timeout) override {
    timeouts[&thread] = {deadline, std::move(on_timeout)};
  }
  void unpark(Thread& thread, const Thread*) override { unparked.push_back(&thread); }
  void hold(Thread& thread) override { stopped.insert(&thread); }
  bool is_held(const Thread& thread) const override { return stopped.contains(&thread); }
  void release(Thread& thread) override { stopped.erase(&thread); }
  void yield(Thread&) override {}
  void affinity_changed(Thread&) override {}
  std::vector<Thread*> threads() override { return {}; }
  void request_signal_delivery(Thread& thread) override { wanted.push_back(&thread); }
  void call_at(Nanoseconds at, std::function<void()> what) override { calls.emplace(at, std::move(what)); }
  void end_all_transactions() override { ++ended_transactions; }
  void forget_code(std::uint64_t begin, std::uint64_t end) override { forgotten.emplace_back(begin, end); }
  void set_huge_pages(std::uint64_t begin, std::uint64_t end, bool huge) override {
    huge_pages.push_back({begin, end, huge});
  }
  void set_untouched(std::uint64_t begin, std::uint64_t end, bool untouched) override {
    untouched_pages.push_back({begin, end, untouched});
  }
  void set_shared(std::uint64_t begin, std::uint64_t end, bool shared) override {
    shared_memory.push_back({begin, end, shared});
  }
  void end_conflicting(std::uint64_t address, std::uint64_t size, bool write) override {
    accesses.push_back({nullptr, address, size, write});
  }
  void prepare_filling(std::uint64_t address, std::uint64_t size) override {
    accesses.push_back({nullptr, address, size, false});
  }
  void host_access(Thread* thread, std::uint64_t address, std::uint64_t size, bool write) override {
    accesses.push_back({thread, address, size, write});
  }
  void keep_only(Thread&) override {}
  void begin_vfork(Thread&) override { std::abort(); }
  void end_vfork() override { std::abort(); }
  void run_vfork_child() override { std::abort(); }
  void report_crash(Thread&, const siginfo_t&, const std::string&) override {}
  void write_statistics(int) override {}
  int final_exit_code(int exit_code) override { return exit_code; }
  bool region_is_complete() const override { return true; }

  /// Moves time to `to` and makes the calls that are due, in order.
  void advance(Nanoseconds to) {
    while (!calls.empty() && calls.begin()->first <= to) {
      time = calls.begin()->first;
      const auto what = std::move(calls.begin()->second);
      calls.erase(calls.begin());
      what();
    }
    time = to;
  }

  Nanoseconds time = 0;
  ThreadCounts counted;
  std::uint32_t recorded_branches = 0;
  std::uint32_t counted_accesses = 0;
  CountLimits count_limits;
  Random numbers{1};
  std::vector<std::unique_ptr<Thread>> made;
  std::vector<Thread*> unparked, wanted;
  std::set<const Thread*> stopped;
  std::map<Thread*, std::pair<Nanoseconds, std::function<void()>>> timeouts;
  std::multimap<Nanoseconds, std::function<void()>> calls;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> forgotten;
  int ended_transactions = 0;
  struct HugePages {
    std::uint64_t begin, end;
    bool huge;
  };
  std::vector<HugePages> huge_pages;
  struct UntouchedPages {
    std::uint64_t begin, end;
    bool untouched;
    bool operator==(const UntouchedPages&) const = default;
  };
  std::vector<UntouchedPages> untouched_pages;
  struct Shared {
    std::uint64_t begin, end;
    bool shared;
  };
  std::vector<Shared> shared_memory;
  struct Access {
    Thread* thread;
    std::uint64_t address, size;
    bool write;
  };
  std::vector<Access> accesses;
};

}  // namespace elision::vm
