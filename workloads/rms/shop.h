// SPDX-License-Identifier: Apache-2.0
// Baskets with quantities and profits, for utilitymine.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "nameless_file.h"
#include "rms/baskets.h"
#include "rms/workers.h"
#include "support.h"

namespace workloads::rms {

/// An item of a basket, as the file stores it.
struct Sale {
  Item item;
  std::int32_t quantity;
};

/// Baskets with quantities, and profits of items.
struct Shop {
  Shop(const BasketOptions& options, std::uint64_t seed)
      : baskets(draw_baskets(options, seed)), profits(options.items) {
    CheapRandom random(seed + 1);
    // Few items have a high profit: 1 to 1000, evenly on a scale of logarithms.
    for (double& profit : profits)
      profit = std::round(std::exp2(static_cast<double>(random.below(1000)) / 100));
    for (const Items& basket : baskets) {
      std::vector<Sale>& sold = sales.emplace_back();
      for (const Item item : basket) sold.push_back({item, 1 + static_cast<std::int32_t>(random.below(5))});
    }
  }

  double earned(const Sale& sale) const {
    return profits[static_cast<std::size_t>(sale.item)] * sale.quantity;
  }
  double earned(const std::vector<Sale>& basket) const {
    double sum = 0;
    for (const Sale& sale : basket) sum += earned(sale);
    return sum;
  }

  std::vector<Items> baskets;
  std::vector<std::vector<Sale>> sales;  // by basket
  std::vector<double> profits;
};

/// The baskets in a file. It has for each basket the number of its items, and then the items.
class BasketFile {
 public:
  explicit BasketFile(const Shop& shop) {
    std::vector<std::int32_t> words;
    for (const std::vector<Sale>& sales : shop.sales) {
      begins_.push_back(words.size());
      words.push_back(static_cast<std::int32_t>(sales.size()));
      for (const Sale& sale : sales) words.insert(words.end(), {sale.item, sale.quantity});
    }
    begins_.push_back(words.size());
    file_.write(words.data(), words.size() * sizeof words[0]);
  }

  /// Calls `visit(number of the basket, its sales)` for each basket of a share.
  template <class Visit>
  void read(Share share, Visit visit) const {
    std::vector<std::int32_t> words(begins_[share.end] - begins_[share.begin]);
    file_.read(words.data(), words.size() * sizeof words[0], begins_[share.begin] * sizeof words[0]);
    std::vector<Sale> sales;
    const std::int32_t* at = words.data();
    for (std::size_t basket = share.begin; basket < share.end; ++basket) {
      sales.resize(static_cast<std::size_t>(*at++));
      for (Sale& sale : sales) sale = {at[0], at[1]}, at += 2;
      visit(basket, std::as_const(sales));
    }
  }

 private:
  std::vector<std::size_t> begins_;  // of baskets, in words
  NamelessFile file_;
};

}  // namespace workloads::rms
