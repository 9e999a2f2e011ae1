// SPDX-License-Identifier: Apache-2.0
#include "profile/source_lines.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace elision::profile {
namespace {

bool has_line(const Place& place) { return !place.file.empty() && place.line != 0; }

class Functions {
 public:
  void add(const Profile& profile, const Path& path) {
    std::set<SourceFunction*> functions;
    std::set<SourceLine*> lines;
    SourceFunction* innermost = nullptr;
    for (const std::uint32_t index : path.frames) {
      const Place& frame = profile.frames[index];
      if (!has_line(frame)) continue;
      innermost = &function_of(frame);
      functions.insert(innermost);
      lines.insert(&innermost->lines[frame.line]);
    }
    for (SourceFunction* function : functions) time_in(function->ns, path.state) += path.ns;
    for (SourceLine* line : lines) time_in(line->ns, path.state) += path.ns;
    if (innermost != nullptr) time_in(innermost->own_ns, path.state) += path.ns;
  }

  void add(const Lock& lock, const Conflict& conflict) {
    add(conflict.victim, {&lock, &conflict, true});
    add(conflict.other, {&lock, &conflict, false});
  }

  std::vector<SourceFunction> all() && {
    std::vector<SourceFunction> list;
    for (auto& [key, function] : functions_) list.push_back(std::move(function));
    return list;
  }

 private:
  SourceFunction& function_of(const Place& place) {
    SourceFunction& function = functions_[{place.name, place.file}];
    function.name = place.name;
    function.file = place.file;
    return function;
  }

  // The file of a conflict is a name and that of a frame may be a path.
  SourceFunction& function_of_conflict(const Place& place) {
    for (auto& [key, function] : functions_)
      if (key.first == place.name && file_name(key.second) == file_name(place.file)) return function;
    return function_of(place);
  }

  void add(const Place& place, const LineConflict& conflict) {
    if (has_line(place)) function_of_conflict(place).lines[place.line].conflicts.push_back(conflict);
  }

  std::map<std::pair<std::string, std::string>, SourceFunction> functions_;  // by name and file
};

double conflicts_of(const SourceFunction& function) {
  double sum = 0;
  for (const auto& [number, line] : function.lines)
    for (const LineConflict& conflict : line.conflicts) sum += conflict.conflict->counts.count;
  return sum;
}

void sort_conflicts(SourceFunction& function) {
  for (auto& [number, line] : function.lines)
    std::stable_sort(line.conflicts.begin(), line.conflicts.end(),
                     [](const LineConflict& a, const LineConflict& b) {
                       return a.conflict->counts.count > b.conflict->counts.count;
                     });
}

/// Where the name after the last "::" begins, without regard to those in brackets.
std::size_t begin_of_last(const std::string& name) {
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (std::string_view("<({").find(name[i]) != std::string_view::npos) ++depth;
    if (std::string_view(">)}").find(name[i]) != std::string_view::npos)
      depth = std::max(depth - 1, 0);  // "operator->"
    if (depth == 0 && name.compare(i, 2, "::") == 0) begin = i + 2;
  }
  return begin;
}

/// "f" of "f(int)"; "f<int>()" keeps its arguments, as does "operator()".
std::string without_parameters(const std::string& name) {
  if (name.ends_with("operator()")) return name;
  if (!name.ends_with(')')) return name;
  std::size_t at = name.size();
  for (int depth = 0; at-- > 0;) {
    depth += name[at] == ')' ? 1 : name[at] == '(' ? -1 : 0;
    if (depth == 0) break;
  }
  return at == 0 || at == std::string::npos ? name : name.substr(0, at);
}

}  // namespace

double sum_ns(const StateTimes& times) { return std::accumulate(times.begin(), times.end(), 0.0); }

double at_locks_ns(StateTimes times) {
  time_in(times, State::kOutside) = time_in(times, State::kBlocked) = 0;
  return sum_ns(times);
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::vector<SourceFunction> source_functions(const Profile& profile) {
  Functions functions;
  for (const Path& path : profile.paths) functions.add(profile, path);
  for (const Lock& lock : profile.locks)
    for (const Conflict& conflict : lock.conflicts) functions.add(lock, conflict);
  std::vector<SourceFunction> list = std::move(functions).all();
  for (SourceFunction& function : list) sort_conflicts(function);
  const auto rank = [](const SourceFunction& function) {
    return std::make_tuple(-at_locks_ns(function.own_ns), -conflicts_of(function), -sum_ns(function.own_ns));
  };
  std::stable_sort(list.begin(), list.end(),
                   [&](const SourceFunction& a, const SourceFunction& b) { return rank(a) < rank(b); });
  return list;
}

bool concerns_locks(const SourceFunction& function) {
  return at_locks_ns(function.own_ns) > 0 || conflicts_of(function) > 0;
}

std::string short_name(const SourceFunction& function) {
  const std::string own = without_parameters(function.name);
  return own.substr(begin_of_last(own));
}

bool is_called(const SourceFunction& function, const std::string& name) {
  const std::string wanted = without_parameters(name);
  if (function.name == name) return true;
  const std::string own = without_parameters(function.name);
  return own == wanted || own.ends_with("::" + wanted);
}

}  // namespace elision::profile
