// SPDX-License-Identifier: Apache-2.0
#include "profile/inlined_frames.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>

#include "profile/names.h"

namespace elision::profile {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Scopes = std::unique_ptr<Dwarf_Die[], Free>;

bool is_function(Dwarf_Die& die) {
  const int tag = dwarf_tag(&die);
  return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

std::uint32_t number_of(Dwarf_Die& die, unsigned attribute) {
  Dwarf_Attribute found;
  Dwarf_Word value = 0;
  return dwarf_formudata(dwarf_attr(&die, attribute, &found), &value) == 0 ? static_cast<std::uint32_t>(value)
                                                                           : 0;
}

/// The scopes around the code at `pc`, the innermost first, as the code is nested. dwarf_getscopes() goes on
/// with the scopes of an inlined function's definition.
int scopes_at(Dwarf_Die* unit, Dwarf_Addr pc, Scopes& scopes) {
  Dwarf_Die* found = nullptr;
  const int count = dwarf_getscopes(unit, pc, &found);
  const Scopes of_definitions(found);
  if (count <= 0) return 0;
  found = nullptr;
  const int nested = dwarf_getscopes_die(&of_definitions[0], &found);
  scopes.reset(found);
  return std::max(nested, 0);
}

/// The die behind an attribute, or `die` itself.
Dwarf_Die referred(Dwarf_Die& die, unsigned attribute) {
  Dwarf_Attribute found;
  Dwarf_Die other;
  return dwarf_formref_die(dwarf_attr(&die, attribute, &found), &other) != nullptr ? other : die;
}

/// The names of what surrounds the declaration of `function`, each with "::".
std::string scope_of(Dwarf_Die& function) {
  Dwarf_Die origin = referred(function, DW_AT_abstract_origin);
  Dwarf_Die declaration = referred(origin, DW_AT_specification);
  Dwarf_Die* found = nullptr;
  const int count = dwarf_getscopes_die(&declaration, &found);
  const Scopes scopes(found);
  std::string names;
  for (int i = 1; i + 1 < count; ++i) {  // without itself, and without the compilation unit
    const char* const name = dwarf_diename(&scopes[static_cast<std::size_t>(i)]);
    if (name != nullptr) names = std::string(name) + "::" + names;
  }
  return names;
}

/// Where `inlined` was called. The frame around it is there.
void add_call(InlinedFrame& frame, Dwarf_Die& inlined, Dwarf_Files* files) {
  const char* const file = dwarf_filesrc(files, number_of(inlined, DW_AT_call_file), nullptr, nullptr);
  frame.file = file != nullptr ? file : "";
  frame.line = number_of(inlined, DW_AT_call_line);
}

bool is_system_header(const std::string& file) {
  return file.starts_with("/usr/include/") || file.starts_with("/usr/lib/") ||
         file.find("/include/c++/") != std::string::npos;
}

}  // namespace

std::vector<InlinedFrame> inlined_frames(Dwfl_Module* module, std::uint64_t address) {
  Dwarf_Addr bias = 0;
  Dwarf_Die* const unit = dwfl_module_addrdie(module, address, &bias);
  Dwfl_Line* const line = dwfl_module_getsrc(module, address);
  Dwarf_Files* files = nullptr;
  if (unit == nullptr || line == nullptr || dwarf_getsrcfiles(unit, &files, nullptr) != 0) return {};
  Scopes scopes;
  const int count = scopes_at(unit, address - bias, scopes);
  std::vector<InlinedFrame> frames;
  Dwarf_Die* inner = nullptr;
  for (Dwarf_Die& scope : std::span(scopes.get(), static_cast<std::size_t>(count))) {
    if (!is_function(scope)) continue;
    const char* const name = dwarf_diename(&scope);  // its origin's, too
    InlinedFrame frame{name != nullptr ? name : "", scope_of(scope)};
    if (inner == nullptr) {
      int number = 0;
      const char* const file = dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr);
      frame.file = file != nullptr ? file : "";
      frame.line = static_cast<std::uint32_t>(std::max(number, 0));
    } else {
      add_call(frame, *inner, files);
    }
    frames.push_back(std::move(frame));
    if (dwarf_tag(&scope) == DW_TAG_subprogram) break;
    inner = &scope;
  }
  return frames;
}

std::size_t frame_of_user(const std::vector<InlinedFrame>& frames) {
  for (std::size_t i = 0; i < frames.size(); ++i)
    if (!is_system_header(frames[i].file) && !is_lock_wrapper(frames[i].name)) return i;
  return frames.size() - 1;
}

}  // namespace elision::profile
