// SPDX-License-Identifier: Apache-2.0
// When a process changes between fast mode, the timing model and counting (interface/run_region.h).
//
// The phases follow each other; each is ended by one event. Between two parts of a run they begin again. The
// warm-up lies in front of the start (RunRegion::warm_from) or behind it (warm_up). An event only makes a
// change due. The run loop makes it while no CPU runs, so that it happens between two instructions of every
// CPU.
#pragma once

#include <cstdint>
#include <string>

#include "vm/engine/code_manager.h"
#include "vm/engine/engine_context.h"
#include "vm/engine/timers.h"
#include "vm/interface/run_region.h"

namespace elision::vm {

class RegionControl {
 public:
  enum class Phase {
    kBefore,   // awaits the start of a part, in fast mode
    kWarmUp,   // simulated, not counted
    kCounted,  // without a region the whole run
    kAfter,    // the last part, in fast mode
  };

  /// The references must outlive this object.
  RegionControl(const RunRegion& region, EngineContext& context, Timers& timers, CodeManager& code)
      : region_(region),
        context_(context),
        timers_(timers),
        code_(code),
        phase_(region.is_set() ? Phase::kBefore : Phase::kCounted) {}

  /// The process begins. `earlier` nanoseconds of it have passed before its last execve.
  void begin(std::uint64_t earlier);

  /// In the copy of a snapshot: the region is another one, whose start lies ahead.
  void begin_anew();
  /// The change that is due comes after so many more instructions.
  void postpone(std::uint64_t instructions);

  Phase phase() const { return phase_; }
  /// Executions of RunRegion::counted in the part until now, or in the one that ended last.
  std::uint64_t counted() const { return phase_ == Phase::kCounted ? WatchedCode::executions() : counted_; }
  bool has_started() const { return started_; }
  bool change_is_due() const { return due_; }
  /// Enters the next phase, and awaits its end.
  Phase advance();

  // Events.
  void thread_started();
  /// `ends`: the marker ends a part.
  void marker(bool ends);
  /// The watched instruction has been executed as often as awaited.
  void code_reached();
  /// In the child of a fork, which has one thread and no timers.
  void forked();
  /// To be called by the run loop before CPUs run. Instructions are counted here: a timer would count as an
  /// event that sleeping threads await.
  void look() {
    if (counts_instructions(awaited_)) look_at_instructions();
  }

  /// Instructions that the process had executed when its second thread started; 0: no second thread.
  std::uint64_t second_thread_at() const { return second_thread_at_; }

  /// Virtual time at which the process would be if all CPUs were as far as the earliest, since its first
  /// image.
  std::uint64_t now() const;
  /// Why the process has not run through its region until now, in one line; empty: it has.
  std::string why_incomplete() const;

 private:
  Trigger start() const;
  Trigger warm_from() const;
  void await_part();
  void await(const Trigger& trigger);
  void watch(const Trigger& trigger);
  std::string why_never(const char* option, const Trigger& trigger) const;
  static bool counts_instructions(const Trigger& trigger) {
    return trigger.kind == Trigger::Kind::kInstructions || trigger.kind == Trigger::Kind::kParallel;
  }
  void await_time(std::uint64_t at);
  void look_at_instructions();
  void look_for_start();
  void is_met();

  const RunRegion& region_;
  EngineContext& context_;
  Timers& timers_;
  CodeManager& code_;
  Phase phase_;
  std::size_t part_ = 0;  // of the region's, from 0
  bool due_ = false;
  bool started_ = false;       // the start of the part has been met
  bool is_empty_ = false;      // it ended before it began
  bool code_met_ = false;      // the watched instruction has been executed as often as awaited
  Trigger awaited_{};          // ends the phase; cleared when met
  std::uint64_t due_at_ = 0;   // of a time that is awaited: this image's
  TimerKey timer_{};           // for it
  std::uint64_t earlier_ = 0;  // nanoseconds before this image
  std::uint64_t threads_ = 1;  // started so far
  std::uint64_t second_thread_at_ = 0;
  std::uint64_t starts_ = 0;   // markers met so far
  std::uint64_t stops_ = 0;    // since the start
  std::uint64_t counted_ = 0;  // in the part that ended last
};

}  // namespace elision::vm
