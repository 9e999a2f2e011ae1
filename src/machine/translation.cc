// SPDX-License-Identifier: Apache-2.0
// What an access waits for whose page is not translated (tlb.h), and what closes with a page.
#include "machine/internals.h"

namespace elision::machine {

/// When the address of an access is translated; 0 if that takes no time. It delays the access like an address
/// that is not yet known, so that other work goes on meanwhile.
[[gnu::always_inline]] inline Cycles Model::Impl::translate(const Request& request, Cpu& one) {
  Tlb& tlb = one.home->tlb;
  const std::uint64_t page = request.line.value >> Tlb::kPageShift;
  if (tlb.has(request.line, huge_pages)) {
    const bool just_now = page == one.walked_page && one.walk_ready > request.now.value;
    return just_now ? Cycles(one.walk_ready) : Cycles(0);
  }
  Tlb::Closed closed;
  const std::uint32_t cycles = tlb.fill(request.line, huge_pages, closed);
  if (closed.lines != 0) close(*one.home, closed);
  ++one.counts.tlb_misses;
  if (cycles > description.tlb.shared_latency_cycles) ++one.counts.page_walks;
  one.walked_page = page;
  one.walk_ready = std::max(request.now.value, request.address_ready.value) + cycles;
  return Cycles(one.walk_ready);
}

/// Lines of a page that is no longer translated are no longer open to the filters.
void Model::Impl::close(Core& home, const Tlb::Closed& closed) {
  for (std::uint64_t sets = closed.sets; sets != 0; sets &= sets - 1) {
    for (std::uint32_t set = static_cast<std::uint32_t>(__builtin_ctzll(sets)); set < home.l1.sets();
         set += 64) {
      for (std::uint32_t way = 0; way < home.l1.ways(); ++way) {
        const std::uint32_t slot = home.l1.slot(set, way);
        if (!home.l1.empty(slot) && closed.contains(home.l1.line(slot)))
          forget_in_filters(home, home.l1.line(slot), slot);
      }
    }
  }
}

void Model::Impl::set_huge_pages(GuestAddr begin, GuestAddr end, bool huge) {
  if (!(huge ? huge_pages.add(begin, end) : huge_pages.remove(begin, end))) return;
  // The lines' pages are others now: nothing that was said about them stands.
  for (unsigned i = 0; i < cpu_count; ++i) {
    fast_path::forget_all(*cpu[i].filter, cpu[i].home->l1);
    cpu[i].home->tlb.forget_data();
  }
}

}  // namespace elision::machine
