// SPDX-License-Identifier: Apache-2.0
// NUMA: the node of a line's page, and the CPUs of each socket.
//
// A page belongs to the node of the CPU that first fetched a line of it from memory, as under Linux's default
// policy (first touch). The table is indexed by the page's number modulo its size. Freestanding.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "machine/arena.h"
#include "machine/cpu_mask.h"
#include "machine/description.h"

namespace elision::machine {

class Numa {
 public:
  static constexpr unsigned kMostSockets = 8;

  static std::size_t bytes(const Description& d) {
    return (d.topology.sockets > 1 ? kPages : 0) + kLineBytes;
  }

  void place(Arena& arena, const Description& d) {
    sockets_ = d.topology.sockets;
    if (sockets_ == 1) return;
    node_ = arena.take<std::uint8_t>(kPages);
    for (unsigned cpu = 0; cpu < d.topology.cpus(); ++cpu) cpus_[d.topology.socket_of(cpu)].set(cpu);
  }

  bool several_nodes() const { return sockets_ > 1; }
  bool any_of_socket(const CpuMask& cpus, unsigned socket) const { return cpus.intersects(cpus_[socket]); }
  /// The node of the line's page. If it has none yet, it gets `socket`.
  unsigned node_of(LineAddr line, unsigned socket) {
    constexpr unsigned kLinesOfPageShift = 6;
    std::uint8_t& node = node_[(line.value >> kLinesOfPageShift) % kPages];
    if (node == 0) node = static_cast<std::uint8_t>(socket + 1);
    return node - 1u;
  }

 private:
  static constexpr std::size_t kPages = 1 << 20;

  unsigned sockets_ = 1;
  std::uint8_t* node_ = nullptr;  // socket + 1; 0: not touched
  CpuMask cpus_[kMostSockets];
};

}  // namespace elision::machine
