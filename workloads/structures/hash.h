// SPDX-License-Identifier: Apache-2.0
// The hash table of the ALE paper (section 3.1): an array of lists. The paper has 262144 nodes in 8192
// buckets, about 32 in each, and 20 % mutations. Sections walk half of a bucket on average.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "structures/padded_list.h"
#include "structures/set_program.h"

namespace workloads::hash {

inline constexpr const char* kDescription = "The ALE paper's hash table";

struct Options : structures::SetOptions {
  Options() : SetOptions{.team = {}, .size = 8192, .mutations = 20, .operations = 20000} {}
  std::uint32_t buckets = 256;
};

inline void add_options(CommandLine& line, Options& options) {
  structures::add_options(line, options);
  line.add("--buckets", options.buckets, "of the table").within(1, 1 << 24);
}

using structures::complaint;

class Set {
 public:
  explicit Set(std::size_t buckets) : number_(buckets), buckets_(new structures::PaddedList[buckets]) {}

  template <class Transaction>
  bool insert(Transaction& transaction, structures::Key key, std::uint32_t) {
    return bucket(key).insert(transaction, key);
  }
  template <class Transaction>
  bool contains(Transaction& transaction, structures::Key key) {
    return bucket(key).contains(transaction, key);
  }
  template <class Transaction>
  bool erase(Transaction& transaction, structures::Key key) {
    return bucket(key).erase(transaction, key);
  }
  template <class Transaction>
  void clear(Transaction& transaction) {
    for (std::size_t i = 0; i < number_; ++i) buckets_[i].clear(transaction);
  }

  /// Returns whether each bucket is right and has only keys that belong there.
  bool check() const {
    bool right = true;
    for (std::size_t i = 0; right && i < number_; ++i) {
      right = buckets_[i].check();
      if (right) buckets_[i].for_each([&](structures::Key key) { right = right && key % number_ == i; });
    }
    return right;
  }
  template <class Function>
  void for_each(Function function) const {
    for (std::size_t i = 0; i < number_; ++i) buckets_[i].for_each(function);
  }

 private:
  structures::PaddedList& bucket(structures::Key key) { return buckets_[key % number_]; }

  const std::size_t number_;
  const std::unique_ptr<structures::PaddedList[]> buckets_;
};

template <class Sections>
int run(const Options& options) {
  Set set(options.buckets);
  return structures::run_set<Sections>(options, set);
}

}  // namespace workloads::hash
