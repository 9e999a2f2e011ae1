// SPDX-License-Identifier: Apache-2.0
// The format is that of src/types/profile.ts in github.com/firefox-devtools/profiler, and of its
// docs-developer/CHANGELOG-formats.md: tables are lists of columns, and rows refer to each other by index.
#include "profile/export_firefox.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

namespace elision::profile {
namespace {

using nlohmann::ordered_json;

constexpr const char* kProcess = "1";      // one process; its number is not known
constexpr unsigned kGeckoVersion = 31;     // of the format that Firefox itself writes
constexpr std::size_t kDefaultColour = 0;  // the first grey category is the viewer's default
constexpr double kNsPerMs = 1e6;

// Behind the default one, by number of the kind.
std::size_t category_of(std::uint32_t kind) { return kDefaultColour + 1 + kind; }

ordered_json category(const std::string& name, const std::string& colour) {
  return {{"name", name}, {"color", colour}, {"subcategories", ordered_json::array({"Other"})}};
}

ordered_json categories(const PathTable& table) {
  ordered_json list = ordered_json::array({category("Other", "grey")});
  for (const PathKind& kind : table.kinds) list.push_back(category(kind.words, kind.colour));
  return list;
}

ordered_json table(std::initializer_list<const char*> columns) {
  ordered_json empty = ordered_json::object();
  for (const char* const column : columns) empty[column] = ordered_json::array();
  empty["length"] = 0;
  return empty;
}

/// Appends a row and returns its index.
std::size_t add_row(ordered_json& table, const ordered_json& row) {
  for (const auto& [column, value] : row.items()) table.at(column).push_back(value);
  const std::size_t index = table["length"].get<std::size_t>();
  table["length"] = index + 1;
  return index;
}

/// Strings and names of sources, which all threads share.
class SharedTables {
 public:
  std::size_t string(const std::string& text) {
    const auto [known, is_new] = strings_.try_emplace(text, strings_.size());
    if (is_new) array_.push_back(text);
    return known->second;
  }
  /// null: the file is not known.
  ordered_json source(const std::string& file) {
    if (file.empty()) return nullptr;
    const auto known = known_sources_.find(file);
    if (known != known_sources_.end()) return known->second;
    return known_sources_[file] = add_row(sources_, {{"uuid", nullptr}, {"filename", string(file)}});
  }
  ordered_json json() const { return {{"stringArray", array_}, {"sources", sources_}}; }

 private:
  std::map<std::string, std::size_t> strings_, known_sources_;
  ordered_json array_ = ordered_json::array(), sources_ = table({"uuid", "filename"});
};

/// The tables of one thread.
class Track {
 public:
  explicit Track(SharedTables& shared) : shared_(shared) {}

  void add(const PathTable& table, const WeightedPath& path) {
    std::optional<std::size_t> stack;
    for (const Place* frame : stack_of(table, path)) stack = stack_on(stack, *frame, path.kind);
    if (const std::string label = kind_label(table, path); !label.empty())
      stack = stack_on(stack, Place{.name = label}, path.kind);
    // A sample at the end, too, without weight: the viewer draws the line between samples of different
    // stacks halfway between their times.
    const double end = now_ + path.weight;
    const double weight = table.weight == Weight::kTime ? path.weight / kNsPerMs : path.weight;
    add_row(samples_, {{"stack", *stack}, {"time", now_ / kNsPerMs}, {"weight", weight}});
    add_row(samples_, {{"stack", *stack}, {"time", end / kNsPerMs}, {"weight", 0}});
    now_ = end;
  }

  void write_to(ordered_json& thread, Weight weight) {
    samples_["weightType"] = weight == Weight::kTime ? "tracing-ms" : "samples";
    thread["samples"] = std::move(samples_);
    thread["markers"] = table({"data", "name", "startTime", "endTime", "phase", "category"});
    thread["stackTable"] = std::move(stacks_);
    thread["frameTable"] = std::move(frames_);
    thread["funcTable"] = std::move(functions_);
    thread["resourceTable"] = table({"lib", "name", "host", "type"});
    thread["nativeSymbols"] = table({"libIndex", "address", "name", "functionSize"});
  }

 private:
  using StackKey = std::tuple<std::optional<std::size_t>, std::size_t>;
  using FrameKey = std::tuple<std::size_t, std::uint32_t, std::uint32_t>;

  std::size_t stack_on(std::optional<std::size_t> prefix, const Place& place, std::uint32_t kind) {
    const std::size_t frame = frame_of(place, kind);
    const auto known = known_stacks_.find({prefix, frame});
    if (known != known_stacks_.end()) return known->second;
    const ordered_json prefix_json = prefix ? ordered_json(*prefix) : ordered_json(nullptr);
    return known_stacks_[{prefix, frame}] = add_row(stacks_, {{"frame", frame}, {"prefix", prefix_json}});
  }

