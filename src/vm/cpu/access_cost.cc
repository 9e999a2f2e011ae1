// SPDX-License-Identifier: Apache-2.0
// What accesses cost the host that leave translated code: access_cost KIND COUNT. Makes COUNT accesses of one
// kind on a virtual CPU of its own, as the stubs do, and prints how far they reached. tools/bench
// runs it with two COUNTs, also under valgrind: the difference is the cost of the accesses alone.
//
//   l2      loads of random lines, nearly all of which hit L2
//   store   the same with stores
//   stream  loads of one line after the other that the prefetcher brings into L1
//   l3      loads of random lines, nearly all of which miss L2 and hit L3
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "machine/description_toml.h"
#include "vm/cpu/helpers.h"
#include "vm/cpu/ordering.h"
#include "vm/cpu/remote_aborts.h"
#include "vm/cpu/stubs.h"

namespace elision::vm {
namespace {

constexpr std::uint64_t kBegin = std::uint64_t{1} << 32;   // an address
constexpr std::uint64_t kWorkTicks = 20 * kTicksPerCycle;  // between two accesses
constexpr std::uint64_t kMegabyte = 1 << 20;
constexpr const char* kMachine = "xeon-gold-5520plus";  // 2 MB of L2

struct Kind {
  const char* name;
  machine::AccessKind access;
  std::uint64_t bytes;
  bool random;
};
constexpr Kind kKinds[] = {{"l2", machine::AccessKind::kLoad, kMegabyte, true},
                           {"store", machine::AccessKind::kStore, kMegabyte, true},
                           {"stream", machine::AccessKind::kLoad, kMegabyte, false},
                           {"l3", machine::AccessKind::kLoad, 32 * kMegabyte, true}};

/// A virtual CPU that runs alone.
class LoneCpu {
 public:
  explicit LoneCpu(const machine::Description& machine) : cpu_(std::make_unique<Cpu>()) {
    cpu_->id = CpuId(0);
    machine::Filter* const filter = &cpu_->filter;
    model_ = std::make_unique<machine::Model>(machine, 1, 1, &filter, sink_);
    cpus_[0] = cpu_.get();
    helper_context.model = model_.get();
    helper_context.ordering = &ordering_;
    helper_context.shared_memory = &shared_;
    helper_context.cpus = cpus_;
    helper_context.cpu_count = 1;
    check_.size = 8;
    check_.alone = true;
    check_.pc = kBegin;
    cpu_->access_check = &check_;
    cpu_->next_interrupt = Cycles(std::uint64_t{1} << 50);  // never
    ordering_.start(*cpu_);
  }

  /// Makes `count` accesses of `kind`, to random lines or to one line after the other.
  void access(const Kind& kind, std::uint64_t count) {
    check_.kind = static_cast<std::uint8_t>(kind.access);
    const std::uint64_t lines = kind.bytes / kLineBytes;
    std::uint64_t random = 1;
    for (std::uint64_t i = 0; i < count; ++i) {
      random = random * 6364136223846793005 + 1442695040888963407;
      const std::uint64_t line = kind.random ? (random >> 33) % lines : i % lines;
      cpu_->check_address = kBegin + line * kLineBytes;
      cpu_->progress -= static_cast<std::int64_t>(kWorkTicks) << kBudgetShift;
      if (cpu_->budget_exhausted()) ordering_.start(*cpu_);
      elision_slow_access(cpu_.get());
    }
  }

  const machine::CpuCounts& counts() const { return model_->counts(CpuId(0)); }

 private:
  std::unique_ptr<Cpu> cpu_;
  Cpu* cpus_[1];
  RemoteAborts sink_;
  SharedRanges shared_;
  Ordering ordering_{Cycles(1000)};
  AccessCheck check_{};
  std::unique_ptr<machine::Model> model_;
};

int run(const Kind& kind, std::uint64_t count) {
  const Result<machine::Machine> machine = machine::load_machine(kMachine);
  if (!machine) return 1;
  LoneCpu cpu(machine->description);
  const std::uint64_t lines = kind.bytes / kLineBytes;
  for (int round = 0; round < 2; ++round)
    cpu.access({"", machine::AccessKind::kStore, kind.bytes, false}, lines);
  const machine::CpuCounts before = cpu.counts();
  cpu.access(kind, count);
  const machine::CpuCounts& after = cpu.counts();
  std::printf("l1_misses: %llu\n", static_cast<unsigned long long>(after.l1_misses - before.l1_misses));
  std::printf("l2_misses: %llu\n", static_cast<unsigned long long>(after.l2_misses - before.l2_misses));
  std::printf("l3_misses: %llu\n", static_cast<unsigned long long>(after.l3_misses - before.l3_misses));
  return 0;
}

}  // namespace
}  // namespace elision::vm

int main(int argc, char** argv) {
  const std::string name = argc == 3 ? argv[1] : "";
  const std::uint64_t count = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 0;
  for (const elision::vm::Kind& kind : elision::vm::kKinds)
    if (name == kind.name && count > 0) return elision::vm::run(kind, count);
  std::fputs("usage: access_cost l2|store|stream|l3 COUNT\n", stderr);
  return 2;
}
