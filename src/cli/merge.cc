// SPDX-License-Identifier: Apache-2.0
// `elision merge`: one profile of several processes, such as the ranks of an MPI program.
#include "profile/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/printable.h"
#include "base/usable_cpus.h"
#include "cli/experiment/workers.h"
#include "cli/host/console.h"
#include "cli/host/output_file.h"
#include "cli/host/shell_words.h"
#include "cli/host/usage_error.h"
#include "cli/options/arguments.h"
#include "cli/profile_file.h"
#include "cli/verbs.h"
#include "profile/profile_json.h"

namespace elision::cli {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<std::string>;

struct MergeRequest {
  std::string output;
  Paths profiles;
};

std::unique_ptr<CLI::App> merge_options(MergeRequest& request) {
  auto app =
      make_app("elision merge [OPTION...] -o FILE PROFILE...",
               "Makes one profile of those of several processes, such as the ranks of an MPI program.");
  app->add_option("-o,--output", request.output, "write the profile there")->type_name("FILE")->required();
  app->add_option("PROFILE", request.profiles, "a profile of elision record or of this command")
      ->type_name("");
  return app;
}

/// A file under any of its names. One that is not there is read later, and refused.
std::string file_at(const std::string& path) {
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  return error ? path : file.string();
}

/// The output may be discarded, and a profile counts once.
void require_different_files(const MergeRequest& request) {
  std::set<std::string> files;
  for (const std::string& path : request.profiles) {
    if (!files.insert(file_at(path)).second) throw UsageError(fmt::format("'{}' is named twice", path));
  }
  if (files.contains(file_at(request.output)))
    throw UsageError(fmt::format("'{}' is one of the profiles and cannot be the output", request.output));
}

std::vector<ProfileFile> read_profiles(const Paths& paths) {
  std::vector<ProfileFile> files(paths.size());
  std::atomic<std::size_t> next = 0;
  experiment::share_work(std::min<unsigned>(usable_cpus(), static_cast<unsigned>(paths.size())), [&] {
    const std::size_t number = next++;
    if (number >= paths.size()) return false;
    files[number] = read_profile(paths[number]);
    return true;
  });
  return files;
}

/// What must be the same in all profiles, and of which file it is not.
void require_same(const Paths& paths, const std::vector<ProfileFile>& files) {
  const ProfileFile& first = files.front();
  for (std::size_t i = 1; i < files.size(); ++i) {
    const auto refuse = [&](const char* what, const std::string& one, const std::string& other) {
      throw UsageError(fmt::format("{}: '{}' ran {}, '{}' {}", what, paths.front(), one, paths[i], other));
    };
    if (files[i].where != first.where)
      refuse("profiles of different machines cannot be merged", "on " + place_of(first),
             "on " + place_of(files[i]));
    if (files[i].design != first.design)
      refuse("profiles of different lock designs cannot be merged", "under " + first.design,
             "under " + files[i].design);
    if (files[i].profile.exact != first.profile.exact)
      throw UsageError(
          fmt::format("exact and sampled profiles cannot be merged: '{}' and '{}'", paths.front(), paths[i]));
  }
}

/// What may make the sum mean little; empty: nothing.
std::string warning_of(const Paths& paths, const std::vector<ProfileFile>& files) {
  const std::string first = program_of(files.front());
  for (std::size_t i = 1; i < files.size(); ++i)
    if (const std::string other = program_of(files[i]); other != first)
      return fmt::format("The programs differ: '{}' is of {}, '{}' of {}.", paths.front(), first, paths[i],
                         other);
  return "";
}

/// "rank-3" of "out/rank-3.profile", or the whole path if another file has that name.
std::vector<std::string> processes_of(const Paths& paths) {
  std::map<std::string, unsigned> times;
  for (const std::string& path : paths) ++times[fs::path(path).stem().string()];
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    const std::string name = fs::path(path).stem().string();
    names.push_back(times[name] == 1 ? name : path);
  }
  return names;
}

/// The program of the first file stands for all.
ProfileFile merged_file(const Paths& paths, std::vector<ProfileFile> files) {
  require_same(paths, files);
  const std::vector<std::string> processes = processes_of(paths);
  ProfileFile result{files.front().program, files.front().where, files.front().design, {}};
  std::vector<profile::Profile> profiles;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files.size() > 1) profile::name_threads_by(processes[i], files[i].profile);
    profiles.push_back(std::move(files[i].profile));
  }
  result.profile = profile::merged(std::move(profiles));
  if (!profile::is_within_bounds(result.profile))
    throw UsageError("the sums of these profiles are too large for a profile");
  return result;
}

std::string text_of(const ProfileFile& file) {
  std::string text = profile_text(file);
  if (text.size() > kMostProfileBytes)
    throw UsageError(fmt::format("the merged profile has {} MB, more than the {} MB that can be read",
                                 text.size() >> 20, kMostProfileBytes >> 20));
  return text;
}

}  // namespace

std::unique_ptr<CLI::App> merge_app() {
  static MergeRequest request;
  return merge_options(request);
}

int merge_verb(const Words& words) {
  MergeRequest request;
  const auto app = merge_options(request);
  if (!parse_options(*app, words)) return 0;
  if (request.profiles.empty())
    throw UsageError("no profile to merge; name them, as in: elision merge -o FILE PROFILE...");
  require_different_files(request);
  require_writable(request.output);
  std::string warning;
  or_discard(request.output, [&] {
    std::vector<ProfileFile> files = read_profiles(request.profiles);
    warning = warning_of(request.profiles, files);
    write_output(request.output, text_of(merged_file(request.profiles, std::move(files))));
  });
  if (!warning.empty()) tell("merge", printable(warning));
  if (!is_standard_output(request.output))
    tell("merge", fmt::format("wrote {}, of {} {}; 'elision report {}' shows it", request.output,
                              request.profiles.size(), request.profiles.size() == 1 ? "profile" : "profiles",
                              quoted_for_shell({request.output})));
  return 0;
}

}  // namespace elision::cli
