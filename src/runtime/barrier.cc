// SPDX-License-Identifier: Apache-2.0
#include "runtime/barrier.h"

#include <new>

#include "runtime/entry_points.h"

namespace elision::runtime {

constinit NumberedCells<BarrierCell> barrier_cells;

int init_barrier(pthread_barrier_t* raw, const pthread_barrierattr_t* attributes, unsigned count) {
  const bool may_be_ours = owns(&Process::barriers);
  if (may_be_ours) entry_points.end_transactions();
  const int result = glibc.barrier_init(raw, attributes, count);
  if (result != 0 || !may_be_ours) return result;
  BarrierOverlay& overlay = overlay_of(raw);
  overlay.cell = overlay.mark = 0;
  if (overlay.shared != PTHREAD_PROCESS_PRIVATE) return 0;
  const std::uint32_t number = barrier_cells.take();
  if (number == barrier_cells.kNone) return ENOMEM;
  BarrierCell& cell = barrier_cells[number];
  new (&cell.state) locks::BarrierState{};
  cell.total = count;
  overlay.own(number);
  return 0;
}

}  // namespace elision::runtime
