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

struct CategoryStyle {
  const char* name;
  const char* colour;
};

// Behind the default one, by number of the state.
constexpr CategoryStyle kCategories[kStates] = {{"outside of locks", "lightblue"},
                                                {"holding a lock", "blue"},
                                                {"in transactions that committed", "green"},
                                                {"in transactions that aborted", "red"},
                                                {"in fallback", "orange"},
                                                {"waiting for locks", "yellow"},
                                                {"speculating", "purple"},
                                                {"in the locks' own code", "magenta"},
                                                {"blocked", "transparent"}};
std::size_t category_of(State state) { return kDefaultColour + 1 + static_cast<std::size_t>(state); }

ordered_json category(const char* name, const char* colour) {
  return {{"name", name}, {"color", colour}, {"subcategories", ordered_json::array({"Other"})}};
}

ordered_json categories() {
  ordered_json list = ordered_json::array({category("Other", "grey")});
  for (const CategoryStyle& style : kCategories) list.push_back(category(style.name, style.colour));
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

  void add(const Profile& profile, const Path& path) {
    std::optional<std::size_t> stack;
    for (const Place* frame : stack_of(profile, path)) stack = stack_on(stack, *frame, path.state);
    if (const std::string label = state_label(profile, path); !label.empty())
      stack = stack_on(stack, Place{.name = label}, path.state);
    // A sample at the end, too, without weight: the viewer draws the line between samples of different
    // stacks halfway between their times.
    const double end_ns = now_ns_ + path.ns;
    add_row(samples_, {{"stack", *stack}, {"time", now_ns_ / kNsPerMs}, {"weight", path.ns / kNsPerMs}});
    add_row(samples_, {{"stack", *stack}, {"time", end_ns / kNsPerMs}, {"weight", 0}});
    now_ns_ = end_ns;
  }

  void write_to(ordered_json& thread) {
    samples_["weightType"] = "tracing-ms";
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
  using FrameKey = std::tuple<std::size_t, std::uint32_t, State>;

  std::size_t stack_on(std::optional<std::size_t> prefix, const Place& place, State state) {
    const std::size_t frame = frame_of(place, state);
    const auto known = known_stacks_.find({prefix, frame});
    if (known != known_stacks_.end()) return known->second;
    const ordered_json prefix_json = prefix ? ordered_json(*prefix) : ordered_json(nullptr);
    return known_stacks_[{prefix, frame}] = add_row(stacks_, {{"frame", frame}, {"prefix", prefix_json}});
  }

  // A frame has a category and a sample has none, so a place in two states is two frames. Addresses would
  // have to be relative to files, which a profile does not name.
  std::size_t frame_of(const Place& place, State state) {
    const std::size_t function = function_of(place);
    const auto known = known_frames_.find({function, place.line, state});
    if (known != known_frames_.end()) return known->second;
    return known_frames_[{function, place.line, state}] =
               add_row(frames_, {{"address", -1},
                                 {"inlineDepth", 0},
                                 {"category", category_of(state)},
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
  double now_ns_ = 0;
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
std::size_t main_thread(const Profile& profile) {
  const auto first = std::min_element(profile.threads.begin(), profile.threads.end(),
                                      [](const Thread& a, const Thread& b) { return a.id < b.id; });
  return static_cast<std::size_t>(first - profile.threads.begin());
}

ordered_json thread_json(const Profile& profile, const Origin& origin, std::size_t index) {
  return {{"processType", "default"},
          {"processName", origin.file},
          {"processStartupTime", 0},
          {"processShutdownTime", nullptr},
          {"registerTime", 0},
          {"unregisterTime", nullptr},
          {"pausedRanges", ordered_json::array()},
          {"name", label_of(profile.threads[index])},
          {"isMainThread", index == main_thread(profile)},
          {"pid", kProcess},
          {"tid", profile.threads[index].id}};
}

ordered_json threads_json(const Profile& profile, const Origin& origin, SharedTables& shared) {
  std::vector<Track> tracks(profile.threads.size(), Track(shared));
  for (const std::size_t index : order_by_thread(profile))
    tracks[profile.paths[index].thread].add(profile, profile.paths[index]);
  ordered_json threads = ordered_json::array();
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    threads.push_back(thread_json(profile, origin, i));
    tracks[i].write_to(threads.back());
  }
  return threads;
}

ordered_json extra_json(const Profile& profile, const Origin& origin) {
  ordered_json entries = ordered_json::array();
  for (const std::string& remark : remarks_of(profile, origin))
    entries.push_back({{"label", "Recorded"}, {"format", "string"}, {"value", remark}});
  return ordered_json::array({{{"label", "Elision"}, {"entries", entries}}});
}

ordered_json meta_json(const Profile& profile, const Origin& origin) {
  std::vector<std::size_t> all(profile.threads.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return {{"interval", sampling_period_ns(profile) / kNsPerMs},
          {"startTime", 0},
          {"processType", 0},
          {"categories", categories()},
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
          {"extra", extra_json(profile, origin)},
          {"keepProfileThreadOrder", true},
          {"initialVisibleThreads", all},
          {"initialSelectedThreads", ordered_json::array({main_thread(profile)})}};
}

}  // namespace

ordered_json firefox_json(const Profile& profile, const Origin& origin) {
  SharedTables shared;
  ordered_json file = {{"meta", meta_json(profile, origin)}, {"libs", ordered_json::array()}};
  ordered_json threads = threads_json(profile, origin, shared);
  file["shared"] = shared.json();
  file["threads"] = std::move(threads);
  return file;
}

}  // namespace elision::profile
