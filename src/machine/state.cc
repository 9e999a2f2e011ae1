// SPDX-License-Identifier: Apache-2.0
// Construction of the model's state.
#include "machine/state.h"

#include <algorithm>
#include <new>

namespace elision::machine {

std::size_t State::bytes(const Description& d, unsigned cpu_count) {
  const std::size_t per_core = PrivateCache::bytes(d.l1d) + PrivateCache::bytes(d.l2) +
                               PrivateCache::bytes(d.l1i) + Tlb::bytes(d) + sizeof(Core);
  const std::size_t per_cpu = sizeof(Cpu) + ReadFilter::bytes(d.transactions.read_filter_log2) +
                              Directory::lines(d) * sizeof(std::uint32_t) + kLineBytes;
  return per_core * d.topology.total_cores() + per_cpu * cpu_count + Directory::bytes(d) + Numa::bytes(d) +
         UntouchedPages::bytes() + 65536;
}

State::State(const Description& d, unsigned cpus_in_use, std::uint64_t seed, Filter* const* filters,
             AbortSink& s, Arena a)
    : cpu_count(cpus_in_use),
      random(seed),
      description(d),
      arena(a),
      sink(s),
      core_count(std::min(cpus_in_use, d.topology.total_cores())) {
  cpus = arena.take<Cpu>(cpu_count);
  cores = arena.take<Core>(core_count);
  directory.place(arena, d);
  numa.place(arena, d);
  untouched_pages.place(arena);
  for (Link& link : l3_link) link.configure(d.l3_line_time);
  for (Link& link : memory_link) link.configure(d.memory_line_time);
  for (unsigned i = 0; i < core_count; ++i) {
    cores[i].l1.place(arena, d.l1d);
    cores[i].l2.place(arena, d.l2);
    cores[i].l1i.place(arena, d.l1i);
    cores[i].tlb.place(arena, d);
  }
  for (unsigned i = 0; i < cpu_count; ++i) {
    Cpu& cpu = *new (&cpus[i]) Cpu;
    cpu.id = i;
    cpu.thread = d.topology.thread_of(i);
    cpu.socket = d.topology.socket_of(i);
    cpu.filter = filters[i];
    cpu.core = &cores[d.topology.core_of(i)];
    cpu.core->threads[cpu.core->thread_count++] = &cpu;
    cpu.load_misses.configure(d);
    cpu.stores.configure(d);
    cpu.transaction.read_filter.place(arena, d.transactions.read_filter_log2);
    cpu.transaction.lines = arena.take<std::uint32_t>(Directory::lines(d));
  }
}

void State::set_huge_pages(GuestAddr begin, GuestAddr end, bool huge) {
  if (!(huge ? huge_pages.add(begin, end) : huge_pages.remove(begin, end))) return;
  for (unsigned i = 0; i < core_count; ++i) cores[i].tlb.forget_data();
}

}  // namespace elision::machine
