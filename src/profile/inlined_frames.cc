// SPDX-License-Identifier: Apache-2.0
#include "profile/inlined_frames.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <unordered_map>

#include "profile/dwarf_attributes.h"
#include "profile/names.h"

namespace elision::profile {
namespace {

/// Where `inlined` was called. The frame around it is there.
void add_call(InlinedFrame& frame, Dwarf_Die& inlined, Dwarf_Files* files) {
  const char* const file =
      dwarf_filesrc(files, number_of(inlined, DW_AT_call_file).value_or(0), nullptr, nullptr);
  frame.file = file != nullptr ? file : "";
  frame.line = static_cast<std::uint32_t>(number_of(inlined, DW_AT_call_line).value_or(0));
}

bool is_system_header(const std::string& file) {
  return file.starts_with("/usr/include/") || file.starts_with("/usr/lib/") ||
         file.find("/include/c++/") != std::string::npos;
}

/// What has functions inside, and is part of their names if it has one.
bool has_functions(int tag) {
  switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
      return true;
    default:
      return false;
  }
}

bool is_block(int tag) {
  return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
         tag == DW_TAG_catch_block;
}

/// The block directly in `die` that has the code at `pc`; false: none has.
bool block_in(Dwarf_Die& die, Dwarf_Addr pc, Dwarf_Die& block) {
  for (int end = dwarf_child(&die, &block); end == 0; end = dwarf_siblingof(&block, &block))
    if (is_block(dwarf_tag(&block)) && dwarf_haspc(&block, pc) == 1) return true;
  return false;
}

}  // namespace

/// The functions of a compilation unit, from one walk through its dies: libdw walks through them anew for
/// each question about one of them, and units of C++ have hundreds of thousands.
class InlinedFrames::Unit {
 public:
  explicit Unit(Dwarf_Die& unit) {
    add_functions(unit, 0, 0);
    std::sort(functions_.begin(), functions_.end(),
              [](const Function& a, const Function& b) { return a.begin < b.begin; });
  }

  /// Returns the function whose code contains `pc`, with what was inlined into it, or null.
  Dwarf_Die* function_at(Dwarf_Addr pc) {
    auto next = std::upper_bound(functions_.begin(), functions_.end(), pc,
                                 [](Dwarf_Addr at, const Function& function) { return at < function.begin; });
    if (next == functions_.begin()) return nullptr;
    for (const Dwarf_Addr begin = std::prev(next)->begin; next != functions_.begin();) {
      --next;
      if (next->begin != begin) return nullptr;
      if (pc < next->end) return &next->die;
    }
    return nullptr;
  }

  /// The names of what surrounds a function, each with "::".
  std::string scope_of(const Dwarf_Die& function) const {
    const auto found = scope_of_.find(function.addr);
    std::string names;
    for (std::uint32_t at = found != scope_of_.end() ? found->second : 0; at != 0; at = scopes_[at].around)
      names = std::string(scopes_[at].name) + "::" + names;
    return names;
  }

 private:
  struct Function {
    Dwarf_Addr begin, end;
    Dwarf_Die die;
  };
  struct Scope {
    std::uint32_t around;  // index of the scope around it; 0: none
    const char* name;      // in the file
  };
  // Files may hold anything.
  static constexpr std::size_t kMostDies = std::size_t{1} << 26;
  static constexpr std::size_t kMostRanges = std::size_t{1} << 22;
  static constexpr unsigned kDeepest = 256;

  void add_functions(Dwarf_Die& around, std::uint32_t scope, unsigned depth) {
    Dwarf_Die die;
    for (int end = dwarf_child(&around, &die); end == 0 && dies_ < kMostDies;
         end = dwarf_siblingof(&die, &die)) {
      ++dies_;
      const int tag = dwarf_tag(&die);
      if (!has_functions(tag)) continue;
      const std::uint32_t own = tag == DW_TAG_subprogram ? add_function(die, scope) : scope;
      if (depth < kDeepest && dwarf_haschildren(&die) == 1)
        add_functions(die, scope_within(own, dwarf_diename(&die)), depth + 1);
    }
  }

