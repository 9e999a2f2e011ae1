// SPDX-License-Identifier: Apache-2.0
// A small, exact machine for unit tests: round latencies, no jitter, a log of aborts, and a driver that acts
// like the engine: it consults the filter first and retries after kWait. For tests alone.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "machine/model.h"

namespace elision::machine::testing {

/// All latencies and their sums differ.
inline Description exact_description(unsigned cores = 4, unsigned threads_per_core = 1) {
  Description d;
  std::strcpy(d.name, "exact");
  d.frequency_mhz = d.core_mhz = 1000;
  d.topology = {1, cores, threads_per_core};
  d.core = {.issue_width = 4,
            .reorder_buffer_uops = 192,
            .load_buffer_entries = 72,
            .fill_buffers = 10,
            .store_buffer_entries = 6,
            .outstanding_stores = 3,
            .branch_misprediction_cycles = 15};
  d.l1d = {32, 8, 4};
  d.l1i = {32, 8, 4};
  d.l2 = {256, 8, 12};
  d.l3 = {2560, 20, 50};  // one slice of 2,048 sets
  d.l3_slices = 1;
  // Large and without cost. Tests of translation make it small and slow.
  d.tlb = {.data_entries = 16384,
           .data_ways = 16,
           .huge_entries = 32,
           .huge_ways = 4,
           .code_entries = 128,
           .code_ways = 4,
           .shared_entries = 1024,
           .shared_ways = 8,
           .shared_latency_cycles = 0,
           .walk_cycles = 0};
  d.memory_latency_cycles = 200;
  d.coherence = {.dirty_transfer_cycles = 100,
                 .clean_transfer_cycles = 90,
                 .upgrade_cycles = 70,
                 .hot_window_cycles = 10'000};
  d.transactions.begin_cycles = 20;
  d.transactions.commit_cycles = 25;
  d.transactions.commit_hold_cycles = 25;
  d.transactions.abort_cycles = 150;
  d.transactions.nesting_limit = 7;
  return d;
}

struct AbortRecord {
  unsigned victim;
  HardwareAbort cause;
  LineAddr line;
  unsigned requester;
  std::uint64_t now, resume;
  bool by_prefetch;
};

class TestMachine final : public AbortSink {
 public:
  explicit TestMachine(const Description& description, std::uint64_t seed = 1)
      : description_(description), storage_(description.topology.cpus()) {
    for (Filter& filter : storage_) pointers_.push_back(&filter);
    model_ = std::make_unique<Model>(description, description.topology.cpus(), seed, pointers_.data(), *this);
  }

  Model& model() { return *model_; }
  Filter& filter(unsigned cpu) { return storage_[cpu]; }
  std::vector<AbortRecord>& aborts() { return aborts_; }
  /// (CPU, line) of lines that transactions lost and went on.
  const std::vector<std::pair<unsigned, std::uint64_t>>& lost_lines() const { return lost_; }
  const CpuCounts& counts(unsigned cpu) { return model_->counts(CpuId(cpu)); }

  static Request request(unsigned cpu, std::uint64_t line, AccessKind kind, std::uint64_t now,
                         std::uint64_t address_ready = 0) {
    return {CpuId(cpu), LineAddr(line), kind, Cycles(now), Cycles(address_ready)};
  }
  /// The same for an access that is an ordered event, however far it reaches.
  static Request event(unsigned cpu, std::uint64_t line, AccessKind kind, std::uint64_t now,
                       std::uint64_t address_ready = 0) {
    Request event = request(cpu, line, kind, now, address_ready);
    event.least = Reach::kMachine;
    return event;
  }

  /// One ordered access, without retries.
  Reply once(unsigned cpu, std::uint64_t line, AccessKind kind, std::uint64_t now,
             std::uint64_t address_ready = 0) {
    return model_->access(event(cpu, line, kind, now, address_ready));
  }
  /// One ordered access, repeated while the reply is kWait.
  Reply access(unsigned cpu, std::uint64_t line, AccessKind kind, std::uint64_t now,
               std::uint64_t address_ready = 0) {
    Reply reply = once(cpu, line, kind, now, address_ready);
    while (reply.verdict == Reply::Verdict::kWait) {
      EXPECT_GT(reply.clock.value, now);
      now = reply.clock.value;
      reply = once(cpu, line, kind, now, address_ready);
    }
    return reply;
  }
  /// Accesses of a CPU without outstanding loads.
  Reply load(unsigned cpu, std::uint64_t line, std::uint64_t now) {
    return rested(cpu, line, AccessKind::kLoad, now);
  }
  Reply store(unsigned cpu, std::uint64_t line, std::uint64_t now) {
    return rested(cpu, line, AccessKind::kStore, now);
  }
  Reply atomic(unsigned cpu, std::uint64_t line, std::uint64_t now) {
    return rested(cpu, line, AccessKind::kAtomic, now);
  }
  Reply rested(unsigned cpu, std::uint64_t line, AccessKind kind, std::uint64_t now) {
    rest(cpu);
    return access(cpu, line, kind, now);
  }
  /// `cpu` waits for its loads.
  void rest(unsigned cpu) { model_->settle(CpuId(cpu), Cycles(0)); }
  /// Makes an access only if it is a local hit in L1. True if it was made.
  bool local_hit(unsigned cpu, std::uint64_t line, AccessKind kind, std::uint64_t now, bool fill = false) {
    Request asked = request(cpu, line, kind, now);
    asked.open = fill;
    asked.most = Reach::kL1;
    return model_->access(asked).verdict == Reply::Verdict::kDone;
  }

  /// When the value of a load that is a local hit arrives; 0: at once.
  Cycles local_load(unsigned cpu, std::uint64_t line, std::uint64_t now) {
    Request asked = request(cpu, line, AccessKind::kLoad, now);
    asked.most = Reach::kL1;
    const Reply reply = model_->access(asked);
    EXPECT_EQ(reply.verdict, Reply::Verdict::kDone);
    return reply.data_ready;
  }

  /// The look-up as translated code makes it; true on a hit.
  bool fast_path(unsigned cpu, std::uint64_t line, AccessKind kind, bool feeds_address = true) {
    return storage_[cpu].hit(LineAddr(line),
                             FilterEntry::tolerated(kind == AccessKind::kStore, feeds_address));
  }

  void expect_sound() { EXPECT_STREQ(model_->check_invariants(), nullptr); }

  void on_lost_line(CpuId victim, LineAddr line) override { lost_.emplace_back(victim.value, line.value); }
  void on_abort(const RemoteAbort& abort) override {
    EXPECT_FALSE(model_->in_transaction(abort.victim)) << "the model must have forgotten the transaction";
    aborts_.push_back({abort.victim.value, abort.cause, abort.line, abort.requester.value, abort.now.value,
                       abort.resume.value, abort.by_prefetch});
  }

 private:
  Description description_;
  std::vector<Filter> storage_;
  std::vector<Filter*> pointers_;
  std::unique_ptr<Model> model_;
  std::vector<AbortRecord> aborts_;
  std::vector<std::pair<unsigned, std::uint64_t>> lost_;
};

}  // namespace elision::machine::testing
