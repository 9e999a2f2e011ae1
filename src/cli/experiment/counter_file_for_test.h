// SPDX-License-Identifier: Apache-2.0
// Counter files (abi/counters.h) as a process with the lock library would leave them. Tests only.
#pragma once

#include <filesystem>
#include <fstream>
#include <vector>

#include "abi/counters.h"

namespace elision::cli::experiment::test {

/// One process's. `slots`: those of its threads.
struct CounterFile {
  abi::CountersHeader header{
      .magic = abi::kCountersMagic, .version = abi::kCountersVersion, .slot_count = abi::kCounterSlots};
  std::vector<abi::CounterSlot> slots{};

  void write(const std::filesystem::path& path) {
    header.next_slot = static_cast<std::uint32_t>(1 + slots.size());
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&header), sizeof header);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      file.seekp(static_cast<std::streamoff>(abi::kCountersHeaderBytes + (1 + i) * abi::kCounterSlotBytes));
      file.write(reinterpret_cast<const char*>(&slots[i]), sizeof slots[i]);
    }
  }
};

}  // namespace elision::cli::experiment::test
