// SPDX-License-Identifier: Apache-2.0
// The virtual machine of one process: virtual CPUs, their clocks, the threads on them, and what
// happens when translated code leaves to the host.
//
// One host thread. run() always continues the core that is earliest in virtual time; ordered exits
// (system calls, transaction begins and ends, clock reads) wait until their core is the earliest.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "machine/description.h"
#include "machine/model.h"
#include "vm/code/code_cache.h"
#include "vm/cpu/core.h"
#include "vm/cpu/light_path.h"
#include "vm/cpu/ordering.h"
#include "vm/cpu/profile.h"
#include "vm/cpu/shared_memory.h"
#include "vm/decode/guest_code.h"
#include "vm/interface/kernel.h"
#include "vm/interface/options.h"
#include "vm/linux/kernel_factory.h"
#include "vm/translate/translator.h"

namespace elision::vm {

struct GuestPlace;
struct ThreadPlace;

/// A guest thread and where it stands.
struct EngineThread {
  enum class State { kQueued, kOnCore, kParked, kHeld, kEnded };

  Thread thread;
  State state = State::kQueued;
  Core* core = nullptr;  // while on one
  unsigned last_cpu = 0;
  Cycles available{0};  // queued: not before
  bool wants_signals = false;
  bool hold = false;  // it may not run: it is kHeld, or becomes so where it would run on
  std::function<void()> on_timeout;
  std::uint64_t deadline_cycle = 0;   // of its timer, while it has one
  std::uint64_t deadline_number = 0;  // 0: none
  // statistics
  Cycles started{0};
  Cycles on_core_since{0};
  std::uint64_t instructions_at_start = 0;
  std::uint64_t busy_cycles = 0;
  std::uint64_t instructions = 0;
};

/// When a timer is due; of equal times the older goes first.
struct TimerKey {
  std::uint64_t cycle;
  std::uint64_t number;
  friend auto operator<=>(const TimerKey&, const TimerKey&) = default;
};

/// What a process that waits for its vfork child goes on with: the child uses its memory, and one core.
struct VforkParent {
  EngineThread* thread;
  Core* core;
  Ordering ordering;
  std::vector<EngineThread*> queue;
  std::map<TimerKey, std::function<void()>> timers;
  bool wants_signals;
  Cycles on_core_since;
  std::uint64_t instructions_at_start, busy_cycles, instructions;
};

class Engine final : public EngineServices, public machine::AbortSink {
 public:
  Engine(const Options& options, const machine::Description& machine, std::string machine_name);
  ~Engine() override;

  /// Loads `program` and runs it; the process ends when the guest does. Returns an error only if the
  /// program could not be loaded.
  std::string run_program(CheckedProgram& program, std::vector<std::string> environment,
                          const MachineIdentity& identity, const ProcessOrigin& origin);

  // EngineServices
  Nanoseconds now(const Thread& thread) const override;
  std::uint64_t random() override { return random_.next(); }
  unsigned cpu_count() const override { return static_cast<unsigned>(cores_.size()); }
  unsigned cpu_of(const Thread& thread) const override;
  Thread& create_thread(const GuestState& state, Thread& creator) override;
  void end_thread(Thread& thread) override;
  void park(Thread& thread, Nanoseconds deadline, std::function<void()> on_timeout) override;
  void unpark(Thread& thread, const Thread* waker) override;
  bool is_parked(const Thread& thread) const override;
  void hold(Thread& thread) override;
  bool is_held(const Thread& thread) const override;
  void release(Thread& thread) override;
  void yield(Thread& thread) override;
  void affinity_changed(Thread& thread) override;
  std::vector<Thread*> threads() override;
  void request_signal_delivery(Thread& thread) override;
  void call_at(Nanoseconds at, std::function<void()> what) override;
  void memory_changes() override;
  void forget_code(std::uint64_t begin, std::uint64_t end) override;
  void set_huge_pages(std::uint64_t begin, std::uint64_t end, bool huge) override;
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

  /// For a failure of the engine's own. Async-signal-safe.
  void locate(GuestPlace& place) const;

  // machine::AbortSink
  void on_abort(CpuId victim, machine::AbortCause cause, LineAddr line, CpuId requester, Cycles now) override;

