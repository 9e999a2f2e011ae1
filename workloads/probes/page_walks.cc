// SPDX-License-Identifier: Apache-2.0
// What a load costs more if its page is not in the first level of the TLB, or in none (the probe
// "page-walks"): page_walks [LOADS].
//
// Dependent loads go round over pages that only the second level holds, and over many more pages than it
// holds; each access is to another page, in random order. The same lines in the same order in huge pages,
// which the first level holds, have the same hits and misses in the caches; the difference is the
// translation. There are many more lines than L1 holds, since a core may translate only what misses L1. If
// the system grants no huge pages, there are no figures: it lists the huge pages of a mapping in smaps. On
// the virtual CPU the advice decides, and smaps is the host's.
#include <fstream>
#include <optional>
#include <string>

#include "experiment.h"

namespace {

constexpr std::uint64_t kStretch = 500;  // loads whose mean counts, unless they were interrupted
constexpr std::size_t kPage = 4096;

struct Node {
  Node* next;
};

/// How much of the mapping that contains `memory` lies in huge pages, as the system says.
std::size_t bytes_in_huge_pages(const void* memory) {
  std::ifstream smaps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    const auto place = reinterpret_cast<std::uintptr_t>(memory);
    std::uintptr_t begin = 0, end = 0;
    std::size_t kilobytes = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2) {
      inside = begin <= place && place < end;
    } else if (inside && std::sscanf(line.c_str(), "AnonHugePages: %zu kB", &kilobytes) == 1) {
      return kilobytes * 1024;
    }
  }
  return 0;
}

bool is_in_huge_pages(const void* memory, std::size_t bytes) {
  return elision::htm::detect_cpu().virtual_cpu || bytes_in_huge_pages(memory) >= bytes;
}

struct Set {
  std::size_t pages, lines_a_page;  // at most 8
};

/// Ticks of one of `loads` dependent loads over the lines of a set; none if huge pages were not granted.
std::optional<double> ticks_a_load(const Set& set, int advice, std::uint64_t loads) {
  const std::size_t count = set.pages;
  unsigned char* const memory = probe::fresh_memory(count * kPage, advice);
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
  if (advice == MADV_HUGEPAGE && !is_in_huge_pages(memory, count * kPage)) return std::nullopt;
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

/// What the translation of one load costs; none without huge pages.
std::optional<double> translation_ticks(const Set& set, std::uint64_t loads) {
  const auto small = ticks_a_load(set, MADV_NOHUGEPAGE, loads),
             huge = ticks_a_load(set, MADV_HUGEPAGE, loads);
  if (!huge) return std::nullopt;
  return *small - *huge;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t loads = probe::count_argument(argc, argv, 200000);
  probe::pin_to(0);
  constexpr Set kInSecondLevel{512, 8}, kInNone{8192, 1};
  const auto second_level = translation_ticks(kInSecondLevel, loads);
  const auto walk = translation_ticks(kInNone, loads);
  if (second_level) probe::print("second_level_ticks", *second_level);
  if (second_level && walk) probe::print("walk_ticks", *walk - *second_level);
  return 0;
}
