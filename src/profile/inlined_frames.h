// SPDX-License-Identifier: Apache-2.0
// The functions that the compiler merged into the code at one address, by DWARF.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "profile/compilation_units.h"

namespace elision::profile {

/// A function of those merged into one, and the place in it where the address lies, or where the frame before
/// was called.
struct InlinedFrame {
  std::string name{};   // as in the source
  std::string scope{};  // the classes and namespaces that it is in: "bank::Account::"
  std::string file{};   // a path
  std::uint32_t line = 0;
};

/// Keeps what it finds out of compilation units, which must stay.
class InlinedFrames {
 public:
  InlinedFrames();
  ~InlinedFrames();

  /// The frames at `code`, the innermost first; the last one is the function that was not inlined. Empty if
  /// that is not known.
  std::vector<InlinedFrame> at(const CodeInUnit& code);

 private:
  class Unit;
  Unit& unit_of(Dwarf_Die& unit);
  std::string scope_of(Dwarf_Die& function);

  std::map<const void*, std::unique_ptr<Unit>> units_;  // by the address of the unit's die
};

/// The first frame that says where a lock is used: neither in the system's headers nor a wrapper
/// (is_lock_wrapper). Else the last one. `frames` must not be empty.
std::size_t frame_of_user(const std::vector<InlinedFrame>& frames);

}  // namespace elision::profile
