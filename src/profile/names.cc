// SPDX-License-Identifier: Apache-2.0
#include "profile/names.h"

#include <cxxabi.h>
#include <elfutils/libdw.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

#include "profile/inlined_frames.h"
#include "profile/rust_names.h"
#include "profile/variables.h"

namespace elision::profile {
namespace {

constexpr std::uint64_t kFarthestUnsized = 4096;  // reach of a symbol without a size

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// "core::ptr::drop<T>" of "core::ptr::drop$LT$T$GT$::h0123456789abcdef", as Rust's older symbols read when
/// they are demangled as C++ (rustc's symbol names, "legacy" scheme).
std::string without_hash(std::string name) {
  constexpr std::size_t kHashBytes = 19;
  if (name.size() <= kHashBytes) return name;
  const std::string_view hash = std::string_view(name).substr(name.size() - kHashBytes);
  if (!hash.starts_with("::h") || hash.find_first_not_of("0123456789abcdef", 3) != std::string_view::npos)
    return name;
  name.resize(name.size() - kHashBytes);
  constexpr std::pair<std::string_view, std::string_view> kEscapes[] = {
      {"$LT$", "<"},  {"$GT$", ">"},  {"$RF$", "&"},  {"$BP$", "*"},  {"$C$", ","},   {"$SP$", "@"},
      {"$LP$", "("},  {"$RP$", ")"},  {"$u20$", " "}, {"$u27$", "'"}, {"$u5b$", "["}, {"$u5d$", "]"},
      {"$u7b$", "{"}, {"$u7d$", "}"}, {"$u3b$", ";"}, {"$u2b$", "+"}, {"..", "::"}};
  for (const auto& [escape, text] : kEscapes)
    for (std::size_t at = 0; (at = name.find(escape, at)) != std::string::npos; at += text.size())
      name.replace(at, escape.size(), text);
  return name;
}

/// The symbol's name without its version, demangled. Other names than those of C++ could be read as types: a
/// variable `m` would be an unsigned long.
std::string readable(const std::string& symbol) {
  const std::string name = symbol.substr(0, symbol.find('@'));
  if (name.starts_with("_R")) return rust_name(name).value_or(name);
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 ? text : name;
  std::free(text);
  return without_hash(std::move(result));
}

/// "a::f<int>()" of "int a::f<int>(long) const". Names of variables stay as they are.
std::string without_signature(std::string name) {
  name = name.substr(0, name.find(" [clone "));
  if (name.ends_with(" const")) name.resize(name.size() - std::string_view(" const").size());
  if (!name.ends_with(')')) return name;
  // From the end: first the list of parameters, then the blank that ends the type of the result.
  const bool is_operator = name.find("operator") != std::string::npos;  // which may be named by a bracket
  std::size_t open = std::string::npos, begin = 0;
  int depth = 0;
  for (std::size_t at = name.size(); at-- > 0 && begin == 0;) {
    if (name[at] == ')' || name[at] == '>' || name[at] == '}') ++depth;
    if (name[at] == '(' || name[at] == '<' || name[at] == '{') --depth;
    if (depth != 0) continue;
    if (open == std::string::npos) open = at;
    if (is_operator) break;
    if (name[at] == ' ') begin = at + 1;
  }
  if (open == std::string::npos || open == 0) return name;
  return name.substr(begin, open - begin) + "()";
}

/// A function's name for a sentence: without namespaces that have no name, long template arguments, and
/// signature.
std::string shortened(const std::string& name) {
  constexpr std::size_t kLongArguments = 24;
  std::string result;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] != '<' || result.ends_with("operator")) {
      result += name[at];
      continue;
    }
    std::size_t end = at;
    for (int depth = 0; end < name.size(); ++end) {
      if (name[end] == '<') ++depth;
      if (name[end] == '>' && --depth == 0) break;
    }
    const std::string arguments = name.substr(at, end - at + 1);
    result += arguments.size() > kLongArguments ? "<...>" : arguments;
    at = end;
  }
  const std::string nameless = "(anonymous namespace)::";
  for (std::size_t at; (at = result.find(nameless)) != std::string::npos;) result.erase(at, nameless.size());
  return without_signature(result);
}

/// "lock_writer" of "kc::RWLock::lock_writer(int)".
std::string own_name(const std::string& function) {
  std::string name = function.substr(0, function.find('('));
  if (!name.empty() && name.back() == '>') name = name.substr(0, name.find('<'));
  return name.substr(name.rfind(':') + 1);
}

