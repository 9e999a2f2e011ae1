// SPDX-License-Identifier: Apache-2.0
// What an access waits for whose page is not translated (tlb.h).
#include "machine/internals.h"

namespace elision::machine {

/// When the address of an access that L1 does not settle is translated; 0 if that takes no time. It delays
/// the access like an address that is not yet known, so that other work goes on meanwhile.
[[gnu::always_inline]] inline Cycles Model::Impl::translate(const Request& request, Cpu& one) {
  const std::uint32_t cycles = one.home->tlb.translate(request.line, huge_pages);
  const std::uint64_t page = request.line.value >> Tlb::kPageShift;
  if (cycles == 0) {
    const bool just_now = page == one.walked_page && one.walk_ready > request.now.value;
    return just_now ? Cycles(one.walk_ready) : Cycles(0);
  }
  ++one.counts.tlb_misses;
  if (cycles > description.tlb.shared_latency_cycles) ++one.counts.page_walks;
  one.walked_page = page;
  one.walk_ready = std::max(request.now.value, request.address_ready.value) + cycles;
  return Cycles(one.walk_ready);
}

void Model::Impl::set_huge_pages(GuestAddr begin, GuestAddr end, bool huge) {
  if (!(huge ? huge_pages.add(begin, end) : huge_pages.remove(begin, end))) return;
  for (unsigned i = 0; i < core_count; ++i) core[i].tlb.forget_data();
}

}  // namespace elision::machine
