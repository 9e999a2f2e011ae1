// SPDX-License-Identifier: Apache-2.0
// `elision annotate`: lines of source with the time and the conflicts that a profile has for them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <vector>

#include "base/nearest.h"
#include "cli/host/console.h"
#include "cli/host/usage_error.h"
#include "cli/options/arguments.h"
#include "cli/profile_file.h"
#include "cli/show/annotate_text.h"
#include "cli/verbs.h"
#include "profile/source_lines.h"

namespace elision::cli {
namespace {

namespace fs = std::filesystem;
using experiment::SourceText;
using profile::SourceFunction;

constexpr std::size_t kMostFunctions = 5;
constexpr const char* kNoneAtLocks =
    "No function has conflicts or spends time of its own at locks; name one to see its lines.\n";

struct AnnotateRequest {
  std::string file = kDefaultProfile;
  std::string function;  // empty: those with most time at locks
  std::string root;      // empty: not given
};

std::unique_ptr<CLI::App> annotate_options(AnnotateRequest& request) {
  auto app = make_app("elision annotate [OPTION...] [PROFILE] [FUNCTION]",
                      "Shows lines of source with their time by state and their conflicts.");
  app->add_option("PROFILE", request.file, fmt::format("the profile (default: {})", kDefaultProfile))
      ->type_name("");
  app->add_option("FUNCTION", request.function,
                  fmt::format("a function (default: the {} with most time at locks)", kMostFunctions))
      ->type_name("");
  app->add_option(
         "--source-root", request.root,
         "look for the source in this folder and below it first (default: where it was compiled, then "
         "the current folder)")
      ->type_name("FOLDER");
  return app;
}

/// How many components at the ends of the paths are the same.
std::size_t common_end(const fs::path& one, const fs::path& other) {
  const std::vector<fs::path> a(one.begin(), one.end()), b(other.begin(), other.end());
  return static_cast<std::size_t>(std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first -
                                  a.rbegin());
}

/// Those of `paths` whose ends are most like that of `file`.
std::vector<fs::path> nearest(const fs::path& file, const std::vector<fs::path>& paths) {
  std::vector<fs::path> found;
  for (const fs::path& path : paths) {
    const std::size_t length = common_end(path, file);
    const std::size_t best = found.empty() ? 0 : common_end(found.front(), file);
    if (length > best) found.clear();
    if (length >= best) found.push_back(path);
  }
  return found;
}

/// Finds the source files of a profile: by their paths, as they are or below a folder, else by their names. A
/// folder that the user names comes first: it may be another checkout than the one that was compiled.
class Sources {
 public:
  explicit Sources(const std::string& root)
      : is_root_given_(!root.empty()), root_(root.empty() ? "." : root) {
    std::error_code error;
    if (!fs::is_directory(root_, error)) throw UsageError(fmt::format("'{}' is no folder", root));
  }

  SourceText text_of(const SourceFunction& function) {
    const fs::path file = function.file;
    if (!is_root_given_)
      if (std::optional<SourceText> text = as_compiled(function)) return *text;
    if (std::optional<SourceText> text = read(root_ / file.relative_path(), function)) return *text;
    const std::vector<fs::path> found = nearest(file, files_called(file.filename()));
    if (found.size() > 1)
      return {{},
              fmt::format("'{}' and '{}' both may be its source; --source-root names a folder",
                          found[0].string(), found[1].string())};
    if (found.size() == 1)
      if (std::optional<SourceText> text = read(found.front(), function)) return *text;
    if (is_root_given_)
      if (std::optional<SourceText> text = as_compiled(function)) return *text;
    return {{},
            fmt::format("'{}' is not in '{}' nor below it; --source-root names a folder", function.file,
                        root_.string())};
  }

 private:
  static std::optional<SourceText> as_compiled(const SourceFunction& function) {
    const fs::path file = function.file;
    return file.has_parent_path() ? read(file, function) : std::nullopt;
  }

  static std::optional<SourceText> read(const fs::path& path, const SourceFunction& function) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return std::nullopt;
    std::ifstream stream(path);
    if (!stream) return std::nullopt;
    SourceText text;
    for (std::string line; std::getline(stream, line);) text.lines.push_back(line);
    if (!function.lines.empty() && function.lines.rbegin()->first > text.lines.size())
      return SourceText{{},
                        fmt::format("'{}' has only {} lines: it is not what was compiled", path.string(),
                                    text.lines.size())};
    return text;
  }

  const std::vector<fs::path>& files_called(const std::string& name) {
    if (!listed_) list();
    return files_[name];
  }

  // Hidden folders hold copies of other versions. Links are not followed.
  void list() {
    listed_ = true;
    std::error_code error;
    auto each = fs::recursive_directory_iterator(root_, fs::directory_options::skip_permission_denied, error);
    for (; !error && each != fs::recursive_directory_iterator(); each.increment(error)) {
      const std::string name = each->path().filename();
      std::error_code unreadable;
      if (each->is_directory(unreadable) && name.starts_with('.')) each.disable_recursion_pending();
      if (each->is_regular_file(unreadable)) files_[name].push_back(each->path());
    }
    for (auto& [name, paths] : files_) std::sort(paths.begin(), paths.end());
  }

  bool is_root_given_;
  fs::path root_;
  bool listed_ = false;
  std::map<std::string, std::vector<fs::path>> files_;  // by their names
};

std::vector<SourceFunction> functions_called(const std::vector<SourceFunction>& all,
                                             const std::string& name) {
  std::vector<SourceFunction> found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found),
               [&](const SourceFunction& function) { return is_called(function, name); });
  if (!found.empty()) return found;
  std::vector<std::string> names;
  for (const SourceFunction& function : all) names.push_back(short_name(function));
  const std::string near = near_name(name, names);
  throw UsageError(fmt::format("no function '{}' has lines of source in the profile{}", name,
                               near.empty() ? "" : fmt::format("; the nearest is '{}'", near)));
}

std::string text_of(const std::vector<SourceFunction>& functions, std::size_t more, Sources& sources) {
  std::string text;
  for (const SourceFunction& function : functions)
    text += (text.empty() ? "" : "\n") + experiment::annotated_text(function, sources.text_of(function));
  if (more > 0)
    text += fmt::format("\n{} more function{} lines of source; name one to see it.\n", more,
                        more == 1 ? " has" : "s have");
  return text;
}

}  // namespace

std::unique_ptr<CLI::App> annotate_app() {
  static AnnotateRequest request;
  return annotate_options(request);
}

int annotate_verb(const Words& words) {
  AnnotateRequest request;
  const auto app = annotate_options(request);
  if (!parse_options(*app, words)) return 0;
  Sources sources(request.root);
  const ProfileFile file = read_profile(request.file);
  std::vector<SourceFunction> functions = profile::source_functions(file.profile);
  if (functions.empty())
    throw UsageError(
        fmt::format("'{}' names no line of source: compile with -g, leave the program unstripped, and record "
                    "it again",
                    request.file));
  if (!request.function.empty()) {
    print(text_of(functions_called(functions, request.function), 0, sources));
    return 0;
  }
  const std::size_t all = functions.size();
  std::erase_if(functions, [](const SourceFunction& function) { return !profile::concerns_locks(function); });
  functions.resize(std::min(functions.size(), kMostFunctions));
  print(functions.empty() ? kNoneAtLocks : text_of(functions, all - functions.size(), sources));
  return 0;
}

}  // namespace elision::cli