/// The words of "lock_writer" or "ReadLock", in small letters.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words(1);
  bool was_small = false;
  for (const char c : name) {
    const bool is_capital = c >= 'A' && c <= 'Z';
    if (c == '_' || (is_capital && was_small)) words.emplace_back();
    if (c != '_') words.back() += is_capital ? static_cast<char>(c - 'A' + 'a') : c;
    was_small = !is_capital && c != '_';
  }
  std::erase(words, "");
  return words;
}

/// The symbol of the function of which a compiler has made `symbol`, a copy for some arguments.
std::string without_clone(const std::string& symbol) {
  for (const char* suffix : {".isra.", ".constprop."})
    if (const std::size_t at = symbol.find(suffix); at != std::string::npos) return symbol.substr(0, at);
  return symbol;
}

/// "a::f" of "int a::f<int>(long)".
std::string without_template(const std::string& demangled) {
  std::string name = without_signature(demangled);
  if (name.ends_with("()")) name.resize(name.size() - 2);
  if (!name.ends_with('>') || name.find("operator") != std::string::npos) return name;
  std::size_t at = name.size();
  for (int depth = 0; at-- > 0;) {
    depth += name[at] == '>' ? 1 : name[at] == '<' ? -1 : 0;
    if (depth == 0) break;
  }
  return name.substr(0, at);
}

/// How close `name` is to a function's symbol, 0 the closest; nothing: it is another function's. By the
/// symbol, the demangled name, that without parameters, and each of them of the function that was cloned.
constexpr unsigned kCloseness = 6;
std::optional<unsigned> closeness_of(const std::string& versioned, const std::string& name) {
  const std::string symbol = versioned.substr(0, versioned.find('@'));
  const std::string original = without_clone(symbol);
  for (unsigned cloned = 0; cloned < 2; ++cloned) {
    const std::string& own = cloned != 0 ? original : symbol;
    if (own == name) return 3 * cloned;
    const std::string demangled = readable(own);
    if (demangled == name) return 3 * cloned + 1;
    const bool is_piece = demangled.find(" [clone ") != std::string::npos;
    if (!is_piece && (without_signature(demangled) == name + "()" || without_template(demangled) == name))
      return 3 * cloned + 2;
  }
  return std::nullopt;
}

/// Calls `use(name, symbol, address)` for each symbol that the file mapped at `address` defines.
template <class Use>
void for_each_symbol(Dwfl* dwfl, std::uint64_t address, const Use& use) {
  Dwfl_Module* const module = dwfl != nullptr ? dwfl_addrmodule(dwfl, address) : nullptr;
  const int count = module != nullptr ? dwfl_module_getsymtab(module) : 0;
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr at = 0;
    GElf_Word section = SHN_UNDEF;
    const char* const text = dwfl_module_getsym_info(module, i, &symbol, &at, &section, nullptr, nullptr);
    if (text != nullptr && section != SHN_UNDEF) use(text, symbol, at);
  }
}

}  // namespace

std::vector<Mapping> mappings_of(const std::string& memory_map) {
  std::vector<Mapping> mappings;
  std::istringstream lines(memory_map);
  for (std::string line; std::getline(lines, line);) {
    unsigned long long begin = 0, end = 0, offset = 0;
    char permissions[5] = "";
    int name = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %4s %llx %*s %*s %n", &begin, &end, permissions, &offset,
                    &name) < 4)
      continue;
    mappings.push_back({begin, end, offset, permissions[2] == 'x',
                        name > 0 && static_cast<std::size_t>(name) < line.size() ? line.substr(name) : ""});
  }
  std::stable_sort(mappings.begin(), mappings.end(),
                   [](const Mapping& a, const Mapping& b) { return a.begin < b.begin; });
  return mappings;
}

const Mapping* mapping_at(const std::vector<Mapping>& mappings, std::uint64_t address) {
  const auto next =
      std::upper_bound(mappings.begin(), mappings.end(), address,
                       [](std::uint64_t at, const Mapping& mapping) { return at < mapping.begin; });
  return next != mappings.begin() && address < std::prev(next)->end ? &*std::prev(next) : nullptr;
}

bool is_lock_library(const Mapping& mapping) { return mapping.short_name().starts_with("libelision"); }

