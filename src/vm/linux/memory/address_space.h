// SPDX-License-Identifier: Apache-2.0
// The guest's address space inside the engine's. Chooses addresses by the layout of guest_layout.h, maps,
// unmaps and protects, and never touches a mapping of the engine. Results are those of the system calls: a
// value, or a negative errno.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "vm/interface/engine_services.h"
#include "vm/interface/guest_layout.h"
#include "vm/linux/memory/region_map.h"

namespace elision::vm {

class AddressSpace {
 public:
  /// `services` supplies seeded numbers for the layout, and drops translations of unmapped code.
  explicit AddressSpace(EngineServices& services);

  long map(std::uint64_t address, std::uint64_t size, int protection, int flags, int descriptor,
           std::uint64_t offset, RegionUse use = RegionUse::kMapping);
  long unmap(std::uint64_t address, std::uint64_t size);
  long protect(std::uint64_t address, std::uint64_t size, int protection);
  long remap(std::uint64_t address, std::uint64_t old_size, std::uint64_t new_size, int flags,
             std::uint64_t new_address);
  long advise(std::uint64_t address, std::uint64_t size, int advice);
  /// shmat and shmdt. Chooses a place for the segment if `address` is 0.
  long attach(int segment, std::uint64_t address, int flags);
  long detach(std::uint64_t address);
  /// The brk system call: returns the new end, or the old one if it cannot be moved.
  std::uint64_t set_break(std::uint64_t end);
  void start_break(std::uint64_t begin);

  /// Maps `size` bytes with PROT_NONE at `address`; 0 lets the address space choose.
  long reserve(std::uint64_t address, std::uint64_t size, std::uint64_t alignment);

  const RegionMap& regions() const { return regions_; }
  /// End of the executable mapping that holds `address`, 0 if it is not executable.
  std::uint64_t executable_end(std::uint64_t address) const;
  bool is_shared(std::uint64_t address) const;
  bool is_writable(std::uint64_t address) const;
  /// Code was translated from [begin, end). From now on the guest's writes there fault, and so do its writes
  /// to other mappings of the same pages, so that the translation can be dropped. The guest's own permissions
  /// stay.
  void guard_code(std::uint64_t begin, std::uint64_t end);
  /// Ends the faults of guard_code() in [begin, end). Returns the pages of code that were guarded there.
  std::vector<std::uint64_t> lift_guards(std::uint64_t begin, std::uint64_t end);
  /// How often memory or permissions were taken away from the guest, which ended every transaction.
  std::uint64_t ended_transactions() const { return ended_transactions_; }
  /// /proc/self/maps for the guest.
  std::string describe() const;

 private:
  long map_fixed(std::uint64_t address, std::uint64_t size, int protection, int flags, int descriptor,
                 std::uint64_t offset, RegionProperties properties);
  long map_anywhere(std::uint64_t size, int protection, int flags, int descriptor, std::uint64_t offset,
                    RegionProperties properties, std::uint64_t alignment);
  bool claim_gaps(std::uint64_t begin, std::uint64_t end);
  void record(std::uint64_t begin, std::uint64_t end, const RegionProperties& properties);
  void note_first_touch(std::uint64_t begin, std::uint64_t end, int flags);
  void forget(std::uint64_t begin, std::uint64_t end);
  void update_shared(std::uint64_t begin, std::uint64_t end);
  void forget_code(std::uint64_t begin, std::uint64_t end);
  void guard_page(std::uint64_t page, std::uint64_t code_page);
  void guard_views(const std::set<std::uint64_t>& code_pages);
  void new_view(const RegionProperties& properties);
  std::uint64_t choose(std::uint64_t size, std::uint64_t alignment) const;

  EngineServices& services_;
  std::uint64_t ended_transactions_ = 0;
  RegionMap regions_;
  std::map<std::uint64_t, std::set<std::uint64_t>>
      guarded_;                            // guarded pages, with the pages of code that map the same memory
  std::set<std::uint64_t> views_guarded_;  // pages of code whose other views are guarded
  std::map<std::uint64_t, std::uint64_t> segments_;  // System V shared memory: address and size
  std::uint64_t low_begin_;
  std::uint64_t large_begin_;
  std::uint64_t break_begin_ = 0;
  std::uint64_t break_end_ = 0;
};

/// /proc/PID/maps for the guest: the mappings of one of its processes, with its own permissions. `host_map`:
/// the file where the host lists them.
std::string describe_regions(const RegionMap& regions, const std::string& host_map);

}  // namespace elision::vm
