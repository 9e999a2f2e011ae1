// SPDX-License-Identifier: Apache-2.0
// Sockets, cores and hardware threads of a machine: how CPUs are numbered. Freestanding.
#pragma once

#include <bit>
#include <cstdint>

namespace elision::machine {

struct Topology {
  std::uint32_t sockets = 0, cores = 0 /* per socket */, threads_per_core = 0;

  constexpr unsigned total_cores() const { return sockets * cores; }
  constexpr unsigned cpus() const { return total_cores() * threads_per_core; }

  /// CPUs are numbered as Linux numbers them: first one thread of every core, then their siblings.
  constexpr unsigned core_of(unsigned cpu) const { return cpu % total_cores(); }
  constexpr unsigned core_in_socket(unsigned cpu) const { return core_of(cpu) % cores; }
  constexpr unsigned socket_of(unsigned cpu) const { return core_of(cpu) / cores; }
  constexpr unsigned thread_of(unsigned cpu) const { return cpu / total_cores(); }

  /// An APIC number has socket, core and thread in fields of their own; these are their sizes.
  constexpr unsigned thread_bits() const { return bits_for(threads_per_core); }
  constexpr unsigned core_bits() const { return bits_for(cores); }
  constexpr unsigned apic_id(unsigned cpu) const {
    return (socket_of(cpu) << (core_bits() + thread_bits())) | (core_in_socket(cpu) << thread_bits()) |
           thread_of(cpu);
  }
  /// Bits that tell `count` numbers apart.
  static constexpr unsigned bits_for(std::uint32_t count) {
    return static_cast<unsigned>(std::bit_width(count > 0 ? count - 1 : 0u));
  }
};

}  // namespace elision::machine