bool is_lock_wrapper(const std::string& function) {
  if (function.find("+0x") != std::string::npos) return false;  // a place in a file
  const std::vector<std::string> words = words_of(own_name(function));
  if (words.empty()) return false;
  for (const std::string& word : {words.front(), words.back()})
    if (word == "lock" || word == "guard") return true;
  return words.size() == 1 && (words[0] == "rdlock" || words[0] == "wrlock" || words[0] == "acquire");
}

std::string Mapping::short_name() const {
  return is_file() ? base_name(name) : name.empty() ? "anonymous memory" : name;
}

struct Names::DebugInformation {
  std::vector<InlinedFrame> frames_at(Dwfl_Module* module, std::uint64_t address) {
    return inlined.at(units.of(module, address));
  }

  CompilationUnits units;
  InlinedFrames inlined;
  Variables variables;
};

Names::Names(const std::string& memory_map, DebugFiles debug_files)
    : mappings_(mappings_of(memory_map)), debug_information_(std::make_unique<DebugInformation>()) {
  callbacks_.find_elf = dwfl_linux_proc_find_elf;
  set_search(callbacks_, debug_files);
  dwfl_ = dwfl_begin(&callbacks_);
  if (dwfl_ == nullptr) return;
  if (debug_files == DebugFiles::kServersToo) bound_downloads(dwfl_);
  report_files();
}
Names::~Names() { dwfl_end(dwfl_); }

Dwfl_Module* Names::module_of(std::uint64_t address) const {
  return dwfl_ != nullptr ? dwfl_addrmodule(dwfl_, address) : nullptr;
}

/// A file counts as a program or library if its first byte is mapped and some part is executable.
void Names::report_files() {
  dwfl_report_begin(dwfl_);
  const Mapping* first = nullptr;
  const Mapping* reported = nullptr;
  for (const Mapping& mapping : mappings_) {
    if (!mapping.is_file()) continue;
    if (mapping.offset == 0 && (first == nullptr || first->name != mapping.name || !mapping.executable))
      first = &mapping;
    if (!mapping.executable || first == nullptr || first->name != mapping.name || first == reported) continue;
    reported = first;
    dwfl_report_elf(dwfl_, base_name(mapping.name).c_str(), mapping.name.c_str(), -1, first->begin, false);
  }
  dwfl_report_end(dwfl_, nullptr, nullptr);
}

void Names::add_made_code(const std::string& perf_map) {
  std::istringstream lines(perf_map);
  for (std::string line; std::getline(lines, line);) {
    unsigned long long begin = 0, size = 0;
    int name = 0;
    if (std::sscanf(line.c_str(), "%llx %llx %n", &begin, &size, &name) < 2 || name == 0 ||
        static_cast<std::size_t>(name) >= line.size() || size == 0 || begin + size < begin)
      continue;
    const std::uint64_t end = begin + size;
    auto there = made_code_.lower_bound(begin);
    if (there != made_code_.begin() && std::prev(there)->second.end > begin) --there;
    while (there != made_code_.end() && there->first < end) there = made_code_.erase(there);
    made_code_.emplace(begin, MadeCode{end, line.substr(static_cast<std::size_t>(name))});
  }
}

std::string Names::symbol(std::uint64_t address, std::uint64_t& offset, bool may_lack_size) const {
  Dwfl_Module* const module = module_of(address);
  if (module == nullptr) {
    const auto next = made_code_.upper_bound(address);
    if (next == made_code_.begin() || address >= std::prev(next)->second.end) return "";
    offset = address - std::prev(next)->first;
    return std::prev(next)->second.name;
  }
  GElf_Off from_start = 0;
  GElf_Sym symbol;
  const char* const name =
      dwfl_module_addrinfo(module, address, &from_start, &symbol, nullptr, nullptr, nullptr);
  if (name == nullptr) return "";
  if (symbol.st_size == 0 && (!may_lack_size || from_start > kFarthestUnsized)) return "";
  offset = from_start;
  return readable(name);
}

void Names::source(std::uint64_t address, std::string& file, std::uint32_t& line) const {
  Dwarf_Line* const found = debug_information_->units.of(module_of(address), address).line();
  int number = 0;
  if (found == nullptr || dwarf_lineno(found, &number) != 0 || number <= 0) return;
  const char* const name = dwarf_linesrc(found, nullptr, nullptr);
  if (name == nullptr) return;
  file = base_name(name);
  line = static_cast<std::uint32_t>(number);
}

