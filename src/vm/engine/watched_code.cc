// SPDX-License-Identifier: Apache-2.0
#include "vm/engine/watched_code.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "profile/names.h"
#include "vm/cpu/helpers.h"
#include "vm/host/host_limits.h"

namespace elision::vm {
namespace {

constexpr std::string_view kHexadecimal = "0x", kInFile = "+0x";

/// Checked by the command line.
std::uint64_t number_of(std::string_view text) {
  return std::strtoull(std::string(text).c_str(), nullptr, 16);
}

/// "libc.so.6" is called "libc.so.6", "libc.so" and "libc".
bool is_called(const std::string& file, const std::string& object) {
  return file == object || (file.starts_with(object) && file[object.size()] == '.');
}

}  // namespace

void WatchedCode::watch(const std::vector<std::string>& places, std::uint64_t awaited) {
  count_anew();
  helper_context.awaited_execution = awaited;
  wanted_.clear();
  examined_.clear();
  addresses_.clear();
  for (const std::string& place : places) {
    const std::size_t mark = place.find('!');
    const bool names_object = mark != std::string::npos;
    wanted_.push_back(
        {names_object ? place.substr(0, mark) : "", names_object ? place.substr(mark + 1) : place});
    if (place.starts_with(kHexadecimal)) addresses_.push_back(number_of(place));
  }
}

void WatchedCode::count_anew() { helper_context.watched_executions = 0; }

void WatchedCode::count_committed(std::uint64_t executions) {
  if (helper_context.awaited_execution == 0) helper_context.watched_executions += executions;
}

bool WatchedCode::contains(std::uint64_t pc) const {
  return std::find(addresses_.begin(), addresses_.end(), pc) != addresses_.end();
}

std::uint64_t WatchedCode::executions() { return helper_context.watched_executions; }

void WatchedCode::examine(std::uint64_t pc) {
  if (wanted_.empty()) return;
  for (const Range& range : examined_)
    if (range.begin <= pc && pc < range.end) return;
  const std::vector<profile::Mapping> mappings = profile::mappings_of(memory_map_());
  const profile::Mapping* const mapping = profile::mapping_at(mappings, pc);
  if (mapping == nullptr) return;
  examined_.push_back({mapping->begin, mapping->end});
  if (!mapping->is_file()) return;
  const std::string file = mapping->short_name();
  for (const Wanted& wanted : wanted_)
    if (!wanted.name.starts_with(kHexadecimal) && (wanted.object.empty() || is_called(file, wanted.object)))
      look_up(wanted, pc, file);
}

void WatchedCode::look_up(const Wanted& wanted, std::uint64_t pc, const std::string& file) {
  const LiftedLimits lifted;
  const profile::Names names(memory_map_());
  const auto add = [this](std::uint64_t address) {
    if (!contains(address)) addresses_.push_back(address);
  };
  if (wanted.name.starts_with(kInFile)) {
    if (const auto bias = names.bias(pc)) add(*bias + number_of(wanted.name.substr(1)));
    return;
  }
  const std::vector<profile::Place> functions = names.functions(pc, wanted.name);
  if (functions.size() == 1) return add(functions.front().address);
  if (functions.empty()) return;
  const auto at = [&](const profile::Place& function) {
    return names.in_file(function.address).substr(file.size());
  };
  std::string list = functions[0].name + " at " + at(functions[0]);
  const std::size_t shown = std::min<std::size_t>(functions.size(), 3);
  for (std::size_t i = 1; i < shown; ++i) list += ", " + functions[i].name + " at " + at(functions[i]);
  if (shown < functions.size()) list += " and " + std::to_string(functions.size() - shown) + " more";
  refuse_("'" + wanted.name + "' is ambiguous in " + file + ": " + list + "; use address:" + file +
          at(functions[0]));
}

void WatchedCode::forget(std::uint64_t begin, std::uint64_t end) {
  const auto in_range = [&](std::uint64_t address) { return begin <= address && address < end; };
  const bool was_examined = std::erase_if(examined_, [&](const Range& range) {
                              return range.begin < end && begin < range.end;
                            }) != 0;
  if (was_examined) std::erase_if(addresses_, in_range);
}

}  // namespace elision::vm
