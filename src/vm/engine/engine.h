// SPDX-License-Identifier: Apache-2.0
// The virtual machine of one process: the run loop, and the handling of exits from translated code. Its
// parts: Scheduler (threads on CPUs), Timers, RegionControl (which part is simulated), CodeManager
// (translations), Transactions, Statistics.
//
// All CPUs run on one host thread. run() always resumes the CPU that is earliest in virtual time. Ordered
// exits (system calls, transaction begins and ends, clock reads) wait until their CPU is the earliest.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "machine/description.h"
#include "vm/cpu/profile.h"
#include "vm/cpu/remote_aborts.h"
#include "vm/cpu/shared_memory.h"
#include "vm/engine/code_manager.h"
#include "vm/engine/engine_context.h"
#include "vm/engine/region_control.h"
#include "vm/engine/scheduler.h"
#include "vm/engine/snapshot_server.h"
#include "vm/engine/statistics.h"
#include "vm/engine/timers.h"
#include "vm/engine/transactions.h"
#include "vm/interface/engine_services.h"
#include "vm/interface/options.h"
#include "vm/linux/kernel.h"
#include "vm/report/symbols.h"

namespace elision::abi {
struct DesignChange;
}

namespace elision::vm {

struct GuestPlace;
struct ThreadPlace;

class Engine final : public EngineServices {
 public:
  /// Throws std::runtime_error or std::bad_alloc if the host lacks memory for CPUs or code.
  Engine(const Options& options, const machine::Description& machine, std::string machine_name);
  ~Engine() override;

  /// Loads and runs `program`. The process ends when the guest ends. Returns an error message only if the
  /// program could not be loaded.
  std::string run_program(CheckedProgram& program, std::vector<std::string> environment,
                          const MachineIdentity& identity, const ProcessOrigin& origin);

  // EngineServices
  Nanoseconds now(const Thread& thread) const override { return scheduler_.now(thread); }
  std::uint64_t random() override { return random_.next(); }
  unsigned cpu_count() const override { return static_cast<unsigned>(context_.cpus.size()); }
  unsigned cpu_of(const Thread& thread) const override { return Scheduler::of(thread).last_cpu; }
  ThreadCounts counts(const Thread& thread) const override { return scheduler_.counts(thread); }
  void set_count_limits(Thread& thread, const CountLimits& limits) override {
    scheduler_.set_count_limits(thread, limits);
  }
  void record_branches(std::uint32_t kinds) override { code_.record_branches(kinds); }
  void count_accesses(std::uint32_t kinds) override { code_.count_accesses(kinds); }
  Thread& create_thread(const GuestState& state, Thread& creator) override;
  void end_thread(Thread& thread) override;
  void park(Thread& thread, Nanoseconds deadline, std::function<void()> on_timeout) override {
    scheduler_.park(thread, deadline, std::move(on_timeout));
  }
  void unpark(Thread& thread, const Thread* waker) override { scheduler_.unpark(thread, waker); }
  void hold(Thread& thread) override { scheduler_.hold(thread); }
  bool is_held(const Thread& thread) const override { return scheduler_.is_held(thread); }
  void release(Thread& thread) override { scheduler_.release(thread); }
  void yield(Thread& thread) override { scheduler_.yield(thread); }
  void affinity_changed(Thread& thread) override { scheduler_.affinity_changed(thread); }
  std::vector<Thread*> threads() override;
  void request_signal_delivery(Thread& thread) override { scheduler_.request_signal_delivery(thread); }
  void call_at(Nanoseconds at, std::function<void()> what) override { timers_.add(at, std::move(what)); }
  void end_all_transactions() override { transactions_.end_all(); }
  void forget_code(std::uint64_t begin, std::uint64_t end) override { code_.forget(begin, end); }
  void set_untouched(std::uint64_t begin, std::uint64_t end, bool untouched) override {
    context_.model->set_untouched(GuestAddr(begin), GuestAddr(end), untouched);
  }
  void set_huge_pages(std::uint64_t begin, std::uint64_t end, bool huge) override {
    context_.model->set_huge_pages(GuestAddr(begin), GuestAddr(end), huge);
  }
  void set_shared(std::uint64_t begin, std::uint64_t end, bool shared) override;
  void end_conflicting(std::uint64_t address, std::uint64_t size, bool write) override;
  void prepare_filling(std::uint64_t address, std::uint64_t size) override;
  void host_access(Thread* thread, std::uint64_t address, std::uint64_t size, bool write) override;
  void keep_only(Thread& survivor) override;
  void begin_vfork(Thread& parent) override;
  void end_vfork() override;
  [[noreturn]] void run_vfork_child() override;
  void report_crash(Thread& thread, const siginfo_t& info, const std::string& note) override;
  void write_statistics(int exit_status) override { write_statistics(exit_status, false); }
  int final_exit_code(int exit_code) override;
  bool region_is_complete() const override { return region_.why_incomplete().empty(); }

  /// Where the guest is, for the report of an engine failure. Async-signal-safe.
  void locate(GuestPlace& place) const;

 private:
  // engine.cc
  [[noreturn]] void run() noexcept;  // an exception in it is an engine failure
  void idle();
  void handle_exit(Cpu& cpu);
  void handle_ordered_exit(Cpu& cpu, Exit& exit);
  bool must_wait(Cpu& cpu, Exit& exit);

  void keep_account();
  void begin_account();
  void close_account();
  void change_phase();
  void end_part();
  void set_fast(bool fast);

