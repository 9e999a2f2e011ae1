// SPDX-License-Identifier: Apache-2.0
// How much a transaction may read and write. The limits are the machine's: the manual only says that there
// are limits (SDM Vol. 1, 17.3.5 bit 3, and 17.3.9.2). Written lines must stay in L1, read lines in the last
// level.
#include <sys/mman.h>

#include <vector>

#include "rtm_rules.h"

namespace {

using namespace rules;

constexpr int kRounds = 20;

struct Cache {
  unsigned ways, sets;
  std::size_t bytes() const { return std::size_t{ways} * sets * 64; }
};

/// Leaf 4, subleaf 0: L1 data; 2: L2; 3: L3.
Cache cache(unsigned subleaf) {
  const Registers r = cpuid(4, subleaf);
  return {(r.ebx >> 22) + 1, r.ecx + 1};
}
const Cache& l1() {
  static const Cache cached = cache(0);
  return cached;
}

unsigned char* memory() {
  static unsigned char* const bytes = [] {
    const std::size_t size = cache(3).bytes() * 5 / 4;
    void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memset(mapped, 1, size);
    return static_cast<unsigned char*>(mapped);
  }();
  return bytes;
}

enum class Kind { kRead, kWrite };

/// `count` accesses, `stride` bytes apart, in a transaction without other accesses. Returns its status.
std::uint32_t accesses(Kind kind, const unsigned char* from, std::size_t count, std::size_t stride) {
  std::uint32_t status;
  if (kind == Kind::kRead) {
    asm volatile("xbegin 1f\n2: mov (%1), %%ebx\nadd %3, %1\ndec %2\njnz 2b\nxend\nmov $-1, %%eax\n1:"
                 : "=&a"(status), "+&r"(from), "+&r"(count)
                 : "r"(stride)
                 : "rbx", "memory", "cc");
  } else {
    asm volatile("xbegin 1f\n2: movb $1, (%1)\nadd %3, %1\ndec %2\njnz 2b\nxend\nmov $-1, %%eax\n1:"
                 : "=&a"(status), "+&r"(from), "+&r"(count)
                 : "r"(stride)
                 : "memory", "cc");
  }
  return status;
}

/// At least one of several transactions commits; a few may abort by interrupts or spuriously.
const char* fits(Kind kind, const unsigned char* from, std::size_t count, std::size_t stride) {
  std::uint32_t status = 0;
  for (int i = 0; i < kRounds; ++i)
    if ((status = accesses(kind, from, count, stride)) == Status::kStarted) return nullptr;
  return seen("%zu lines, %zu bytes apart: status %#x", count, stride, status);
}

/// No transaction commits, and the cause is capacity.
const char* does_not_fit(Kind kind, const unsigned char* from, std::size_t count, std::size_t stride) {
  int told = 0;
  for (int i = 0; i < kRounds; ++i) {
    const std::uint32_t status = accesses(kind, from, count, stride);
    if (status == Status::kStarted) return seen("%zu lines, %zu bytes apart, commit", count, stride);
    if (status != Status::kCapacityBit && status != 0) return seen("status %#x", status);
    told += status == Status::kCapacityBit;
  }
  return told > 0 ? nullptr : "no abort was for capacity";
}

std::size_t set_stride() { return std::size_t{l1().sets} * 64; }

const char* write_set_of_one_set() {
  for (unsigned set = 0; set < l1().sets; set += 7) {
    const unsigned char* from = memory() + 64 * set;
    if (const char* wrong = fits(Kind::kWrite, from, l1().ways, set_stride())) return wrong;
    if (const char* wrong = does_not_fit(Kind::kWrite, from, l1().ways + 1, set_stride())) return wrong;
  }
  return nullptr;
}
const char* write_set_beyond_l1() {
  if (const char* wrong = fits(Kind::kWrite, memory(), l1().bytes() / 64 / 2, 64)) return wrong;
  return does_not_fit(Kind::kWrite, memory(), l1().bytes() / 64 + 1, 64);
}
const char* read_set_beyond_l1() { return fits(Kind::kRead, memory(), 2 * l1().bytes() / 64, 64); }
const char* read_set_beyond_l2() { return fits(Kind::kRead, memory(), 2 * cache(2).bytes() / 64, 64); }
const char* read_set_beyond_l3() {
  return does_not_fit(Kind::kRead, memory(), cache(3).bytes() / 64 * 5 / 4, 64);
}

/// Reads push a written line out of L1.
const char* reads_evict_writes() {
  int told = 0;
  for (int i = 0; i < kRounds; ++i) {
    const Status status = Rtm::begin();
    if (status.started()) {
      volatile unsigned char* at = memory();
      at[0] = 1;
      for (unsigned k = 1; k <= 4 * l1().ways; ++k) (void)at[k * set_stride()];
      Rtm::commit();
      return "it commits";
    }
    told += status.raw == Status::kCapacityBit;
  }
  return told > 0 ? nullptr : "no abort was for capacity";
}

unsigned threads_per_core() { return cpuid(0xb, 0).ebx; }
unsigned cores() { return cpuid(0xb, 1).ebx / threads_per_core(); }

/// A thread on CPU `cpu` writes to as many lines of L1's first set as the set has ways, on other lines than
/// CPU 0. A transaction on CPU 0 writes half as many and then waits for ever. Returns the OR of its statuses.
std::uint32_t beside_a_writer_on(unsigned cpu) {
  pin_to(0);
  volatile unsigned char* const mine = memory();
  volatile unsigned char* const theirs = memory() + 2 * l1().ways * set_stride();
  Other other([theirs, cpu] {
    static unsigned pinned = ~0u;
    if (pinned != cpu) pin_to(pinned = cpu);
    for (unsigned k = 0; k < 2 * l1().ways; ++k) theirs[k * set_stride()] = 1;
  });
  while (other.steps() < 2) relax();
  std::uint32_t all = 0;
  for (int i = 0; i < 5; ++i) {
    const Status status = Rtm::begin();
    if (status.started()) {
      for (unsigned k = 0; k < l1().ways / 2; ++k) mine[k * set_stride()] = 1;
      for (;;) asm volatile("");
    }
    all |= status.raw;
  }
  return all;
}

const char* siblings_share() {
  if (threads_per_core() < 2) return nullptr;
  const std::uint32_t status = beside_a_writer_on(cores());
  return status == Status::kCapacityBit ? nullptr : seen("status %#x", status);
}
const char* cores_do_not_share() {
  if (elision::usable_cpus() < 2) return nullptr;
  const std::uint32_t status = beside_a_writer_on(1);
  return status == 0 ? nullptr : seen("status %#x", status);
}

const Case kCases[] = {
    {"written lines of one L1 set: as many as ways, no more", "17.3.9.2", Where::kVirtual,
     write_set_of_one_set},
    {"a write set of half L1 commits, one beyond L1 does not", "17.3.9.2", Where::kVirtual,
     write_set_beyond_l1},
    {"reads that push out a written line abort", "17.3.9.2", Where::kVirtual, reads_evict_writes},
    {"a read set beyond L1 commits", "17.3.9.2", Where::kVirtual, read_set_beyond_l1},
    {"a read set beyond L2 commits", "17.3.9.2", Where::kVirtual, read_set_beyond_l2},
    {"a read set beyond L3 aborts", "17.3.9.2", Where::kVirtual, read_set_beyond_l3},
    {"siblings share L1's capacity", "17.3.9.2", Where::kVirtual, siblings_share},
    {"other cores do not", "17.3.9.2", Where::kVirtual, cores_do_not_share},
};

}  // namespace

int main(int argc, char** argv) { return rules::run(argc, argv, kCases); }
