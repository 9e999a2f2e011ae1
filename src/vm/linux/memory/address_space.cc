// SPDX-License-Identifier: Apache-2.0
#include "vm/linux/memory/address_space.h"

#include <sys/mman.h>
#include <sys/shm.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "vm/host/host_call.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace elision::vm {
namespace {

constexpr std::uint64_t kHugePageBytes = 2u << 20;
constexpr std::uint64_t kEnd32Bit = 0x80000000;  // end of the range of MAP_32BIT
constexpr int kPlacement = MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_32BIT;

/// The host never maps guest code executable, since only the translator reads it. A jump that escapes
/// translation faults.
int host_protection(int protection) {
  protection &= PROT_READ | PROT_WRITE | PROT_EXEC;
  return (protection & PROT_EXEC) != 0 ? (protection & ~PROT_EXEC) | PROT_READ : protection;
}

long host_map(std::uint64_t address, std::uint64_t size, int protection, int flags, int descriptor,
              std::uint64_t offset) {
  return host_call(SYS_mmap, address, size, host_protection(protection), flags, descriptor, offset);
}

constexpr std::uint64_t kRoomBelowStack = kHugePageBytes;  // a multiple of every alignment in use

bool touches_code_cache(std::uint64_t begin, std::uint64_t end) {
  return begin < kCodeCacheEnd && end > kCodeCacheBegin;
}

/// A line of the host's memory map, narrowed to [at, stop) and with the guest's permissions.
std::string describe_region(const std::string& host_line, std::uint64_t at, std::uint64_t stop,
                            std::uint64_t host_begin, const RegionProperties& properties) {
  unsigned long long begin, end, offset = 0;
  char permissions[5] = {}, device[32] = {}, inode[32] = {};
  int name_at = 0;
  std::sscanf(host_line.c_str(), "%llx-%llx %4s %llx %31s %31s %n", &begin, &end, permissions, &offset,
              device, inode, &name_at);
  permissions[1] = properties.writable ? 'w' : '-';  // not the host's, which guard_code() may have removed
  permissions[2] = properties.executable ? 'x' : '-';
  std::string name =
      host_line.substr(std::min<std::size_t>(host_line.size(), static_cast<std::size_t>(name_at)));
  if (properties.use == RegionUse::kHeap) name = "[heap]";
  if (properties.use == RegionUse::kStack) name = "[stack]";
  if (std::strcmp(inode, "0") != 0) offset += at - host_begin;
  char buffer[128];
  const int size = std::snprintf(buffer, sizeof buffer, "%08llx-%08llx %s %08llx %s %s ",
                                 static_cast<unsigned long long>(at), static_cast<unsigned long long>(stop),
                                 permissions, offset, device, inode);
  std::string text(buffer, static_cast<std::size_t>(size));
  if (!name.empty() && text.size() < 73) text.resize(73, ' ');
  return text + name + "\n";
}

struct HostMapping {
  unsigned long long begin, end, offset;
  std::string file;
};

std::vector<HostMapping> host_mappings() {
  std::ifstream host("/proc/self/maps");
  std::vector<HostMapping> mappings;
  std::string line;
  while (std::getline(host, line)) {
    HostMapping mapping{};
    char device[32], inode[32];
    if (std::sscanf(line.c_str(), "%llx-%llx %*s %llx %31s %31s", &mapping.begin, &mapping.end,
                    &mapping.offset, device, inode) != 5)
      continue;
    mapping.file = std::string(device) + " " + inode;
    mappings.push_back(mapping);
  }
  return mappings;
}

/// The other addresses at which the page of a file mapped at `page` is mapped.
std::vector<std::uint64_t> other_views(const std::vector<HostMapping>& mappings, std::uint64_t page) {
  const auto own = std::find_if(mappings.begin(), mappings.end(),
                                [&](const HostMapping& m) { return page >= m.begin && page < m.end; });
  std::vector<std::uint64_t> views;
  if (own == mappings.end()) return views;
  const std::uint64_t offset = page - own->begin + own->offset;
  for (const HostMapping& mapping : mappings)
    if (mapping.file == own->file && offset >= mapping.offset &&
        offset - mapping.offset < mapping.end - mapping.begin)
      if (const std::uint64_t view = offset - mapping.offset + mapping.begin; view != page)
        views.push_back(view);
  return views;
}

/// For MAP_32BIT.
std::uint64_t choose_low(const RegionMap& regions, std::uint64_t begin, std::uint64_t size,
                         std::uint64_t alignment) {
  if (const std::uint64_t found = regions.find_free(begin, kLowEnd, size, alignment)) return found;
  if (const std::uint64_t found = regions.find_free(kProgramBase, kLowEnd, size, alignment)) return found;
  return regions.find_free(kCodeCacheEnd, kEnd32Bit, size, alignment);
}

bool populates(int advice) {
  constexpr int kPopulateRead = 22, kPopulateWrite = 23;  // MADV_POPULATE_READ and _WRITE since Linux 5.14
  return advice == kPopulateRead || advice == kPopulateWrite;
}

bool is_error(long result) { return result < 0 && result >= -4095; }

}  // namespace

