// SPDX-License-Identifier: Apache-2.0
// Parts of variables by name, by DWARF: which element and member lies so many bytes behind a variable's
// start. Of variables outside of functions.
#pragma once

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

namespace elision::profile {

/// Keeps what it finds out of modules, which must stay.
class Variables {
 public:
  /// "[27].balance": the part that lies `offset` bytes behind the start of the variable at `address`. Empty
  /// if the variable has no parts or is not known. Members of a union that overlap, bit-fields in one byte,
  /// and members with names that are reserved for compilers and libraries are not told apart. `module`: null
  /// is a module without debug information.
  std::string part(Dwfl_Module* module, std::uint64_t address, std::uint64_t offset);

 private:
  using Types = std::unordered_map<std::uint64_t, Dwarf_Die>;  // of variables, by their address in the file

  std::map<Dwarf*, Types> modules_;
};

}  // namespace elision::profile
