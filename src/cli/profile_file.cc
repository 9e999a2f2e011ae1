// SPDX-License-Identifier: Apache-2.0
#include "cli/profile_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/whole_file.h"
#include "cli/compare_request.h"
#include "cli/host/json_text.h"
#include "cli/host/shell_words.h"
#include "cli/host/usage_error.h"
#include "cli/show/format.h"
#include "profile/profile_json.h"

namespace elision::cli {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "elision profile";
constexpr unsigned kVersion = 2;  // 1: without call paths

// The depth of JSON's values: the file is at 0, the profile at 1, its members at 2, entries of its lists
// at 3.
constexpr int kTop = 0, kProfileList = 2, kEntry = 3;
constexpr int kDeepest = 8;
constexpr int kDeepestOfAny = 1000;           // in later versions
constexpr std::size_t kMostNames = 64;        // in an object
constexpr std::size_t kMostValues = 100'000;  // in an entry, or in all that is no list

[[noreturn]] void throw_damaged(const std::string& what) { throw std::invalid_argument(what); }

/// Follows the parser through a file's text. It takes the entries of the profile's lists as they come, so
/// that these need no memory as JSON, and ends the parser by std::invalid_argument if the text is none of
/// ours.
class Follower {
 public:
  explicit Follower(profile::ProfileReader& reader) : reader_(reader) {}

  /// Called by nlohmann::json for each value. False: it does not keep the value.
  bool operator()(int depth, json::parse_event_t event, json& value) {
    if (depth > kDeepest) throw_damaged("its values are nested too deeply");
    if (++values_ > kMostValues) throw_damaged(fmt::format("more than {} values are together", kMostValues));
    if (in_list_ && depth == kEntry && is_no_object(event))
      throw_damaged(fmt::format("an entry of '{}' is no object", list_));
    switch (event) {
      case json::parse_event_t::key:
        name(depth, value.get_ref<const std::string&>());
        return true;
      case json::parse_event_t::object_start:
        names_.emplace_back();
        return true;
      case json::parse_event_t::object_end:
        names_.pop_back();
        return !(in_list_ && depth == kEntry) || !take(value);
      case json::parse_event_t::array_start:
        if (depth == kProfileList) in_list_ = in_profile_ && profile::ProfileReader::is_list(list_);
        return true;
      case json::parse_event_t::array_end:
        if (depth == kProfileList) in_list_ = false;
        return true;
      case json::parse_event_t::value:
        return true;
    }
    return true;
  }

 private:
  static bool is_no_object(json::parse_event_t event) {
    return event == json::parse_event_t::array_start || event == json::parse_event_t::value;
  }

  /// JSON leaves open which of two values with one name counts.
  void name(int depth, const std::string& name) {
    std::vector<std::string>& names = names_.back();
    if (names.size() == kMostNames)
      throw_damaged(fmt::format("an object has more than {} names", kMostNames));
    if (std::find(names.begin(), names.end(), name) != names.end())
      throw_damaged(fmt::format("'{}' is there twice", name));
    names.push_back(name);
    if (depth == kTop + 1) in_profile_ = name == "profile";
    if (depth == kProfileList) list_ = name;
  }

  bool take(const json& entry) {
    reader_.add(list_, entry);
    values_ = 0;
    return true;
  }