  // A frame has a category and a sample has none, so a place in two kinds of paths is two frames. Addresses
  // would have to be relative to files, which a profile does not name.
  std::size_t frame_of(const Place& place, std::uint32_t kind) {
    const std::size_t function = function_of(place);
    const auto known = known_frames_.find({function, place.line, kind});
    if (known != known_frames_.end()) return known->second;
    return known_frames_[{function, place.line, kind}] =
               add_row(frames_, {{"address", -1},
                                 {"inlineDepth", 0},
                                 {"category", category_of(kind)},
                                 {"subcategory", 0},
                                 {"func", function},
                                 {"nativeSymbol", nullptr},
                                 {"innerWindowID", nullptr},
                                 {"line", place.line == 0 ? ordered_json(nullptr) : ordered_json(place.line)},
                                 {"column", nullptr}});
  }

  std::size_t function_of(const Place& place) {
    const std::size_t name = shared_.string(label_of(place));
    const auto known = known_functions_.find({name, place.file});
    if (known != known_functions_.end()) return known->second;
    return known_functions_[{name, place.file}] = add_row(functions_, {{"name", name},
                                                                       {"isJS", false},
                                                                       {"relevantForJS", false},
                                                                       {"resource", -1},
                                                                       {"source", shared_.source(place.file)},
                                                                       {"lineNumber", nullptr},
                                                                       {"columnNumber", nullptr}});
  }

  SharedTables& shared_;
  double now_ = 0;
  std::map<StackKey, std::size_t> known_stacks_;
  std::map<FrameKey, std::size_t> known_frames_;
  std::map<std::pair<std::size_t, std::string>, std::size_t> known_functions_;  // by name and file
  ordered_json samples_ = table({"stack", "time", "weight"});
  ordered_json stacks_ = table({"frame", "prefix"});
  ordered_json frames_ = table({"address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol",
                                "innerWindowID", "line", "column"});
  ordered_json functions_ =
      table({"name", "isJS", "relevantForJS", "resource", "source", "lineNumber", "columnNumber"});
};

/// The thread that began first has the lowest number.
std::size_t main_thread(const PathTable& table) {
  const auto first = std::min_element(table.threads.begin(), table.threads.end(),
                                      [](const Thread& a, const Thread& b) { return a.id < b.id; });
  return static_cast<std::size_t>(first - table.threads.begin());
}

ordered_json thread_json(const PathTable& table, const Origin& origin, std::size_t index) {
  return {{"processType", "default"},
          {"processName", origin.file},
          {"processStartupTime", 0},
          {"processShutdownTime", nullptr},
          {"registerTime", 0},
          {"unregisterTime", nullptr},
          {"pausedRanges", ordered_json::array()},
          {"name", label_of(table.threads[index])},
          {"isMainThread", index == main_thread(table)},
          {"pid", kProcess},
          {"tid", table.threads[index].id}};
}

ordered_json threads_json(const PathTable& table, const Origin& origin, SharedTables& shared) {
  std::vector<Track> tracks(table.threads.size(), Track(shared));
  for (const std::size_t index : order_by_thread(table))
    tracks[table.paths[index].thread].add(table, table.paths[index]);
  ordered_json threads = ordered_json::array();
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    threads.push_back(thread_json(table, origin, i));
    tracks[i].write_to(threads.back(), table.weight);
  }
  return threads;
}

ordered_json extra_json(const PathTable& table, const Origin& origin) {
  ordered_json entries = ordered_json::array();
  for (const std::string& remark : remarks_of(table, origin))
    entries.push_back({{"label", "Recorded"}, {"format", "string"}, {"value", remark}});
  return ordered_json::array({{{"label", "Elision"}, {"entries", entries}}});
}

ordered_json meta_json(const PathTable& table, const Origin& origin) {
  std::vector<std::size_t> all(table.threads.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return {{"interval", weight_of_sample(table) / kNsPerMs},
          {"startTime", 0},
          {"processType", 0},
          {"categories", categories(table)},
          {"product", origin.file},
          {"importedFrom", origin.writer},
          {"arguments", origin.command},
          {"stackwalk", 1},
          {"version", kGeckoVersion},
          {"preprocessedProfileVersion", kFirefoxVersion},
          {"symbolicated", true},
          {"usesOnlyOneStackType", true},
          {"sourceCodeIsNotOnSearchfox", true},
          {"markerSchema", ordered_json::array()},
          {"extra", extra_json(table, origin)},
          {"keepProfileThreadOrder", true},
          {"initialVisibleThreads", all},
          {"initialSelectedThreads", ordered_json::array({main_thread(table)})}};
}

}  // namespace

ordered_json firefox_json(const PathTable& table, const Origin& origin) {
  SharedTables shared;
  ordered_json file = {{"meta", meta_json(table, origin)}, {"libs", ordered_json::array()}};
  ordered_json threads = threads_json(table, origin, shared);
  file["shared"] = shared.json();
  file["threads"] = std::move(threads);
  return file;
}

}  // namespace elision::profile
