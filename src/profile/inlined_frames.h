// SPDX-License-Identifier: Apache-2.0
// The functions that the compiler merged into the code at one address, by DWARF.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <string>
#include <vector>

namespace elision::profile {

/// A function of those merged into one, and the place in it where the address lies, or where the frame before
/// was called.
struct InlinedFrame {
  std::string name{};   // as in the source
  std::string scope{};  // the classes and namespaces that it is in: "bank::Account::"
  std::string file{};   // a path
  std::uint32_t line = 0;
};

/// The frames at `address`, the innermost first; the last one is the function that was not inlined. Empty if
/// that is not known.
std::vector<InlinedFrame> inlined_frames(Dwfl_Module* module, std::uint64_t address);

/// The first frame that says where a lock is used: neither in the system's headers nor a wrapper
/// (is_lock_wrapper). Else the last one. `frames` must not be empty.
std::size_t frame_of_user(const std::vector<InlinedFrame>& frames);

}  // namespace elision::profile