AddressSpace::AddressSpace(EngineServices& services)
    : services_(services),
      low_begin_(kLowBegin + (services.random() % 256) * kPageBytes),
      large_begin_(kLargeBegin + (services.random() % 4096) * kHugePageBytes) {}

void AddressSpace::forget_code(std::uint64_t begin, std::uint64_t end) {
  services_.end_all_transactions();
  ++ended_transactions_;
  for (const std::uint64_t page : lift_guards(begin, end))
    if (page < begin || page >= end) services_.forget_code(page, page + kPageBytes);
  if (regions_.any_executable(begin, end)) services_.forget_code(begin, end);
}

void AddressSpace::record(std::uint64_t begin, std::uint64_t end, const RegionProperties& properties) {
  regions_.add(begin, end, properties);
  if (properties.executable)
    services_.forget_code(begin, end);  // the translator may remember that nothing was there
  update_shared(begin, end);
  new_view(properties);
}

/// Whether the first access to each page of a new mapping is to fault. Pages of files do not: Linux maps 16
/// of them at a time, and most are there when a program needs them.
void AddressSpace::note_first_touch(std::uint64_t begin, std::uint64_t end, int flags) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 30;  // the shadow memory of a sanitizer is larger
  const bool on_demand = (flags & MAP_ANONYMOUS) != 0 && (flags & (MAP_POPULATE | MAP_LOCKED)) == 0;
  services_.set_untouched(begin, end, on_demand && end - begin <= kMostBytes);
}

void AddressSpace::forget(std::uint64_t begin, std::uint64_t end) {
  regions_.remove(begin, end);
  services_.set_shared(begin, end, false);
}

void AddressSpace::update_shared(std::uint64_t begin, std::uint64_t end) {
  services_.set_shared(begin, end, false);
  for (std::uint64_t at = begin; at < end;) {
    const auto region = regions_.find(at);
    const std::uint64_t stop = std::min(end, region->second.end);
    const RegionProperties& properties = region->second.properties;
    if (properties.shared && properties.writable) services_.set_shared(at, stop, true);
    at = stop;
  }
}

std::uint64_t AddressSpace::choose(std::uint64_t size, std::uint64_t alignment) const {
  if (size < kLargeBytes) {
    if (const std::uint64_t low = regions_.find_free(low_begin_, kLowEnd, size, alignment)) return low;
  }
  if (const std::uint64_t large = regions_.find_free(large_begin_, kLargeEnd, size, alignment)) return large;
  return regions_.find_free(kVastBegin, kVastEnd, size, alignment);
}

