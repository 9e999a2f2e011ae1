// SPDX-License-Identifier: Apache-2.0
// Dependent loads, one per line, over working sets that fit L1, L2, L3 and no cache: cycles per load by the
// time-stamp counter (the probes "loads", "loads-broadwell").
//
// The chain visits lines in one random cycle, so no prefetcher can run ahead. The sizes in bytes may be
// given: loads L1 L2 L3 DRAM. Only a part of the largest set is visited.
//
// The chain is followed in three ways: by loads alone; by a function that is called for each load, with
// copies and additions before and behind it, as barriers of transactional memory are; and through a variable
// in memory. A CPU that waits for a load waits as long in all three.
#include <sys/mman.h>

#include <vector>

#include "base/random.h"
#include "probe.h"

namespace {

constexpr std::size_t kLine = 64;

struct alignas(kLine) Node {
  Node* next;
};

/// Links `count` nodes into one cycle in random order (Sattolo's algorithm).
void link(Node* nodes, std::size_t count) {
  std::vector<std::uint32_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(i);
  elision::Random random(1);
  for (std::size_t i = count - 1; i > 0; --i) std::swap(order[i], order[random.below(i)]);
  for (std::size_t i = 0; i < count; ++i) nodes[i].next = &nodes[order[i]];
}

/// Loads what lies 16 bytes behind `address`. Its caller keeps pointers 16 bytes off.
[[gnu::noinline, gnu::naked]] Node* load_behind(const Node*) { asm("movq 16(%rdi), %rax\n\tret"); }

Node* follow(Node* node) {
  asm volatile("movq (%0), %0" : "+r"(node));
  return node;
}

Node* follow_by_call(Node* node) {
  const char* address = reinterpret_cast<const char*>(node) - 16;
  asm volatile("" : "+r"(address));
  return load_behind(reinterpret_cast<const Node*>(address));
}

Node* follow_by_memory(Node* node) {
  static Node* volatile kept;
  kept = follow(node);
  return kept;
}

template <Node* (*step)(Node*)>
double cycles_per_load(std::size_t bytes, std::uint64_t loads) {
  const std::size_t count = bytes / kLine;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  madvise(memory, bytes, MADV_HUGEPAGE);  // measures the caches and not the TLB
  Node* nodes = static_cast<Node*>(memory);
  link(nodes, count);
  Node* node = nodes;
  const std::uint64_t warm_up = count < loads ? count : loads;
  for (std::uint64_t i = 0; i < warm_up; ++i) node = node->next;
  const std::uint64_t start = probe::ticks();
  for (std::uint64_t i = 0; i < loads; ++i) node = step(node);
  const std::uint64_t spent = probe::ticks() - start;
  munmap(memory, bytes);
  return static_cast<double>(spent) / static_cast<double>(loads);
}

}  // namespace

int main(int argc, char** argv) {
  struct Level {
    const char *plain, *called, *kept;
    std::size_t bytes;
  };
  Level levels[] = {{"l1_cycles", "l1_called_cycles", "l1_kept_cycles", 16u << 10},
                    {"l2_cycles", "l2_called_cycles", "l2_kept_cycles", 128u << 10},
                    {"l3_cycles", "l3_called_cycles", "l3_kept_cycles", 4u << 20},
                    {"dram_cycles", "dram_called_cycles", "dram_kept_cycles", 256u << 20}};
  for (int i = 1; i < argc && i <= 4; ++i) {
    levels[i - 1].bytes = std::strtoull(argv[i], nullptr, 10);
    if (levels[i - 1].bytes >= 2 * kLine) continue;
    std::fprintf(stderr, "%s: not a size of at least two lines: %s\n", argv[0], argv[i]);
    return 2;
  }
  probe::pin_to(0);
  for (const Level& level : levels) {
    const std::uint64_t lines = level.bytes / kLine;
    constexpr std::uint64_t kLeast = 20000, kMost = 200000;
    const std::uint64_t loads = lines * 4 < kLeast ? kLeast : lines * 4 > kMost ? kMost : lines * 4;
    probe::print(level.plain, cycles_per_load<follow>(level.bytes, loads));
    probe::print(level.called, cycles_per_load<follow_by_call>(level.bytes, loads));
    probe::print(level.kept, cycles_per_load<follow_by_memory>(level.bytes, loads));
  }
  return 0;
}