  profile::ProfileReader& reader_;
  std::vector<std::vector<std::string>> names_;  // in each object around
  bool in_profile_ = false, in_list_ = false;
  std::string list_;  // the name of the profile's member
  std::size_t values_ = 0;
};

/// What a text says about itself, as far as it can be read.
struct Head {
  bool is_ours = false;
  std::uint64_t version = 0;  // 0: not known
};

/// The other parts of the text may be of any version, or end too early. They need no memory.
Head head_of(std::string_view text) {
  Head head;
  std::string name;
  const auto look = [&](int depth, json::parse_event_t event, const json& value) {
    const bool is_foreign = depth == kTop && event == json::parse_event_t::array_start;
    const bool is_known = head.is_ours && head.version != 0;
    if (is_foreign || is_known || depth > kDeepestOfAny) throw_damaged("");  // ends the parser
    if (depth == kTop) return true;
    if (depth == kTop + 1 && event == json::parse_event_t::key) name = value.get<std::string>();
    if (depth == kTop + 1 && event == json::parse_event_t::value) {
      if (name == "format") head.is_ours = value == kFormat;
      if (name == "version" && value.is_number_unsigned()) head.version = value.get<std::uint64_t>();
    }
    return false;
  };
  try {
    [[maybe_unused]] const json nothing = json::parse(text, look);
  } catch (const json::exception&) {
  } catch (const std::invalid_argument&) {
  }
  return head;
}

[[noreturn]] void refuse_text(std::string_view text, const std::string& path, const std::string& why) {
  const Head head = head_of(text);
  if (!head.is_ours) refuse_file(path, "is no profile that elision record wrote");
  if (head.version > kVersion)
    refuse_file(path,
                fmt::format("has version {} of the format; this elision knows {}", head.version, kVersion));
  refuse_file(path, fmt::format("is damaged: {}", why));
}

const json& member(const json& in, const char* name) {
  const auto found = in.find(name);
  if (found == in.end()) throw_damaged(fmt::format("'{}' is missing", name));
  return *found;
}

std::string text_in(const json& in, const char* name) {
  const json& text = member(in, name);
  if (!text.is_string()) throw_damaged(fmt::format("'{}' is no text", name));
  return text.get<std::string>();
}

std::vector<std::string> words_in(const json& in, const char* name) {
  const json& words = member(in, name);
  const auto is_text = [](const json& word) { return word.is_string(); };
  if (!words.is_array() || !std::all_of(words.begin(), words.end(), is_text))
    throw_damaged(fmt::format("'{}' is no list of words", name));
  return words.get<std::vector<std::string>>();
}

ProfileFile profile_from(std::string_view text) {
  profile::ProfileReader reader;
  const json rest = json::parse(text, Follower(reader));
  if (!rest.is_object()) throw_damaged("it is no object");
  if (text_in(rest, "format") != kFormat) throw_damaged("it has another format");
  const json& version = member(rest, "version");
  if (!version.is_number_unsigned() || version > kVersion || version == 0u)
    throw_damaged(fmt::format("'version' is no number from 1 to {}", kVersion));
  return {words_in(rest, "program"), text_in(rest, "where"), text_in(rest, "design"),
          reader.finish(member(rest, "profile"))};
}

void append_entries(std::string& text, const profile::Profile& profile) {
  profile::visit_entries(profile, [&text](const char* name, std::size_t size, const auto& entry) {
    text += fmt::format(",\n    \"{}\": [", name);
    for (std::size_t i = 0; i < size; ++i) text += (i == 0 ? "\n      " : ",\n      ") + json_line(entry(i));
    text += size == 0 ? "]" : "\n    ]";
  });
}

/// The members of `object` on lines of their own, without the braces.
std::string members_text(const nlohmann::ordered_json& object, const char* indent) {
  std::string text;
  for (const auto& [name, value] : object.items())
    text += fmt::format("{}{}\"{}\": {}", text.empty() ? "" : ",\n", indent, name, json_line(value));
  return text;
}

}  // namespace

std::string place_of(const ProfileFile& file) {
  if (file.where == kPerf) return "the CPU where perf recorded it";
  return file.where == kNative ? "this CPU" : "virtual " + file.where;
}

std::string heading_of(const ProfileFile& file) {
  const std::string design = file.design == kUnknownDesign ? "" : " under " + file.design;
  return fmt::format("{} on {}{}, {}", quoted_for_shell(file.program), place_of(file), design,
                     experiment::format_seconds(1e-9 * file.profile.wall_ns));
}

std::string program_of(const ProfileFile& file) {
  return file.program.empty() ? "" : std::filesystem::path(file.program.front()).filename().string();
}

/// An entry a line: a merged profile may have a million call paths.
std::string profile_text(const ProfileFile& file) {
  nlohmann::ordered_json head;
  head["format"] = kFormat;
  head["version"] = kVersion;
  head["elision"] = ELISION_VERSION;
  head["program"] = file.program;
  head["where"] = file.where;
  head["design"] = file.design;
  std::string text = fmt::format("{{\n{},\n  \"profile\": {{\n{}", members_text(head, "  "),
                                 members_text(profile::profile_json_without_lists(file.profile), "    "));
  append_entries(text, file.profile);
  return text + "\n  }\n}\n";
}

ProfileFile profile_from_text(std::string_view text, const std::string& path) {
  try {
    return profile_from(text);
  } catch (const json::parse_error& error) {
    refuse_text(text, path, fmt::format("it is no JSON at byte {}", error.byte));
  } catch (const json::exception&) {
    refuse_text(text, path, "a number in it is too large");
  } catch (const std::invalid_argument& error) {
    refuse_text(text, path, error.what());
  }
}

void refuse_file(const std::string& path, const std::string& why) {
  throw UsageError(fmt::format("'{}' {}", path, why));
}

ProfileFile read_profile(const std::string& path) {
  const auto text = read_whole_file(path, kMostProfileBytes);
  if (!text) refuse_file(path, fmt::format("cannot be read: {}", text.error()));
  return profile_from_text(*text, path);
}

}  // namespace elision::cli