long AddressSpace::map_anywhere(std::uint64_t size, int protection, int flags, int descriptor,
                                std::uint64_t offset, RegionProperties properties, std::uint64_t alignment) {
  // Linux places a new mapping below all others, so an overflow of a stack without a guard page hits unmapped
  // memory. Keep room below for the same effect.
  const std::uint64_t room_below = (flags & MAP_STACK) != 0 ? kRoomBelowStack : 0;
  for (;;) {
    const std::uint64_t place = (flags & MAP_32BIT) != 0
                                    ? choose_low(regions_, low_begin_, size + room_below, alignment)
                                    : choose(size + room_below, alignment);
    if (place == 0) return -ENOMEM;
    const std::uint64_t address = place + room_below;
    const long result =
        host_map(address, size, protection, (flags & ~kPlacement) | MAP_FIXED_NOREPLACE, descriptor, offset);
    if (result == static_cast<long>(address)) {
      record(address, address + size, properties);
      note_first_touch(address, address + size, flags);
    }
    if (result != -EEXIST) return result;
    // The engine has something mapped there. Note one page of it as taken and search on.
    regions_.add(address, address + kPageBytes, {false, false, RegionUse::kForeign});
  }
}

bool AddressSpace::claim_gaps(std::uint64_t begin, std::uint64_t end) {
  std::uint64_t at = begin;
  while (at < end) {
    if (const auto region = regions_.find(at)) {
      if (region->second.properties.use == RegionUse::kForeign) return false;
      at = region->second.end;
      continue;
    }
    const std::uint64_t gap_end = regions_.next_start(at, end);
    const long result = host_map(at, gap_end - at, PROT_NONE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (is_error(result)) return false;
    regions_.add(at, gap_end, {});
    at = gap_end;
  }
  return true;
}

long AddressSpace::map_fixed(std::uint64_t address, std::uint64_t size, int protection, int flags,
                             int descriptor, std::uint64_t offset, RegionProperties properties) {
  const std::uint64_t end = address + size;
  if (touches_code_cache(address, end)) return (flags & MAP_FIXED_NOREPLACE) != 0 ? -EEXIST : -ENOMEM;
  if ((flags & MAP_FIXED_NOREPLACE) == 0) {
    if (!claim_gaps(address, end)) return -ENOMEM;
    forget_code(address, end);
  }
  const long result = host_map(address, size, protection, flags, descriptor, offset);
  if (is_error(result)) return result;
  record(address, end, properties);
  note_first_touch(address, end, flags);
  return result;
}

long AddressSpace::map(std::uint64_t address, std::uint64_t size, int protection, int flags, int descriptor,
                       std::uint64_t offset, RegionUse use) {
  if (size == 0) return -EINVAL;
  if (size > kAddressLimit) return -ENOMEM;
  size = page_up(size);
  flags &= ~MAP_GROWSDOWN;  // it could grow into mappings of the engine
  const RegionProperties properties{(protection & PROT_EXEC) != 0, (flags & MAP_TYPE) != MAP_PRIVATE, use,
                                    (protection & PROT_WRITE) != 0};
  if ((flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0) {
    if (address % kPageBytes != 0) return -EINVAL;
    if (address > kAddressLimit - size) return -ENOMEM;
    return map_fixed(address, size, protection, flags, descriptor, offset, properties);
  }
  address = page_up(address);
  const std::uint64_t limit = (flags & MAP_32BIT) != 0 ? kEnd32Bit : kAddressLimit;
  if (address >= kPageBytes * 16 && size <= limit && address <= limit - size &&
      regions_.is_free(address, address + size) && !touches_code_cache(address, address + size)) {
    const long result = map_fixed(address, size, protection, (flags & ~kPlacement) | MAP_FIXED_NOREPLACE,
                                  descriptor, offset, properties);
    if (result != -EEXIST && result != -EPERM) return result;
  }
  const std::uint64_t alignment = (flags & MAP_HUGETLB) != 0 ? kHugePageBytes : kPageBytes;
  return map_anywhere(size, protection, flags, descriptor, offset, properties, alignment);
}

long AddressSpace::reserve(std::uint64_t address, std::uint64_t size, std::uint64_t alignment) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  size = page_up(size);
  if (address == 0) return map_anywhere(size, PROT_NONE, flags, -1, 0, {}, std::max(alignment, kPageBytes));
  return map_fixed(address, size, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0, {});
}

long AddressSpace::unmap(std::uint64_t address, std::uint64_t size) {
  if (address % kPageBytes != 0 || size == 0 || size > kAddressLimit || address > kAddressLimit - size)
    return -EINVAL;
  const std::uint64_t end = address + page_up(size);
  forget_code(address, end);
  services_.set_huge_pages(address, end, false);
  std::uint64_t at = address;
  while (at < end) {
    const auto region = regions_.find(at);
    if (!region) {
      at = regions_.next_start(at, end);
      continue;
    }
    const std::uint64_t stop = std::min(end, region->second.end);
    if (region->second.properties.use != RegionUse::kForeign) {
      const long result = host_call(SYS_munmap, at, stop - at);
      if (is_error(result)) return result;
      forget(at, stop);
    }
    at = stop;
  }
  return 0;
}

long AddressSpace::protect(std::uint64_t address, std::uint64_t size, int protection) {
  if (address % kPageBytes != 0) return -EINVAL;
  if (size == 0) return 0;
  if (size > kAddressLimit || address > kAddressLimit - size) return -ENOMEM;
  const std::uint64_t end = address + page_up(size);
  if (!regions_.covers(address, end)) return -ENOMEM;
  forget_code(address, end);
  const long result = host_call(SYS_mprotect, address, end - address, host_protection(protection));
  if (is_error(result)) return result;
  regions_.set_permissions(address, end, (protection & PROT_EXEC) != 0, (protection & PROT_WRITE) != 0);
  if ((protection & PROT_EXEC) != 0) services_.forget_code(address, end);
  update_shared(address, end);
  if ((protection & PROT_WRITE) != 0)
    for (auto region = regions_.find(address); region && region->first < end;
         region = regions_.find(region->second.end))
      new_view(region->second.properties);
  return result;
}

long AddressSpace::remap(std::uint64_t address, std::uint64_t old_size, std::uint64_t new_size, int flags,
                         std::uint64_t new_address) {
  constexpr int kMovesAnyway = MREMAP_FIXED | MREMAP_DONTUNMAP;
  if ((flags & ~(MREMAP_MAYMOVE | kMovesAnyway)) != 0) return -EINVAL;
  if ((flags & kMovesAnyway) != 0 && (flags & MREMAP_MAYMOVE) == 0) return -EINVAL;
  if (address % kPageBytes != 0 || new_size == 0 || new_size > kAddressLimit) return -EINVAL;
  old_size = page_up(old_size);
  new_size = page_up(new_size);
  const std::uint64_t old_end = address + old_size;
  if (!regions_.covers(address, std::max(old_end, address + 1))) return -EFAULT;
  const RegionProperties properties = regions_.find(address)->second.properties;
  if ((flags & kMovesAnyway) != 0 &&
      (new_address % kPageBytes != 0 || new_address > kAddressLimit - new_size))
    return -EINVAL;
  if ((flags & MREMAP_FIXED) != 0) {
    const std::uint64_t new_end = new_address + new_size;
    if (touches_code_cache(new_address, new_end)) return -ENOMEM;
    if (!claim_gaps(new_address, new_end)) return -ENOMEM;
    forget_code(new_address, new_end);
    services_.set_huge_pages(new_address, new_end, false);
  } else if ((flags & MREMAP_DONTUNMAP) != 0) {  // it moves in any case; the new address is a hint
    const bool overlaps = new_address < old_end && address < new_address + new_size;
    if (new_size != old_size || overlaps) return -EINVAL;
  } else if (new_size <= old_size) {
    return new_size == old_size || unmap(address + new_size, old_size - new_size) == 0
               ? static_cast<long>(address)
               : -EFAULT;
  } else if (regions_.is_free(old_end, address + new_size) &&
             !touches_code_cache(old_end, address + new_size)) {
    const long grown = host_call(SYS_mremap, address, old_size, new_size, 0);
    if (!is_error(grown)) {
      record(address, address + new_size, properties);
      services_.set_untouched(old_end, address + new_size, true);
    }
    if (grown != -ENOMEM) return grown;
  }
  if ((flags & MREMAP_FIXED) == 0) {
    if ((flags & MREMAP_MAYMOVE) == 0) return -ENOMEM;
    const long place = reserve(0, new_size, kPageBytes);
    if (is_error(place)) return place;
    new_address = place;
  }
  forget_code(address, old_end);
  const long result =
      host_call(SYS_mremap, address, old_size, new_size, flags | MREMAP_MAYMOVE | MREMAP_FIXED, new_address);
  if (is_error(result)) {
    if ((flags & MREMAP_FIXED) == 0) unmap(new_address, new_size);
    return result;
  }
  if (old_size != 0 && (flags & MREMAP_DONTUNMAP) == 0) forget(address, old_end);
  record(new_address, new_address + new_size, properties);
  // Which of the pages that move were touched is not kept: all count as touched.
  services_.set_untouched(new_address, new_address + std::min(old_size, new_size), false);
  if (new_size > old_size) services_.set_untouched(new_address + old_size, new_address + new_size, true);
  return result;
}

long AddressSpace::advise(std::uint64_t address, std::uint64_t size, int advice) {
  if (address % kPageBytes != 0) return -EINVAL;
  if (size == 0) return 0;
  if (size > kAddressLimit || !regions_.covers(address, address + page_up(size))) return -ENOMEM;
  if (advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE)
    forget_code(address, address + page_up(size));
  const long result = host_call(SYS_madvise, address, size, advice);
  if (result == 0 && (advice == MADV_HUGEPAGE || advice == MADV_NOHUGEPAGE))
    services_.set_huge_pages(address, address + page_up(size), advice == MADV_HUGEPAGE);
  if (result == 0 && (advice == MADV_DONTNEED || populates(advice)))
    services_.set_untouched(address, address + page_up(size), advice == MADV_DONTNEED);
  return result;
}

long AddressSpace::attach(int segment, std::uint64_t address, int flags) {
  shmid_ds status{};
  const long error = host_call(SYS_shmctl, segment, IPC_STAT, reinterpret_cast<std::uint64_t>(&status));
  if (error < 0) return error;
  const std::uint64_t size = page_up(status.shm_segsz);
  if ((flags & SHM_RND) != 0) address = page_down(address);
  if (address % kPageBytes != 0 || (address == 0 && (flags & SHM_REMAP) != 0)) return -EINVAL;
  if (address > kAddressLimit - size || touches_code_cache(address, address + size)) return -EINVAL;
  const bool chosen_here = address == 0;
  if (chosen_here) {
    const long place = reserve(0, size, kPageBytes);
    if (is_error(place)) return place;
    address = static_cast<std::uint64_t>(place);
  } else {
    if ((flags & SHM_REMAP) == 0 && !regions_.is_free(address, address + size)) return -EINVAL;
    if (!claim_gaps(address, address + size)) return -EINVAL;
    forget_code(address, address + size);
  }
  const long result = host_call(SYS_shmat, segment, address, (flags & SHM_RDONLY) | SHM_REMAP);
  if (is_error(result)) {
    if (chosen_here) unmap(address, size);
    return result;
  }
  record(address, address + size,
         {(flags & SHM_EXEC) != 0, true, RegionUse::kMapping, (flags & SHM_RDONLY) == 0});
  segments_[address] = size;
  return result;
}

long AddressSpace::detach(std::uint64_t address) {
  const auto segment = segments_.find(address);
  if (segment == segments_.end()) return -EINVAL;
  const std::uint64_t end = address + segment->second;
  forget_code(address, end);
  const long result = host_call(SYS_shmdt, address);
  if (is_error(result)) return result;
  segments_.erase(segment);
  forget(address, end);
  return result;
}

void AddressSpace::start_break(std::uint64_t begin) { break_begin_ = break_end_ = begin; }

std::uint64_t AddressSpace::set_break(std::uint64_t end) {
  if (end < break_begin_) return break_end_;
  const std::uint64_t limit = break_begin_ < kLowBegin ? kLowBegin : kLowEnd;
  const std::uint64_t old_top = page_up(break_end_);
  const std::uint64_t new_top = page_up(end);
  if (new_top > limit && break_begin_ < limit) return break_end_;
  if (new_top < old_top && unmap(new_top, old_top - new_top) != 0) return break_end_;
  if (new_top > old_top) {
    if (!regions_.is_free(old_top, new_top)) return break_end_;
    const long result = map_fixed(old_top, new_top - old_top, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0,
                                  {false, false, RegionUse::kHeap, true});
    if (is_error(result)) return break_end_;
  }
  return break_end_ = end;
}

std::uint64_t AddressSpace::executable_end(std::uint64_t address) const {
  std::uint64_t end = 0;
  for (auto region = regions_.find(address); region && region->second.properties.executable;
       region = regions_.find(end))
    end = region->second.end;
  return end;
}

std::string AddressSpace::describe() const { return describe_regions(regions_, "/proc/self/maps"); }

std::string describe_regions(const RegionMap& regions, const std::string& host_map) {
  std::ifstream host(host_map);
  std::string text, line;
  while (std::getline(host, line)) {
    unsigned long long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx", &begin, &end) != 2) continue;
    // One line of the host may cover several regions of the guest, and mappings of the engine.
    for (std::uint64_t at = begin; at < end;) {
      const auto region = regions.find(at);
      const std::uint64_t stop =
          std::min<std::uint64_t>(end, region ? region->second.end : regions.next_start(at, end));
      if (region && region->second.properties.use != RegionUse::kForeign)
        text += describe_region(line, at, stop, begin, region->second.properties);
      at = stop;
    }
  }
  return text;
}

bool AddressSpace::is_writable(std::uint64_t address) const {
  const auto region = regions_.find(address);
  return region && region->second.properties.writable;
}

void AddressSpace::guard_page(std::uint64_t page, std::uint64_t code_page) {
  const auto [guard, added] = guarded_.try_emplace(page);
  guard->second.insert(code_page);
  if (added) host_call(SYS_mprotect, page, kPageBytes, PROT_READ);
}

/// A JIT compiler that keeps memory either writable or executable maps the same file twice: guard the other
/// views too.
void AddressSpace::guard_code(std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t page = page_down(begin); page < end; page += kPageBytes) {
    if (is_writable(page)) guard_page(page, page);
    if (is_shared(page) && views_guarded_.insert(page).second) guard_views({page});
  }
}

