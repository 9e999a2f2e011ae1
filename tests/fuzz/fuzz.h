// SPDX-License-Identifier: Apache-2.0
// The functions that a fuzzer defines, and those that it may use. The driver is driver.cc, or libFuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

/// Tests one input. Returns 0; an error ends the process.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
/// libFuzzer's: called once, before the first input. Optional.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
/// libFuzzer's: changes the `size` bytes at `data`, using `seed`. Returns the new size, at most `most`.
/// Optional; the driver makes half of its changes by it.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed);

namespace fuzz {

/// The exit code of a fuzzer that cannot run here.
inline constexpr int kSkipped = 77;

/// Inputs accepted by their reader in this process. For fuzzers whose reader may refuse inputs.
inline std::uint64_t g_accepted = 0;

[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

/// A path that the build passes in an environment variable.
inline std::string path_from(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) {
    std::fprintf(stderr, "%s is not set\n", variable);
    std::exit(2);
  }
  return value;
}

}  // namespace fuzz
