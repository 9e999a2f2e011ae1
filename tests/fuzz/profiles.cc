// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as a profile (cli/profile_file.h). A bad one must be refused in one line that names it. An
// accepted one has no number out of bounds and must be the same after writing and reading it; it is reported,
// compared and merged, with itself and with another one, and the merge must be a profile again.
#include <algorithm>

#include "cli/host/json_text.h"
#include "cli/host/usage_error.h"
#include "cli/judge/explanation.h"
#include "cli/profile_file.h"
#include "cli/show/aborts_text.h"
#include "cli/show/diff_tables.h"
#include "cli/show/shared_data.h"
#include "cli/show/why_json.h"
#include "cli/show/why_text.h"
#include "fuzz.h"
#include "profile/diff.h"
#include "profile/merge.h"
#include "profile/profile_json.h"
#include "text_mutation.h"

namespace {

namespace cli = elision::cli;
namespace experiment = elision::cli::experiment;
namespace profile = elision::profile;

constexpr const char* kName = "input";

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

void check_message(const std::string& message) {
  if (message.rfind("'input' ", 0) != 0) fuzz::fail("the file is not named: " + message);
  if (std::any_of(message.begin(), message.end(), is_control)) fuzz::fail("not one line: " + message);
}

void check_text(const std::string& text) {
  if (text.find("nan") != text.npos || text.find("inf") != text.npos) fuzz::fail("no number: " + text);
}

profile::Profile read_again(const profile::Profile& written) {
  const std::string text = cli::profile_text({{"program"}, "native", "pthread", written});
  try {
    return cli::profile_from_text(text, kName).profile;
  } catch (const cli::UsageError& error) {
    fuzz::fail(std::string("refused when it is read again: ") + error.what());
  }
}

std::string json_of(const profile::Profile& profile) { return profile::profile_json(profile).dump(); }

void report(const cli::ProfileFile& file) {
  const experiment::Block block = experiment::block_of_run(file.profile, file.design);
  for (const std::size_t width : {20, 80}) {
    const cli::Appearance appearance{width, true, false, true};
    (void)experiment::why_text(block, appearance, "the run");
  }
  (void)experiment::why_markdown(block, "the run");
  (void)experiment::table_csv(experiment::locks_table(block));
  const auto& why = block.rows.front().why;
  if (why) (void)cli::json_text(experiment::why_json(*why));
  if (block.diagnosis) (void)cli::json_text(experiment::diagnosis_json(*block.diagnosis));
  (void)cli::heading_of(file);
  (void)experiment::aborts_text(file.profile, 5, {std::size_t{40}, true, false, true});
  (void)experiment::shared_data_text(file.profile, 5, {std::size_t{40}, true, false, true});
  (void)experiment::shared_data_markdown(file.profile, 5);
  (void)cli::json_text(experiment::shared_data_json(file.profile));
}

void compare(const profile::Profile& a, const profile::Profile& b) {
  const profile::ProfileDiff diff = profile::diff(a, b);
  check_text(profile::verdict_of(diff));
  (void)experiment::diff_text(diff, {std::size_t{40}, true, false, true});
  (void)experiment::diff_markdown(diff);
  check_text(cli::json_line(experiment::diff_json(diff).at("states")));
  (void)experiment::table_csv(experiment::diff_rows(diff));
}

void merge(std::vector<profile::Profile> profiles) {
  for (profile::Profile& each : profiles) profile::name_threads_by("process", each);
  const profile::Profile sum = profile::merged(std::move(profiles));
  if (!profile::is_within_bounds(sum)) return;
  if (json_of(read_again(sum)) != json_of(sum)) fuzz::fail("a merge is read otherwise: " + json_of(sum));
}

/// A profile that is not mutated.
const profile::Profile& other() {
  static const profile::Profile kOther = [] {
    profile::Profile made;
    made.samples = 1000;
    made.wall_ns = made.parallel_ns = 1e9;
    profile::time_in(made.times, profile::State::kWaiting) = 3e8;
    profile::Lock lock;
    lock.place = {64, "hot"};
    lock.site = {9, "push", "q.c", 3};
    lock.waits_ns = profile::time_in(lock.times, profile::State::kWaiting) = 3e8;
    made.locks = {lock};
    made.threads = {{1, "main"}};
    made.frames = {{16, "main", "m.c", 3}};
    made.paths = {{profile::State::kWaiting, 0, 0, {0, 0}, 3e8, 300}};
    made.abort_events = {.counted = true, .aborts = 100, .commits = 50, .period = 7, .samples = 14};
    made.abort_events->rows = {{{16, "push", "q.c", 3}, "conflict", {}, {}, 14, 100, 5000}};
    made.access_events = {.period = 9, .loads = 20, .stores = 10, .shared = 5};
    made.access_events->rows = {
        {{64, "hot"}, {9, "push", "q.c", 3}, {9, "push", "q.c", 3}, true, true, 5, 1}};
    return made;
  }();
  return kOther;
}

}  // namespace

const fuzz::TextKind& fuzz::text_kind() {
  static const fuzz::TextKind kKind = [] {
    fuzz::TextKind kind{
        '\n', " :,[]{}\"", {"null",       "true",   "false",       "-1",      "1e300",
                            "1e999",      "1.5",    "-0.1",        "[]",      "{}",
                            "[[",         "{\"\":", "\"\\u0000\"", "\"\\n\"", "18446744073709551616",
                            "4294967295", "name",   "file",        "line",    "address",
                            "state",      "thread"}};
    for (const char* const name : profile::kStateNames) kind.words.emplace_back(name);
    return kind;
  }();
  return kKind;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  cli::ProfileFile file;
  try {
    file = cli::profile_from_text(text, kName);
  } catch (const cli::UsageError& error) {
    check_message(error.what());
    return 0;
  }
  ++fuzz::g_accepted;
  if (!profile::is_within_bounds(file.profile)) fuzz::fail("a number out of bounds: " + text);
  if (json_of(read_again(file.profile)) != json_of(file.profile)) fuzz::fail("read otherwise: " + text);
  report(file);
  compare(file.profile, file.profile);
  compare(file.profile, other());
  compare(other(), file.profile);
  merge({file.profile, other(), file.profile});
  merge({other(), file.profile});
  return 0;
}
