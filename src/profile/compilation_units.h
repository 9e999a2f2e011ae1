// SPDX-License-Identifier: Apache-2.0
// Which compilation unit an address is of, by DWARF. libdwfl knows it by .debug_aranges alone, in which the
// units of clang are missing.
#pragma once

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <cstdint>
#include <map>
#include <vector>

namespace elision::profile {

struct CodeInUnit {
  Dwarf_Die* unit = nullptr;  // null: it is not known
  Dwarf_Addr at = 0;          // the address as the debug information has it

  /// Null: the line of the code is not known.
  Dwarf_Line* line() const { return unit != nullptr ? dwarf_getsrc_die(unit, at) : nullptr; }
};

/// Keeps what it finds out of modules, which must stay.
class CompilationUnits {
 public:
  /// `module`: null is a module without debug information.
  CodeInUnit of(Dwfl_Module* module, std::uint64_t address);

 private:
  struct Range {
    Dwarf_Addr begin, end;
    Dwarf_Die unit;
  };
  using Ranges = std::vector<Range>;  // by their begin

  static Ranges ranges_of(Dwarf* debug_information);

  std::map<Dwarf*, Ranges> ranges_;  // of modules in which libdwfl did not find a unit
};

}  // namespace elision::profile