std::string Names::in_file(std::uint64_t address, std::uint64_t behind) const {
  Dwfl_Module* const module = module_of(address);
  GElf_Addr bias = 0;
  if (module == nullptr || dwfl_module_getelf(module, &bias) == nullptr) return "";
  const char* const file =
      dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  return fmt::format("{}+{:#x}", file, address + behind - bias);
}

std::optional<std::uint64_t> Names::bias(std::uint64_t address) const {
  Dwfl_Module* const module = module_of(address);
  GElf_Addr bias = 0;
  if (module == nullptr || dwfl_module_getelf(module, &bias) == nullptr) return std::nullopt;
  return bias;
}

std::vector<Place> Names::functions(std::uint64_t address, const std::string& name) const {
  std::map<std::uint64_t, std::string> by_closeness[kCloseness];
  for_each_symbol(dwfl_, address, [&](const char* text, const GElf_Sym& symbol, std::uint64_t at) {
    if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC) return;
    if (const auto closeness = closeness_of(text, name)) by_closeness[*closeness][at] = readable(text);
  });
  std::vector<Place> found;
  for (const auto& functions : by_closeness) {
    for (const auto& [at, demangled] : functions) found.push_back({at, demangled});
    if (!found.empty()) break;
  }
  return found;
}

std::optional<std::uint64_t> Names::address_of(std::uint64_t address, const std::string& symbol) const {
  std::optional<std::uint64_t> found;
  for_each_symbol(dwfl_, address, [&](const char* text, const GElf_Sym&, std::uint64_t at) {
    if (!found && symbol == text) found = at;
  });
  return found;
}

Place Names::code(std::uint64_t address) const { return code_before(address, 0); }

Place Names::lock_call(std::uint64_t address) const { return code_before(address - 1, 1); }

/// The code at `address`, for the place `behind` bytes behind it.
Place Names::code_before(std::uint64_t address, std::uint64_t behind) const {
  Place place;
  place.address = address + behind;
  std::uint64_t offset = 0;
  place.name = shortened(symbol(address, offset));
  source(address, place.file, place.line);
  if (place.name.empty()) place.name = in_file(address, behind);
  const std::vector<InlinedFrame> frames = debug_information_->frames_at(module_of(address), address);
  if (frames.empty()) return place;
  const std::size_t user = frame_of_user(frames);
  const InlinedFrame& frame = frames[user];
  if (frame.file.empty() || frame.line == 0) return place;
  place.file = base_name(frame.file);
  place.line = frame.line;
  const bool is_inlined = user + 1 < frames.size();
  if (is_inlined && !frame.name.empty()) place.name = shortened(frame.scope + frame.name + "()");
  return place;
}

std::vector<Place> Names::functions_around(std::uint64_t address) const {
  Place outermost;
  outermost.address = address;
  std::uint64_t offset = 0;
  outermost.name = shortened(symbol(address, offset));
  if (outermost.name.empty()) outermost.name = in_file(address);
  const std::vector<InlinedFrame> frames = debug_information_->frames_at(module_of(address), address);
  if (frames.empty()) {
    source(address, outermost.file, outermost.line);
    return {outermost};
  }
  std::vector<Place> functions;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    Place function = frame == frames.rbegin() ? outermost : Place{address};
    if (frame != frames.rbegin()) function.name = shortened(frame->scope + frame->name + "()");
    function.file = frame->file;
    function.line = frame->line;
    functions.push_back(std::move(function));
  }
  return functions;
}

Place Names::data(std::uint64_t address) const {
  Place place;
  place.address = address;
  std::uint64_t offset = 0;
  // Symbols of the linker and of start-up files (__TMC_END__) have no size.
  place.name = shortened(symbol(address, offset, false));
  if (!place.name.empty() && offset != 0) place.name += fmt::format("+{:#x}", offset);
  return place;
}

Place Names::part_of_data(std::uint64_t address) const {
  Place place = data(address);
  std::uint64_t offset = 0;
  if (place.name.empty() || symbol(address, offset, false).empty()) return place;
  const std::string part = debug_information_->variables.part(module_of(address), address - offset, offset);
  if (!part.empty()) place.name += fmt::format("{} ({})", offset == 0 ? "+0x0" : "", part);
  return place;
}

Place Names::place_in_file(std::uint64_t address, Known known) const {
  Place place = known == Known::kAddress ? part_of_data(address) : data(address);
  if (!place.name.empty()) return place;
  place.name = in_file(address);
  place.is_in_file = !place.name.empty();
  return place;
}

}  // namespace elision::profile
