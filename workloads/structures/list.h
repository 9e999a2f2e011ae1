// SPDX-License-Identifier: Apache-2.0
// The list of the ALE paper (section 3.1): 100 nodes, 2 % mutations. Sections walk half of the list on
// average; conflicts are real.
#pragma once

#include <cstdint>

#include "structures/padded_list.h"
#include "structures/set_program.h"

namespace workloads::list {

inline constexpr const char* kDescription = "The ALE paper's sorted linked list";

struct Options : structures::SetOptions {
  Options() : SetOptions{.team = {}, .size = 100, .mutations = 2, .operations = 20000} {}
};

using structures::add_options;
using structures::complaint;

class Set : public structures::PaddedList {
 public:
  template <class Transaction>
  bool insert(Transaction& transaction, structures::Key key, std::uint32_t) {
    return PaddedList::insert(transaction, key);
  }
};

template <class Sections>
int run(const Options& options) {
  Set set;
  return structures::run_set<Sections>(options, set);
}

}  // namespace workloads::list
