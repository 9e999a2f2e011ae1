// SPDX-License-Identifier: Apache-2.0
// Names of addresses of a program, by elfutils' libdwfl on the files that it has mapped, as its memory map
// tells. The program may have ended.
//
// Allocates and opens files, which may hold anything: what cannot be read has no name.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profile/debug_files.h"
#include "profile/profile.h"

namespace elision::profile {

/// A line of a memory map, which is as /proc/PID/maps shows it.
struct Mapping {
  std::uint64_t begin = 0, end = 0, offset = 0;
  bool executable = false;
  std::string name;  // a path, "[stack]" and the like, or nothing
  bool is_file() const { return name.starts_with('/'); }
  /// The file's last component, "[stack]" and the like, or "anonymous memory".
  std::string short_name() const;
};

/// In the order of their addresses.
std::vector<Mapping> mappings_of(const std::string& memory_map);
/// `mappings`: as mappings_of() gives them. Null: nothing is mapped there.
const Mapping* mapping_at(const std::vector<Mapping>& mappings, std::uint64_t address);
/// Whether a mapping is of the lock library, for pthreads or for its own interface.
bool is_lock_library(const Mapping& mapping);

/// Whether a function takes locks for its callers: the first or the last word of its own name is "lock" or
/// "guard", or it is "rdlock", "wrlock" or "acquire". "kc::RWLock::lock_writer()" is, "cache::Block::read()"
/// is not.
bool is_lock_wrapper(const std::string& function);

class Names {
 public:
  /// `debug_files`: where those of stripped files are looked for, when a name first needs them.
  explicit Names(const std::string& memory_map, DebugFiles debug_files = DebugFiles::kLocal);
  ~Names();
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  /// Names code that a program made as it ran, where no file is mapped: `perf_map` has a line for each
  /// function, "begin size name", its numbers in hexadecimal (tools/perf/Documentation/jit-interface.txt of
  /// Linux). Other lines have no meaning. Of functions in one place the last one counts.
  void add_made_code(const std::string& perf_map);

  /// Null: nothing is mapped there.
  const Mapping* mapping_of(std::uint64_t address) const { return mapping_at(mappings_, address); }
  /// Whether the address lies in a lock library.
  bool is_in_lock_library(std::uint64_t address) const {
    const Mapping* const mapping = mapping_of(address);
    return mapping != nullptr && is_lock_library(*mapping);
  }
  /// The symbol that covers `address`, demangled, and the distance from its start. Empty: not known.
  /// Functions in assembly often lack a size.
  std::string symbol(std::uint64_t address, std::uint64_t& offset, bool may_lack_size = true) const;
  /// The source line of the code at `address`. `file` is empty if it is not known.
  void source(std::uint64_t address, std::string& file, std::uint32_t& line) const;
  /// "file+0x10c0", with the address that the file itself gives the place `behind` bytes behind `address`, as
  /// addr2line takes it. Empty: `address` lies in no program or library.
  std::string in_file(std::uint64_t address, std::uint64_t behind = 0) const;

  /// The instruction at `address`: the function's name or else in_file(), and its source line. If the
  /// compiler merged functions, those of the first that is neither in a system's header nor a lock wrapper
  /// (frame_of_user).
  Place code(std::uint64_t address) const;
  /// The call of a lock function that returns to `address`, as code().
  Place lock_call(std::uint64_t address) const;
  /// Data: "name" or "name+0x8" of a variable; empty for heap and stack.
  Place data(std::uint64_t address) const;
  /// data() with the part of the variable, as far as its type is known: "accounts+0x6c0 ([27].balance)". The
  /// variable's name ends at "+0x", which is there for the first part, too.
  Place part_of_data(std::uint64_t address) const;
  enum class Known : std::uint8_t { kAddress, kLine };
  /// The same, or in_file() for a variable without a name. With kLine only the cache line is known that
  /// begins at `address`, and no part is named.
  Place place_in_file(std::uint64_t address, Known known) const;

  /// The functions that the code at `address` is of, the outermost first: one, and those that the compiler
  /// merged into it, each with the path of its source and the line of the code or of the call.
  std::vector<Place> functions_around(std::uint64_t address) const;

  /// The functions called `name` in the program or library at `address`: by their symbols or else by their
  /// demangled names, else by those without parameters and template arguments; else copies that the compiler
  /// has made of such functions. Several: `name` is ambiguous. Names of the result are demangled.
  std::vector<Place> functions(std::uint64_t address, const std::string& name) const;
  /// The address of the function or variable that has this symbol in the program or library at `address`.
  std::optional<std::uint64_t> address_of(std::uint64_t address, const std::string& symbol) const;
  /// The load bias of the program or library at `address`: the guest's addresses less those in the file.
  /// Nothing if no file is mapped there.
  std::optional<std::uint64_t> bias(std::uint64_t address) const;

  /// Null if libdwfl failed.
  Dwfl* dwfl() const { return dwfl_; }

 private:
  struct DebugInformation;
  void report_files();
  Dwfl_Module* module_of(std::uint64_t address) const;  // null: it is of none
  Place code_before(std::uint64_t address, std::uint64_t behind) const;

  struct MadeCode {
    std::uint64_t end = 0;
    std::string name;
  };

  std::vector<Mapping> mappings_;
  std::map<std::uint64_t, MadeCode> made_code_;  // by its begin
  Dwfl_Callbacks callbacks_{};
  Dwfl* dwfl_ = nullptr;
  std::unique_ptr<DebugInformation> debug_information_;  // what was read of it
};

}  // namespace elision::profile