 private:
  // engine.cc
  [[noreturn]] void run() noexcept;  // what is thrown in there is a failure of ours
  void idle();
  void fire_timers();
  void refresh_timer();
  TimerKey add_timer(Nanoseconds at, std::function<void()> what);
  void cancel_deadline(EngineThread& thread);
  void handle_exit(Core& core);
  bool must_wait(Core& core, Exit& exit);
  void wait_turn(Core& core, const Exit& exit);
  bool continue_at(Core& core, std::uint64_t pc);
  std::uint64_t host_address(std::uint64_t pc);
  void end_writers(std::uint64_t pc);
  std::vector<Core*> writers_of(std::uint64_t begin, std::uint64_t bytes);
  void end_transaction(Core& core, machine::AbortCause cause, Cycles now);
  void flush_code();
  void invalidate(const std::vector<std::uint64_t>& pages);
  bool code_changes(std::uint64_t begin, std::uint64_t end);
  void resume_from_thread(Core& core);
  void claim_statistics();
  nlohmann::ordered_json thread_statistics(const EngineThread& thread) const;
  void install_stubs();
  std::uint64_t instructions() const;
  nlohmann::ordered_json report_profile();

  // reports.cc
  void prepare_for_failure();
  ThreadPlace place_of(const Thread& thread) const;
  void write_statistics(int exit_status, bool deadlocked);
  [[noreturn]] void end_by_deadlock();
  void tell_unsupported(std::uint64_t pc);
  /// On standard error, unless the guest has put a file of its own in its place.
  static void tell(const std::string& line);

  // exits.cc
  void link(Core& core, Exit& exit);
  void indirect(Core& core, Exit& exit);
  void next_instruction(Core& core, Exit& exit);
  void system_call(Core& core, Exit& exit);
  void fence(Core& core, Exit& exit);
  void read_clock(Core& core, Exit& exit);
  void random_number(Core& core, Exit& exit);
  void transaction_begin(Core& core, Exit& exit, bool always_abort);
  void transaction_end(Core& core, Exit& exit);
  void abort_transaction(Core& core, machine::AbortCause cause, unsigned immediate = 0);
  void complex_access(Core& core, Exit& exit);
  void interrupt(Core& core);
  void unsupported(Core& core, Exit& exit);
  void fetch_fault(Core& core);
  void raise_fault(Core& core, std::uint64_t pc, int signal, int code, std::uint64_t address);
  void host_fault(Core& core);
  void repeat_without_guard(Core& core, std::uint64_t pc);
  void charge(Core& core, std::uint32_t cycles) { core.advance_to(core.clock() + Cycles(cycles)); }

  // threads.cc
  static EngineThread& of(const Thread& thread) { return *static_cast<EngineThread*>(thread.engine); }
  void capture(Core& core);
  void restore(Core& core);
  void attach(EngineThread& thread, Core& core, Cycles at);
  void detach(Core& core);
  void make_runnable(EngineThread& thread, Cycles at);
  bool in_vfork() const { return !vforks_.empty(); }
  bool may_use(const EngineThread& thread, const Core& core) const;
  Core* idle_core_for(const EngineThread& thread);
  void fill(Core& core, Cycles at);
  bool is_wanted(const Core& core) const;
  void preempt(Core& core);
  void give_up(Core& core, Cycles delay);
  void interrupt_soon(Core& core);
  void deliver_signals(Core& core);
  Cycles kernel_time() const;
  Cycles cycles_of(Nanoseconds time) const;
  Nanoseconds nanoseconds_of(Cycles time) const;
  void pair_siblings();
  void share_core(Core& core, bool runs);
  void first_interrupt_after(Core& core);

  Options options_;
  machine::Description machine_;
  std::string machine_name_;
  std::string program_;
  std::vector<Core*> cores_;
  std::unique_ptr<machine::Model> model_;
  std::unique_ptr<EngineProfile> profile_;  // with Options::profile
  int profile_descriptor_ = -1;             // stderr as it was: many programs close theirs before they end
  void (*enter_)(Core* core);               // elision_enter, or its timed form
  Ordering ordering_;
  SharedMemory shared_memory_;
  CodeCache cache_;
  GuestCode guest_code_;
  Translator translator_;
  std::unique_ptr<GuestKernel> kernel_;
  Random random_;
  std::vector<std::unique_ptr<EngineThread>> threads_;
  std::vector<std::unique_ptr<EngineThread>> ended_threads_;
  std::vector<EngineThread*> queue_;
  std::map<TimerKey, std::function<void()>> timers_;
  std::uint64_t timers_made_ = 0;
  Cycles engine_time_{0};  // while no core runs
  int statistics_number_ = -1;
  std::string statistics_file_;                                    // claimed
  std::uint64_t last_translated_ = 0;                              // for failures
  std::map<std::string, std::uint64_t> unsupported_instructions_;  // by kind
  std::vector<VforkParent> vforks_;                                // those whose memory this process uses
};

/// The engine of this process (for the host signal handlers).
extern Engine* the_engine;

}  // namespace elision::vm
