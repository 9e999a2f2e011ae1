// SPDX-License-Identifier: Apache-2.0
// The guest's address space inside the engine's: chooses addresses, maps, and never touches a
// mapping that is not the guest's.
//
// The layout is decided here and by the seed alone, so that it repeats whatever the host's ASLR does:
//   0x00400000 ...               a program that is not position-independent, at its own addresses
//   0x10000000 + seeded pages    a position-independent program, then its brk heap
//   0x20000000 .. 0x6fffffff     libraries and mappings below 64 MB, lowest free address first
//   0x70000000 .. 0x7effffff     the engine's code cache: no guest mapping, ever
//   0x7e8100000000 ..            larger mappings, and smaller ones when the low region is full
//   below 0x7ef000000000         the initial stack
//   0x110000000000 ..            mappings for which there is room nowhere else
// The engine's other memory lies where native programs have theirs (engine_layout.h). So every address here is
// one that the sanitizers leave to the program: AddressSanitizer's shadow begins at 0x7fff7000 and ends at
// 0x10007fff7fff, ThreadSanitizer wants programs below 0x8000000000 or above 0x7e8000000000, MemorySanitizer
// below 0x10000000000 or above 0x740000000000.
// Results are those of the system calls: a value, or a negative errno.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "vm/kernel.h"
#include "vm/kernel/region_map.h"

namespace elision::vm {

inline constexpr std::uint64_t kProgramBase = 0x10000000;
inline constexpr std::uint64_t kLowBegin = 0x20000000;
inline constexpr std::uint64_t kLowEnd = 0x70000000;
inline constexpr std::uint64_t kCodeCacheBegin = kLowEnd;
inline constexpr std::uint64_t kCodeCacheEnd = 0x7f000000;
inline constexpr std::uint64_t kLargeBegin = 0x7e8100000000;
inline constexpr std::uint64_t kLargeEnd = 0x7ee000000000;
inline constexpr std::uint64_t kStackTop = 0x7ef000000000;
inline constexpr std::uint64_t kVastBegin = 0x110000000000;
inline constexpr std::uint64_t kVastEnd = 0x500000000000;
inline constexpr std::uint64_t kLargeBytes = 64ull << 20;
inline constexpr std::uint64_t kAddressLimit = 0x7ffffffff000;

class AddressSpace {
 public:
  /// `services` gives seeded numbers for the layout and drops translations of code that goes away.
  explicit AddressSpace(EngineServices& services);

  long map(std::uint64_t address, std::uint64_t size, int protection, int flags, int descriptor,
           std::uint64_t offset, RegionUse use = RegionUse::kMapping);
  long unmap(std::uint64_t address, std::uint64_t size);
  long protect(std::uint64_t address, std::uint64_t size, int protection);
  long remap(std::uint64_t address, std::uint64_t old_size, std::uint64_t new_size, int flags,
             std::uint64_t new_address);
  long advise(std::uint64_t address, std::uint64_t size, int advice);
  /// shmat and shmdt: the segment takes a place of ours unless `address` says where.
  long attach(int segment, std::uint64_t address, int flags);
  long detach(std::uint64_t address);
  /// The brk system call: returns the new end, or the old one if it cannot be moved.
  std::uint64_t set_break(std::uint64_t end);
  void start_break(std::uint64_t begin);

  /// Maps `size` bytes of nothing (PROT_NONE) at `address`, or 0 for a choice of ours.
  long reserve(std::uint64_t address, std::uint64_t size, std::uint64_t alignment);

  const RegionMap& regions() const { return regions_; }
  /// End of the executable mapping that holds `address`, 0 if it is not executable.
  std::uint64_t executable_end(std::uint64_t address) const;
  bool is_shared(std::uint64_t address) const;
  bool is_writable(std::uint64_t address) const;
  /// Code was translated from [begin, end): where the guest may write there, or to another mapping of the
  /// same page of a file, it faults from now on, so that the translation can go. Its own permissions stay
  /// what they are.
  void guard_code(std::uint64_t begin, std::uint64_t end);
  /// Writes to [begin, end) fault no more. Returns the pages of code for whose sake they did.
  std::vector<std::uint64_t> lift_guards(std::uint64_t begin, std::uint64_t end);
  /// /proc/self/maps as the guest shall see it: its own mappings, with its own permissions.
  std::string describe() const;

 private:
  long map_fixed(std::uint64_t address, std::uint64_t size, int protection, int flags, int descriptor,
                 std::uint64_t offset, RegionProperties properties);
  long map_anywhere(std::uint64_t size, int protection, int flags, int descriptor, std::uint64_t offset,
                    RegionProperties properties, std::uint64_t alignment);
  bool claim_gaps(std::uint64_t begin, std::uint64_t end);
  void record(std::uint64_t begin, std::uint64_t end, const RegionProperties& properties);
  void forget(std::uint64_t begin, std::uint64_t end);
  void tell_shared(std::uint64_t begin, std::uint64_t end);
  void forget_code(std::uint64_t begin, std::uint64_t end);
  void guard_page(std::uint64_t page, std::uint64_t code_page);
  void guard_views(const std::set<std::uint64_t>& code_pages);
  void new_view(const RegionProperties& properties);
  std::uint64_t choose(std::uint64_t size, std::uint64_t alignment) const;

  EngineServices& services_;
  RegionMap regions_;
  std::map<std::uint64_t, std::set<std::uint64_t>>
      guarded_;                            // pages, and those of code that show the same memory
  std::set<std::uint64_t> views_guarded_;  // pages of code in shared mappings whose other views are guarded
  std::map<std::uint64_t, std::uint64_t> segments_;  // System V shared memory: address and size
  std::uint64_t low_begin_;
  std::uint64_t large_begin_;
  std::uint64_t break_begin_ = 0;
  std::uint64_t break_end_ = 0;
};

}  // namespace elision::vm