void AddressSpace::guard_views(const std::set<std::uint64_t>& code_pages) {
  const std::vector<HostMapping> mappings = host_mappings();
  for (const std::uint64_t page : code_pages)
    for (const std::uint64_t view : other_views(mappings, page))
      if (is_writable(view)) guard_page(view, page);
}

/// Guards the new view of a shared mapping if code was translated from another view of it.
void AddressSpace::new_view(const RegionProperties& properties) {
  if (properties.shared && properties.writable && !views_guarded_.empty()) guard_views(views_guarded_);
}

std::vector<std::uint64_t> AddressSpace::lift_guards(std::uint64_t begin, std::uint64_t end) {
  const auto first = guarded_.lower_bound(page_down(begin));
  auto last = first;
  std::vector<std::uint64_t> code_pages;
  for (; last != guarded_.end() && last->first < end; ++last) {
    host_call(SYS_mprotect, last->first, kPageBytes, PROT_READ | PROT_WRITE);
    for (const std::uint64_t page : last->second) {
      code_pages.push_back(page);
      views_guarded_.erase(page);
    }
  }
  guarded_.erase(first, last);
  return code_pages;
}

bool AddressSpace::is_shared(std::uint64_t address) const {
  const auto region = regions_.find(address);
  return region && region->second.properties.shared;
}

}  // namespace elision::vm
