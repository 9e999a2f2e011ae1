// SPDX-License-Identifier: Apache-2.0
// The model as the engine sees it: forwards to the parts of the model, and answers questions about time.
#include "machine/model.h"

#include <new>

#include "machine/access.h"
#include "machine/invariants.h"

namespace elision::machine {

/// The parts of the model, as one object (state.h).
struct Model::Impl : Access {
  using Access::Access;
};

Model::Model(const Description& description, unsigned cpus, std::uint64_t seed, Filter* const* filters,
             AbortSink& sink) {
  if (cpus == 0 || cpus > description.topology.cpus() || cpus > kMaxCpus) __builtin_trap();
  Arena arena = Arena::reserve(sizeof(Impl) + State::bytes(description, cpus));
  if (!arena.exists()) return;
  void* const memory = arena.take<char>(sizeof(Impl));
  impl_ = new (memory) Impl(description, cpus, seed, filters, sink, arena);
}

Model::~Model() {
  if (!has_memory()) return;
  Arena arena = impl_->arena;
  arena.release();
}

void Model::seed(std::uint64_t seed) { impl_->random = Random(seed); }

Reply Model::access(const Request& request) { return impl_->access(request); }

Cycles Model::busy_until(const Request& request) { return Cycles(impl_->busy_until(request)); }

Reply Model::fetch(CpuId cpu, LineAddr line, Cycles now, Reach most) {
  return impl_->fetch(impl_->cpus[cpu.value], line, now.value, most);
}

void Model::flush(LineAddr line, Cycles now) {
  impl_->end_conflicting(line, line, true, now);
  impl_->flush(line);
}

void Model::forget_unseen_stores() {
  if (!impl_->stores_are_unseen) return;
  impl_->stores_are_unseen = false;
  for (unsigned i = 0; i < impl_->cpu_count; ++i) impl_->cpus[i].unseen.line = kNoLine;
}

Cycles Model::drain_time(CpuId cpu, Cycles now) const {
  const std::uint64_t drained = impl_->cpus[cpu.value].stores.drained();
  return drained > now.value ? Cycles(drained) : now;
}

Cycles Model::settle(CpuId id, Cycles now) {
  Cpu& cpu = impl_->cpus[id.value];
  cpu.settling_since = now.value;
  cpu.last_wait = {};
  const std::uint64_t worked = cpu.load_misses.advance(now.value);
  cpu.counts.reorder_buffer_stall_cycles += worked - now.value;
  const std::uint64_t ready = cpu.load_misses.all_ready(worked);
  cpu.load_misses.clear();
  return Cycles(ready);
}

Cycles Model::begin_of_work(CpuId cpu, Cycles now) {
  return impl_->begin_of_work(impl_->cpus[cpu.value], now);
}

Cycles Model::begin(CpuId cpu, Cycles now, bool always_abort) {
  Cpu& beginner = impl_->cpus[cpu.value];
  const Cycles begun = impl_->begin(beginner, now, always_abort);
  impl_->repeat_first_lines(beginner, begun);
  return begun;
}

Cycles Model::begin_commit(CpuId cpu, Cycles now) { return impl_->begin_commit(impl_->cpus[cpu.value], now); }
Cycles Model::hold_written_lines(CpuId cpu) { return impl_->hold_written_lines(impl_->cpus[cpu.value]); }
void Model::finish_commit(CpuId cpu) { impl_->finish_commit(impl_->cpus[cpu.value]); }

Cycles Model::abort(CpuId cpu, Cycles now, HardwareAbort cause) {
  impl_->abort_own(impl_->cpus[cpu.value], cause, now);
  return now + impl_->abort_cost();
}

const Cycles& Model::next_arrival() const { return impl_->next_arrival; }
void Model::arrive() { impl_->arrive(); }
void Model::forget_tries(CpuId cpu) { impl_->cpus[cpu.value].first_lines.again = false; }
void Model::forget_tries() { impl_->forget_tries(); }

bool Model::spurious_abort_due(CpuId cpu, Cycles) {
  Transaction& transaction = impl_->cpus[cpu.value].transaction;
  const bool due = transaction.active && transaction.spurious;
  if (due) transaction.spurious = false;
  return due;
}

bool Model::in_transaction(CpuId cpu) const { return impl_->cpus[cpu.value].transaction.active; }

void Model::end_conflicting(LineAddr first, LineAddr last, bool write, Cycles now) {
  impl_->end_conflicting(first, last, write, now);
}

bool Model::always_abort(CpuId cpu) const {
  const Transaction& transaction = impl_->cpus[cpu.value].transaction;
  return transaction.active && transaction.always_abort;
}

Cycles Model::abort_cost() const { return impl_->abort_cost(); }

void Model::set_huge_pages(GuestAddr begin, GuestAddr end, bool huge) {
  impl_->set_huge_pages(begin, end, huge);
}

void Model::set_untouched(GuestAddr begin, GuestAddr end, bool untouched) {
  impl_->set_untouched(begin, end, untouched);
}

const CpuCounts& Model::counts(CpuId cpu) const { return impl_->cpus[cpu.value].counts; }

const char* Model::check_invariants() const { return broken_invariant(*impl_); }

}  // namespace elision::machine
