// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as a symbol of Rust, whose name may be in any file that a profile names code of.
#include "profile/rust_names.h"

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMostBytes = 1 << 17;  // more than a name has
  const auto name = elision::profile::rust_name({reinterpret_cast<const char*>(data), size});
  if (!name) return 0;
  if (name->empty() || name->size() > kMostBytes)
    fuzz::fail("a name of " + std::to_string(name->size()) + " bytes");
  ++fuzz::g_accepted;
  return 0;
}
