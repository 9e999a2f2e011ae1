// SPDX-License-Identifier: Apache-2.0
// Baskets of items for apriori and utilitymine, drawn as by the Quest generator (Agrawal and Srikant: "Fast
// Algorithms for Mining Association Rules", VLDB 1994): patterns of items that go together, some of them
// frequent, and baskets of a few patterns, each of which loses some items.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "command_line.h"
#include "support.h"

namespace workloads::rms {

using Item = std::int32_t;
using Items = std::vector<Item>;  // in ascending order, each once

struct BasketOptions {
  unsigned baskets = 1000, length = 10, items = 1000, patterns = 2000, pattern_length = 6;
};

inline void add_basket_options(CommandLine& line, BasketOptions& options) {
  line.add("--baskets", options.baskets, "of the input").within(1, 1 << 20);
  line.add("--length", options.length, "items of a basket, on average").within(1, 64);
  line.add("--items", options.items, "of which baskets are made").within(4, 4096);
  line.add("--patterns", options.patterns, "from which baskets are drawn").within(1, 1 << 16);
  line.add("--pattern-length", options.pattern_length, "items of a pattern, on average").within(1, 32);
}

namespace drawing {

/// Draws a length from 1 to 2 * mean - 1.
inline std::size_t length_around(CheapRandom& random, unsigned mean) {
  return 1 + random.below(2 * mean - 1);
}

/// Draws the items of a pattern. About half of them are items of the pattern before.
inline Items pattern(CheapRandom& random, const BasketOptions& options, const Items& before) {
  Items items(length_around(random, options.pattern_length));
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i] = i < before.size() && random.below(2) == 0 ? before[i]
                                                         : static_cast<Item>(random.below(options.items));
  }
  return items;
}

inline void sort_once(Items& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

}  // namespace drawing

inline std::vector<Items> draw_baskets(const BasketOptions& options, std::uint64_t seed) {
  CheapRandom random(seed);
  std::vector<Items> patterns(options.patterns);
  for (std::size_t i = 0; i < patterns.size(); ++i)
    patterns[i] = drawing::pattern(random, options, i == 0 ? Items() : patterns[i - 1]);
  std::vector<Items> baskets(options.baskets);
  for (Items& basket : baskets) {
    const std::size_t length = drawing::length_around(random, options.length);
    while (basket.size() < length) {
      // The lower the number of a pattern, the more often it is drawn.
      const std::uint32_t among = 1 + random.below(options.patterns);
      for (const Item item : patterns[random.below(among)])
        if (random.below(4) != 0) basket.push_back(item);
    }
    drawing::sort_once(basket);
  }
  return baskets;
}

}  // namespace workloads::rms
