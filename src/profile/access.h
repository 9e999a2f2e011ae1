// SPDX-License-Identifier: Apache-2.0
// One instruction's access to memory, as evidence of conflicts. Plain data.
#pragma once

#include <cstdint>

namespace elision::profile {

/// Size 0: not known.
struct Access {
  std::uint64_t address = 0, pc = 0;
  std::uint32_t size = 0;
};

}  // namespace elision::profile