  // snapshot.cc
  void keep_output();
  void offer_snapshot();
  [[noreturn]] void refuse_snapshots(const std::string& why);
  void end_serving();
  std::string why_no_snapshot();
  std::string why_no_snapshot_now();
  std::string why_not_this_run(const HandOver& run);
  const abi::DesignChange* design_change();
  const abi::DesignChange* find_design_change() const;
  bool is_under_glibcs_locks() const;
  void become_copy(const CopyRequest& request);
  void change_design(const std::vector<std::string>& environment);

  // reports.cc
  void prepare_for_failure();
  ThreadPlace place_of(const Thread& thread) const;
  void write_statistics(int exit_status, bool deadlocked);
  void write_statistics(std::optional<int> exit_status, bool deadlocked,
                        const nlohmann::ordered_json& profile);
  nlohmann::ordered_json report_profile();
  [[noreturn]] void end_by_deadlock();
  [[noreturn]] void end_with_region();
  [[noreturn]] void refuse_region(const std::string& why);
  nlohmann::ordered_json lock_times();
  void tell_unsupported(std::uint64_t pc);
  /// Prints to standard error, unless the guest has replaced it by another file.
  static void tell(const std::string& line);
  /// Prints to the standard error of the start: many programs close theirs before they end.
  void say_at_the_end(const std::string& text) const;

  // exits.cc
  void system_call(Cpu& cpu, Exit& exit);
  void fence(Cpu& cpu, Exit& exit);
  void read_clock(Cpu& cpu, Exit& exit);
  void read_xcr(Cpu& cpu, Exit& exit);
  void cpuid(Cpu& cpu, Exit& exit);
  void random_number(Cpu& cpu, Exit& exit);
  void transaction_begin(Cpu& cpu, Exit& exit, bool always_abort);
  void transaction_end(Cpu& cpu, Exit& exit);
  void begin_logged(Cpu& cpu, const Exit& begin);
  void end_logged(Cpu& cpu, const Exit& end);
  void complex_access(Cpu& cpu, Exit& exit);
  void interrupt(Cpu& cpu);
  void look_at_counts(Cpu& cpu);
  void deliver_signals(Cpu& cpu);
  void mark(Cpu& cpu, Exit& exit);
  void part_marker(Cpu& cpu, Exit& exit);
  void watched_code(Cpu& cpu);
  void begin_evidence(Cpu& cpu);
  void settle_waits(const Cpu& cpu);
  void settle_conflict(Cpu& cpu);
  bool is_lock_library(std::uint64_t pc);
  void note_calls(Cpu& cpu, const Exit& exit);
  void keep_path(const profile::Account::PathDue& due, StackCopy stack, const Thread& thread);
  void settle_callers();
  void add_paths(profile::Profile& profile, double ns_per_cycle) const;
  void unsupported(Cpu& cpu, Exit& exit);
  void fetch_fault(Cpu& cpu);
  void raise_fault(Cpu& cpu, std::uint64_t pc, int signal, int code, std::uint64_t address);
  void host_fault(Cpu& cpu);
  void charge(Cpu& cpu, std::uint32_t cycles) { cpu.advance_to(cpu.clock() + Cycles(cycles)); }

  Options options_;
  std::string program_;
  EngineContext context_;
  Transactions transactions_;
  RemoteAborts remote_aborts_;
  CodeManager code_;
  Timers timers_;
  RegionControl region_;
  Scheduler scheduler_;
  Statistics statistics_;
  SharedMemory shared_memory_;
  std::unique_ptr<profile::Account> account_;  // with Options::lock_times
  struct WaitBegun {
    std::uint64_t lock, site;
    StackCopy stack;
  };
  std::vector<WaitBegun> waits_begun_;  // with it
  struct PathSample {
    profile::Account::PathDue due;
    int tid;
    StackCopy stack;
  };
  std::vector<PathSample> path_samples_;                              // with it
  std::map<int, std::string> thread_names_;                           // with it, of threads in path_samples_
  std::vector<std::unique_ptr<ConflictEvidence>> conflict_evidence_;  // with it, of each CPU
  std::unordered_map<std::uint64_t, bool>
      library_pages_;                       // with it, of code in conflicts: see is_lock_library()
  std::unique_ptr<EngineProfile> profile_;  // with Options::profile
  bool account_is_open_ = false;            // with it, while the run is counted
  Cycles closed_at_{0};
  /// A standard descriptor, as the process began.
  struct Standard {
    bool is_open = false;
    dev_t device = 0;
    ino_t inode = 0;
  };
  std::unique_ptr<SnapshotServer> snapshot_server_;       // with Options::serves
  Standard standard_at_start_[3];                         // with it
  int replaced_outputs_[2] = {-1, -1};                    // with it: standard output and error
  std::vector<std::string> environment_at_start_;         // with it
  unsigned snapshot_tries_ = 0;                           // with it
  const abi::DesignChange* library_of_design_ = nullptr;  // with it, once it is loaded
  int last_words_ = -1;                                   // the descriptor of say_at_the_end()
  void enter(Cpu* cpu);
  void take_off_overlap(Cpu& cpu, ExitReason reason);
  void (*enter_)(Cpu* cpu);  // elision_enter, or its timed form
  std::unique_ptr<Kernel> kernel_;
  Random random_;
};

/// The engine of this process (for the host signal handlers).
extern Engine* the_engine;

}  // namespace elision::vm
