// SPDX-License-Identifier: Apache-2.0
#include "runtime/process.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "base/usable_cpus.h"
#include "htm/always_abort.h"
#include "htm/own_code.h"
#include "locks/alone.h"
#include "locks/elided.h"
#include "locks/fork_generation.h"
#include "locks/if_left.h"
#include "locks/ticket.h"
#include "locks/waiting.h"
#include "runtime/call_paths.h"
#include "runtime/design_change.h"
#include "runtime/designs.h"
#include "runtime/glibc.h"
#include "runtime/loaded_files.h"
#include "runtime/old_versions.h"
#include "runtime/raw_output.h"
#include "runtime/start.h"
#include "runtime/thread_state.h"

namespace elision::runtime {

constinit Process process{};

// The old form of pthread_cleanup_push(3), which glibc no longer declares. Its function also runs when
// siglongjmp leaves the frame; today's form does not do that.
extern "C" void _pthread_cleanup_push(_pthread_cleanup_buffer*, void (*)(void*), void*) noexcept;
extern "C" void _pthread_cleanup_pop(_pthread_cleanup_buffer*, int) noexcept;

namespace {

static_assert(sizeof(locks::LeavingRecord) == sizeof(_pthread_cleanup_buffer));

void set_up_leaving_list() {
  using Buffer = _pthread_cleanup_buffer;
  locks::enter_leaving_list = [](locks::LeavingRecord* record, locks::Undo undo, void* argument) {
    _pthread_cleanup_push(reinterpret_cast<Buffer*>(record), undo, argument);
  };
  locks::drop_from_leaving_list = [](locks::LeavingRecord* record, int run) {
    _pthread_cleanup_pop(reinterpret_cast<Buffer*>(record), run);
  };
}

constinit std::atomic<int> set_up_by{0};  // thread id
constinit std::atomic<bool> is_set_up{false};

int current_thread_id() { return static_cast<int>(syscall(SYS_gettid)); }

template <std::size_t kSize>
void copy_text(char (&field)[kSize], const char* text) {
  std::strncpy(field, text, kSize - 1);
}

/// Decides how to elide and how to speculate, from the configuration and the CPU's features.
void choose_htm() {
  const Configuration& configuration = process.configuration;
  const abi::LockDesign& design = configuration.design;
  process.elides = process.used_fallback = false;
  process.always_abort = abi::AlwaysAbortKind::kNone;
  locks::elision_transactions = configuration.transactions;
  if (!design.needs_htm() || design.elision == abi::LockElision::kByGlibc) return;
  process.elides = design.elides() && process.cpu.has_rtm;
  if (!configuration.transactions) {
    // Speculation cannot be switched while the program runs: a thread may be inside one.
  } else if (design.speculates() && configuration.rtm_always_abort && process.cpu.has_rtm) {
    // The option precedes the virtual CPU's own always-abort transactions.
    process.always_abort = abi::AlwaysAbortKind::kNestedRtm;
    htm::nested_rtm_depth = htm::measure_nesting_depth();
  } else if (design.speculates() && process.cpu.virtual_always_abort) {
    process.always_abort = abi::AlwaysAbortKind::kVirtualCpu;
  }
  process.used_fallback =
      !configuration.transactions || (!process.elides && process.always_abort == abi::AlwaysAbortKind::kNone);
}

void touch_code_of_transactions() {
  if (process.elides || process.always_abort != abi::AlwaysAbortKind::kNone) htm::touch_own_code();
}

void fill_header() {
  const Configuration& configuration = process.configuration;
  abi::CountersHeader& header = process.region.header();
  header.version = abi::kCountersVersion;
  header.process_id = static_cast<std::uint32_t>(getpid());
  header.parent_id = static_cast<std::uint32_t>(getppid());
  copy_text(header.asked_design, configuration.asked_design);
  copy_text(header.design, design_name(configuration));
  copy_text(header.program, program_name());
  header.unknown_design = configuration.unknown_design;
  header.has_rtm = process.cpu.has_rtm;
  header.rtm_always_aborts = process.cpu.rtm_always_aborts;
  header.always_abort = process.always_abort;
  header.wait_spins = configuration.wait_spins;
  header.used_fallback = process.used_fallback;
  header.keeps_activity = !all_locks_are_glibcs();
  header.tsc_khz = process.cpu.tsc_khz;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  header.start_tsc = locks::ticks();
  header.start_monotonic_ns =
      static_cast<std::uint64_t>(now.tv_sec) * 1000000000 + static_cast<std::uint64_t>(now.tv_nsec);
  process.region.publish();
}

void describe() {
  if (!process.configuration.verbose) return;
  Line line;
  line.text("elision: lock design ").text(design_name(process.configuration));
  if (process.configuration.unknown_design) {
    line.text(" (no design is called ").text(process.configuration.asked_design).text(")");
  }
  if (process.configuration.off) line.text(" (switched off)");
  line.text(process.configuration.wait_spins ? ", waits spin" : ", waits park");
  line.text(process.cpu.has_rtm             ? ", RTM"
            : process.cpu.rtm_always_aborts ? ", RTM that always aborts"
            : process.cpu.rtm_is_hidden     ? ", RTM hidden by ELISION_HIDE_RTM"
                                            : ", no RTM");
  if (process.configuration.design.speculates()) {
    line.text(", always-abort: ").text(abi::kAlwaysAbortNames[static_cast<unsigned>(process.always_abort)]);
  }
  if (process.used_fallback) line.text(", fallback lock in force");
  if (process.region.file_number() >= 0) {
    line.text(", counters in file ").decimal(static_cast<std::uint64_t>(process.region.file_number()));
  } else if (process.region.file_error() != 0) {
    line.text(", no counters: error ").decimal(static_cast<std::uint64_t>(process.region.file_error()));
  }
  line.write_to(STDERR_FILENO);
}

/// All that follows from the configuration but the counters and the entry points.
void configure(const Configuration& configuration) {
  process.configuration = configuration;
  if (race_detector_follows()) switch_off(process.configuration);
  process.cpu = htm::detect_cpu(process.configuration.hides_rtm);
  choose_htm();
  touch_code_of_transactions();
}

/// The calling thread is the only one, and is not known yet. The counters begin in a new region.
void count_anew() {
  this_thread.is_known = false;
  this_thread.slot = nullptr;
  this_thread.short_lock = nullptr;
  this_thread.activity = &locks::activity_of_nobody;
  this_thread.transaction.auxiliary = nullptr;  // a signal handler may have forked between two attempts
  this_thread.short_paths = {};
  process.region.reopen_in_child(process.configuration.counters_directory);
  call_paths.set_up_in_child(process.region.file_number());
  fill_header();
}

void set_up() {
  locks::set_up_fork_generation();
  find_glibc();
  find_condition_layout();
  set_up_leaving_list();
  if (const char* flag = find_single_threaded()) locks::single_threaded = flag;
  process.cpus = usable_cpus();
  visit_files(Files::kAllButOurs, [](const LoadedFile&) { ++process.files_at_start; });
  locks::pause_ticks = htm::measure_pause_ticks();
  configure(read_configuration());
  process.region.open(process.configuration.counters_directory);
  call_paths.set_up(process.configuration.counters_directory, process.region.file_number(),
                    process.configuration.call_paths);
  fill_header();
  install_design();
  describe();
}

}  // namespace

SetUp ensure_set_up() {
  if (is_set_up.load(std::memory_order_acquire)) return SetUp::kDone;
  const int me = current_thread_id();
  int nobody = 0;
  if (set_up_by.compare_exchange_strong(nobody, me)) {
    set_up();
    elision_design_change.is_set_up = 1;
    is_set_up.store(true, std::memory_order_release);
    return SetUp::kDone;
  }
  if (nobody == me) return SetUp::kRunning;
  while (!is_set_up.load(std::memory_order_acquire)) sched_yield();
  return SetUp::kDone;
}

void after_fork_in_child() {
  locks::fork_generation_in_child();
  count_anew();
  touch_code_of_transactions();  // a fork does not copy page table entries of file pages
  restart_design_in_child();
}

void start_anew(const Configuration& configuration) {
  configure(configuration);
  count_anew();
  install_design();
}

void set_up_at_load() {
  ensure_set_up();
  // Registering may allocate. So it is not done in a lock operation, which the allocator may have called.
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
}

}  // namespace elision::runtime
