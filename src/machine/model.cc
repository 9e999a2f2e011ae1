// SPDX-License-Identifier: Apache-2.0
// Construction, and the questions about time.
#include "machine/model.h"

#include <new>

#include "machine/internals.h"

namespace elision::machine {
namespace {

/// Room for everything at its largest; what is not used is not touched.
std::size_t bytes_needed(const Description& d, unsigned cpus) {
  const std::size_t per_core = PrivateCache::bytes(d.l1d) + PrivateCache::bytes(d.l2) +
                               PrivateCache::bytes(d.l1i) + Tlb::bytes(d) + sizeof(Core);
  const std::size_t per_cpu = sizeof(Cpu) + ReadFilter::bytes(d.transactions.read_filter_log2) +
                              Directory::lines(d) * sizeof(std::uint32_t) + kLineBytes;
  return sizeof(Model) + per_core * d.topology.total_cores() + per_cpu * cpus + Directory::bytes(d) +
         Numa::bytes(d) + 65536;
}

}  // namespace

Model::Impl::Impl(const Description& d, unsigned cpus, std::uint64_t seed, Filter* const* filters,
                  AbortSink& s, Arena a)
    : cpu_count(cpus),
      random(seed),
      description(d),
      arena(a),
      sink(s),
      core_count(cpus < d.topology.total_cores() ? cpus : d.topology.total_cores()) {
  cpu = arena.take<Cpu>(cpus);
  core = arena.take<Core>(core_count);
  directory.place(arena, d);
  numa.place(arena, d);
  for (unsigned i = 0; i < core_count; ++i) {
    core[i].l1.place(arena, d.l1d);
    core[i].l2.place(arena, d.l2);
    core[i].l1i.place(arena, d.l1i);
    core[i].tlb.place(arena, d);
  }
  for (unsigned i = 0; i < cpus; ++i) {
    Cpu& one = *new (&cpu[i]) Cpu;
    one.id = i;
    one.thread = d.topology.thread_of(i);
    one.socket = d.topology.socket_of(i);
    one.filter = filters[i];
    one.home = &core[d.topology.core_of(i)];
    one.home->thread[one.home->threads++] = &one;
    one.load_misses.configure(d);
    one.stores.configure(d);
    one.transaction.read_filter.place(arena, d.transactions.read_filter_log2);
    one.transaction.lines = arena.take<std::uint32_t>(Directory::lines(d));
  }
}

Model::Model(const Description& description, unsigned cpus, std::uint64_t seed, Filter* const* filters,
             AbortSink& sink) {
  if (cpus == 0 || cpus > description.topology.cpus() || cpus > kMaxCpus) __builtin_trap();
  Arena arena = Arena::reserve(bytes_needed(description, cpus) + sizeof(Impl));
  void* const memory = arena.take<char>(sizeof(Impl));
  impl_ = new (memory) Impl(description, cpus, seed, filters, sink, arena);
}

Model::~Model() {
  Arena arena = impl_->arena;
  arena.release();
}

Reply Model::access(const Request& request) { return impl_->access(request); }

Cycles Model::busy_until(const Request& request) { return Cycles(impl_->busy_until(request)); }

Reply Model::fetch(CpuId cpu, LineAddr line, Cycles now, Reach most) {
  return impl_->fetch(impl_->cpu[cpu.value], line, now.value, most);
}

Cycles Model::drain_time(CpuId cpu, Cycles now) const {
  const std::uint64_t drained = impl_->cpu[cpu.value].stores.drained();
  return drained > now.value ? Cycles(drained) : now;
}

Cycles Model::settle(CpuId id, Cycles now) {
  Cpu& cpu = impl_->cpu[id.value];
  const std::uint64_t worked = cpu.load_misses.advance(now.value);
  cpu.counts.reorder_buffer_stall_cycles += worked - now.value;
  const std::uint64_t ready = cpu.load_misses.all_ready(worked);
  cpu.load_misses.clear();
  return Cycles(ready);
}

Cycles Model::begin(CpuId cpu, Cycles now, bool always_abort) {
  return impl_->begin(impl_->cpu[cpu.value], now, always_abort);
}

Cycles Model::commit_time(CpuId cpu, Cycles now) { return impl_->commit_time(impl_->cpu[cpu.value], now); }
void Model::finish_commit(CpuId cpu) { impl_->finish_commit(impl_->cpu[cpu.value]); }

Cycles Model::abort(CpuId cpu, Cycles now, HardwareAbort cause) {
  impl_->abort_own(impl_->cpu[cpu.value], cause);
  return now + impl_->abort_cost();
}

bool Model::spurious_abort_due(CpuId cpu, Cycles) {
  Transaction& transaction = impl_->cpu[cpu.value].transaction;
  const bool due = transaction.active && transaction.spurious;
  if (due) transaction.spurious = false;
  return due;
}

bool Model::in_transaction(CpuId cpu) const { return impl_->cpu[cpu.value].transaction.active; }

void Model::end_conflicting(LineAddr first, LineAddr last, bool write, Cycles now) {
  impl_->end_conflicting(first, last, write, now);
}

bool Model::always_abort(CpuId cpu) const {
  const Transaction& transaction = impl_->cpu[cpu.value].transaction;
  return transaction.active && transaction.always_abort;
}

Cycles Model::abort_cost() const { return impl_->abort_cost(); }

void Model::set_huge_pages(GuestAddr begin, GuestAddr end, bool huge) {
  impl_->set_huge_pages(begin, end, huge);
}

const CpuCounts& Model::counts(CpuId cpu) const { return impl_->cpu[cpu.value].counts; }

}  // namespace elision::machine