  /// Returns the scope of its declaration.
  std::uint32_t add_function(Dwarf_Die& die, std::uint32_t scope) {
    if (const auto declaration = referred(die, DW_AT_specification)) {
      const auto declared = scope_of_.find(declaration->addr);
      if (declared != scope_of_.end()) scope = declared->second;
    }
    scope_of_.emplace(die.addr, scope);
    Dwarf_Addr base = 0, begin = 0, end = 0;
    for (std::ptrdiff_t at = 0;
         functions_.size() < kMostRanges && (at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0;)
      functions_.push_back({begin, end, die});
    return scope;
  }

  std::uint32_t scope_within(std::uint32_t scope, const char* name) {
    if (name == nullptr) return scope;
    scopes_.push_back({scope, name});
    return static_cast<std::uint32_t>(scopes_.size() - 1);
  }

  std::vector<Scope> scopes_{{0, ""}};
  std::unordered_map<const void*, std::uint32_t> scope_of_;  // by the address of a function's die
  std::vector<Function> functions_;                          // by their begin
  std::size_t dies_ = 0;
};

InlinedFrames::InlinedFrames() = default;
InlinedFrames::~InlinedFrames() = default;

InlinedFrames::Unit& InlinedFrames::unit_of(Dwarf_Die& unit) {
  std::unique_ptr<Unit>& known = units_[unit.addr];
  if (known == nullptr) known = std::make_unique<Unit>(unit);
  return *known;
}

/// The names of what surrounds the declaration of `function`.
std::string InlinedFrames::scope_of(Dwarf_Die& function) {
  Dwarf_Die origin = referred(function, DW_AT_abstract_origin).value_or(function);
  Dwarf_Die declaration = referred(origin, DW_AT_specification).value_or(origin);
  Dwarf_Die unit;
  return dwarf_diecu(&declaration, &unit, nullptr, nullptr) != nullptr ? unit_of(unit).scope_of(declaration)
                                                                       : "";
}

std::vector<InlinedFrame> InlinedFrames::at(const CodeInUnit& code) {
  Dwarf_Line* const line = code.line();
  Dwarf_Files* files = nullptr;
  if (line == nullptr || dwarf_getsrcfiles(code.unit, &files, nullptr) != 0) return {};
  Dwarf_Die* const outermost = unit_of(*code.unit).function_at(code.at);
  if (outermost == nullptr) return {};
  std::vector<Dwarf_Die> functions{*outermost};
  for (Dwarf_Die block, around = *outermost; block_in(around, code.at, block); around = block)
    if (dwarf_tag(&block) == DW_TAG_inlined_subroutine) functions.push_back(block);
  std::vector<InlinedFrame> frames;
  for (auto function = functions.rbegin(); function != functions.rend(); ++function) {
    const char* const name = dwarf_diename(&*function);  // its origin's, too
    InlinedFrame frame{name != nullptr ? name : "", scope_of(*function)};
    if (frames.empty()) {
      int number = 0;
      (void)dwarf_lineno(line, &number);
      const char* const file = dwarf_linesrc(line, nullptr, nullptr);
      frame.file = file != nullptr ? file : "";
      frame.line = static_cast<std::uint32_t>(std::max(number, 0));
    } else {
      add_call(frame, *std::prev(function), files);
    }
    frames.push_back(std::move(frame));
  }
  return frames;
}

std::size_t frame_of_user(const std::vector<InlinedFrame>& frames) {
  for (std::size_t i = 0; i < frames.size(); ++i)
    if (!is_system_header(frames[i].file) && !is_lock_wrapper(frames[i].name)) return i;
  return frames.size() - 1;
}

}  // namespace elision::profile
