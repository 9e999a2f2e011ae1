// SPDX-License-Identifier: Apache-2.0
// What a load costs more if its page is not in the first level of the TLB, or in none (the probe
// "page-walks"): page_walks [LOADS].
//
// Dependent loads go round over pages that only the second level holds, and over many more pages than it
// holds; each access is to another page, in random order. The same lines in the same order in huge pages,
// which the first level holds, have the same hits and misses in the caches; the difference is the
// translation. There are many more lines than L1 holds, since a core may translate only what misses L1. If
// the system grants no huge pages, the differences are near zero.
#include "experiment.h"

namespace {

constexpr std::uint64_t kStretch = 500;  // loads whose mean counts, unless they were interrupted
constexpr std::size_t kPage = 4096, kHugePage = 2 << 20;

struct Node {
  Node* next;
};

/// Memory that starts at a huge page, with huge pages or without.
unsigned char* pages(std::size_t count, int advice) {
  const std::size_t bytes = count * kPage;
  void* memory = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::exit(1);
  const auto start = (reinterpret_cast<std::uintptr_t>(memory) + kHugePage - 1) & ~(kHugePage - 1);
  madvise(reinterpret_cast<void*>(start), bytes, advice);
  return reinterpret_cast<unsigned char*>(start);
}

struct Set {
  std::size_t pages, lines_a_page;  // at most 8
};

/// Ticks of one of `loads` dependent loads over the lines of a set.
double ticks_a_load(const Set& set, int advice, std::uint64_t loads) {
  const std::size_t count = set.pages;
  unsigned char* const memory = pages(count, advice);
  // Lines of a page are far apart, so that no prefetcher finds one by another. Neighbouring pages use
  // different lines, so that all sets of the caches have the same share.
  const auto node = [&](std::size_t page, std::size_t use) {
    const std::size_t line = (use * 8 + page * 29) % (kPage / probe::kLineBytes);
    return reinterpret_cast<Node*>(memory + page * kPage + line * probe::kLineBytes);
  };
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  elision::Random random(1);
  for (std::size_t i = count - 1; i > 0; --i) std::swap(order[i], order[random.below(i)]);
  Node* last = nullptr;
  for (std::size_t use = set.lines_a_page; use-- > 0;) {
    for (std::size_t i = count; i-- > 0;) {
      Node* const each = node(order[i], use);
      each->next = last;
      last = each;
    }
  }
  node(order[count - 1], set.lines_a_page - 1)->next = last;
  const Node* place = last;
  for (std::size_t i = 0; i < 2 * count * set.lines_a_page; ++i) place = place->next;
  std::vector<std::uint64_t> spent(loads / kStretch + 1);
  for (auto& each : spent) {
    const std::uint64_t before = probe::ticks();
    for (std::uint64_t i = 0; i < kStretch; ++i) {
      place = place->next;
      asm volatile("" : "+r"(place));
    }
    each = probe::ticks() - before;
  }
  munmap(memory, count * kPage);
  return (probe::trimmed_mean(spent) - probe::clock_mean()) / kStretch;
}

double translation_ticks(const Set& set, std::uint64_t loads) {
  return ticks_a_load(set, MADV_NOHUGEPAGE, loads) - ticks_a_load(set, MADV_HUGEPAGE, loads);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t loads = probe::count_argument(argc, argv, 200000);
  probe::pin_to(0);
  constexpr Set kInSecondLevel{512, 8}, kInNone{8192, 1};
  const double second_level = translation_ticks(kInSecondLevel, loads);
  probe::print("second_level_ticks", second_level);
  probe::print("walk_ticks", translation_ticks(kInNone, loads) - second_level);
  return 0;
}
