// SPDX-License-Identifier: Apache-2.0
// What bounds a transaction in fast mode, where no other CPU runs meanwhile. For elision vm --fast alone.
#include "rtm_rules.h"

namespace {

using namespace rules;

constexpr std::uint64_t kMostInstructions = 100000;

/// A transaction of `instructions`, which is even.
std::uint32_t status_of(std::uint64_t instructions) {
  std::uint32_t status = 0;
  asm volatile(
      "mov $-1, %%eax\n"
      "xbegin 2f\n"
      "1: dec %1\n"
      "jnz 1b\n"
      "xend\n"
      "mov $-1, %%eax\n"
      "2:\n"
      : "=&a"(status), "+r"(instructions)
      :
      : "memory", "cc");
  return status;
}

const char* many_instructions() {
  for (int i = 0; i < 3; ++i) {
    const std::uint32_t shorter = status_of((kMostInstructions - 100) / 2);
    if (shorter != Status::kStarted) return seen("a shorter one: status %#x", shorter);
    const std::uint32_t longer = status_of((kMostInstructions + 100) / 2);
    if (longer != 0) return seen("a longer one: status %#x", longer);
  }
  return nullptr;
}

/// The other thread never runs before the transaction ends.
const char* waits_in_vain() {
  static Page flag;
  const Other other([] { flag.word[0] = 1; });
  for (int i = 0; i < 100; ++i) {
    flag.word[0] = 0;
    const Status status = Rtm::begin();
    if (status.started()) {
      if (load(flag.word[0]) != 0) Rtm::abort<1>();
      while (load(flag.word[0]) == 0) asm volatile("");
      Rtm::commit();
      return "it saw the other thread's store";
    }
    if (status.raw != 0 && (status.raw & Status::kExplicitBit) == 0) return seen("status %#x", status.raw);
  }
  return nullptr;
}

const char* written_lines() {
  constexpr std::size_t kLine = 64;
  const auto size = static_cast<std::size_t>(sysconf(_SC_LEVEL1_DCACHE_SIZE));
  static volatile char memory[1 << 18];
  for (const std::size_t bytes : {size / 2, size - 8 * kLine}) {
    const Status status = transaction([&] {
      for (std::size_t at = 0; at < bytes; at += kLine) memory[at] = 1;
    });
    if (!status.started()) return seen("%zu bytes: status %#x", bytes, status.raw);
  }
  const Status status = transaction([&] {
    for (std::size_t at = 0; at < size + 8 * kLine; at += kLine) memory[at] = 2;
  });
  if (status.started()) return "one larger than L1 commits";
  if ((status.raw & Status::kCapacityBit) == 0) return seen("status %#x", status.raw);
  for (std::size_t at = 0; at < sizeof memory; at += kLine)
    if (memory[at] == 2) return seen("byte %zu is not undone", at);
  return nullptr;
}

const Case kCases[] = {
    {"fast mode: the time of 100,000 instructions, no more", "17.3.9.2", Where::kVirtual, many_instructions},
    {"fast mode: no other thread runs meanwhile", "17.3.9.2", Where::kTwoVirtualCpus, waits_in_vain},
    {"fast mode: as many written lines as L1 has, no more", "17.3.9.2", Where::kVirtual, written_lines},
};

}  // namespace

int main(int argc, char** argv) { return rules::run(argc, argv, kCases); }
