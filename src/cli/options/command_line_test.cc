// SPDX-License-Identifier: Apache-2.0
// What words on the command line come to mean: splitting, options, designs, environment.
#include <gtest/gtest.h>

#include "cli/host/environment.h"
#include "cli/host/usage_error.h"
#include "cli/options/arguments.h"
#include "cli/options/designs.h"
#include "cli/options/lock_options.h"
#include "cli/options/tm_modes.h"

namespace elision::cli {
namespace {

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Arguments, OnlyTheFirstSeparatorCounts) {
  const Arguments split = split_arguments({"--lock", "tatas", "--", "prog", "--lock", "--", "-x"});
  EXPECT_EQ(split.options, (std::vector<std::string>{"--lock", "tatas"}));
  EXPECT_EQ(split.program, (std::vector<std::string>{"prog", "--lock", "--", "-x"}));
}

TEST(Arguments, MissingProgramShowsHowToNameOne) {
  EXPECT_EQ(error_of([] {
              required_program(split_arguments({"--lock", "x"}), "vm");
            }),
            "no program to run; write it behind '--', as in: elision vm -- PROGRAM ARG...");
  EXPECT_NE(error_of([] { required_program(split_arguments({"--"}), "vm"); }), "no error");
  EXPECT_NE(error_of([] { required_program(split_arguments({"--", ""}), "vm"); }), "no error");
}

TEST(Arguments, UnknownOptionIsNamedWithTheNearest) {
  std::string value;
  const auto app = make_app("elision x", "x");
  app->add_option("--machine", value, "m");
  EXPECT_EQ(error_of([&] { parse_options(*app, {"--machin=a"}); }),
            "unknown option '--machin'; the nearest is '--machine'");
}

TEST(Arguments, StrayWordIsNamed) {
  const auto app = make_app("elision x", "x");
  EXPECT_EQ(error_of([&] { parse_options(*app, {"ls"}); }), "'ls' is not expected here");
}

TEST(Arguments, NumbersOutsideTheirRangeAreNamed) {
  unsigned value = 0;
  const auto app = make_app("elision x", "x");
  add_number(*app, "--cpus", value, 1, 128, "c");
  for (const char* bad : {"0", "129", "x", "1x", "", "-1", "+1", "0x10", "1.0", "1e1", " 1", "nan",
                          "99999999999999999999", "18446744073709551617"}) {
    const std::string error = error_of([&] { parse_options(*app, {"--cpus", bad}); });
    EXPECT_NE(error.find("--cpus"), std::string::npos) << bad << ": " << error;
  }
  EXPECT_EQ(error_of([&] { parse_options(*app, {"--cpus=-5"}); }),
            "--cpus: '-5' is not a whole number from 1 to 128");
  EXPECT_TRUE(parse_options(*app, {"--cpus", "128"}));
  EXPECT_EQ(value, 128u);
  EXPECT_TRUE(parse_options(*app, {"--cpus", "010"}));
  EXPECT_EQ(value, 10u);  // not octal
}

TEST(Arguments, EmptyValuesAreNotTheSameAsNone) {
  std::string value = "kept";
  const auto app = make_app("elision x", "x");
  app->add_option("--machine", value, "m");
  EXPECT_EQ(error_of([&] { parse_options(*app, {"--machine", ""}); }), "--machine is empty");
  EXPECT_TRUE(parse_options(*app, {}));
}

TEST(Arguments, SecondsMayBeFractionalButNotZero) {
  double value = 0;
  const auto app = make_app("elision x", "x");
  app->add_option("--timeout", value, "t")->check(seconds_up_to(100));
  for (const char* bad : {"0", "-1", "nan", "inf", "101", "1s", "0x1"}) {
    const std::string error = error_of([&] { parse_options(*app, {"--timeout", bad}); });
    EXPECT_NE(error.find("'" + std::string(bad) + "' is not a number of seconds"), std::string::npos)
        << error;
  }
  EXPECT_TRUE(parse_options(*app, {"--timeout", "0.5"}));
  EXPECT_EQ(value, 0.5);
}

TEST(Designs, NamesOfTheFamilyAreAccepted) {
  for (const char* name :
       {"pthread", "tatas", "ticket", "htm-1", "htm-10", "htm-77", "tatas-aahtm", "ticket-aahtm", "tts",
        "ttstle", "htm-5-fb-aahtm", "hle-scm", "tatas-pri-aahtm", "pthread-aahtm", "glibc-elision"}) {
    EXPECT_NO_THROW(require_design(name)) << name;
  }
  for (const char* name : {"", "htm", "htm-", "htm-0", "htm-01", "htm-1x", "htm--1", "htm-1000001", "tatas-",
                           "Ticket", "htm-N", "htm-fb-aahtm"}) {
    EXPECT_THROW(require_design(name), UsageError) << name;
  }
}

TEST(Designs, ElidingAndSpeculatingAreToldApart) {
  EXPECT_TRUE(elides("htm-10"));
  EXPECT_FALSE(elides("tatas-aahtm"));
  EXPECT_TRUE(speculates("ticket-aahtm"));
  EXPECT_FALSE(speculates("ticket"));
  EXPECT_TRUE(elides("htm-3-fb-aahtm") && speculates("htm-3-fb-aahtm"));
  EXPECT_TRUE(elides("hle-scm"));
  EXPECT_FALSE(elides("glibc-elision"));
}

TEST(Designs, TriesAreThoseOfTheNameOrTheDefault) {
  EXPECT_EQ(tries_of("htm-7"), 7u);
  EXPECT_EQ(tries_of("htm-7-fb-aahtm"), 7u);
  EXPECT_EQ(tries_of("hle-scm"), 10u);
}

TEST(Designs, ListsAreCheckedNameByName) {
  EXPECT_EQ(parse_designs("tatas,htm-3"), (std::vector<std::string>{"tatas", "htm-3"}));
  EXPECT_EQ(error_of([] { parse_designs("tatas,tickt"); }),
            "unknown lock design 'tickt'; the nearest is 'ticket'");
  EXPECT_EQ(error_of([] { parse_designs("tatas,tatas"); }), "lock design 'tatas' is named twice");
  EXPECT_EQ(error_of([] { parse_designs("tatas,,ticket"); }), "a lock design is missing in 'tatas,,ticket'");
  EXPECT_EQ(error_of([] { parse_designs("tatas,"); }), "a lock design is missing in 'tatas,'");
}

TEST(TmModes, AreToldApart) {
  EXPECT_TRUE(is_libitm("libitm") && is_libitm("libitm-gl_wt"));
  EXPECT_FALSE(is_libitm("ale") || is_libitm("serial"));
  EXPECT_TRUE(needs_hardware("ale-logged") && needs_hardware("hle"));
  EXPECT_FALSE(needs_hardware("serial") || needs_hardware("libitm"));
  for (const std::string& mode : default_tm_modes()) EXPECT_NO_THROW(require_tm_mode(mode)) << mode;
  EXPECT_EQ(default_tm_modes().front(), kLibitm);
}

TEST(TmModes, SetTheVariablesOfTheirLibrary) {
  const auto set = [](const std::string& mode, const std::string& retry) {
    std::vector<std::string> environment = {"ITM_DEFAULT_METHOD=gl_wt", "ELISION_TM_RETRY=hint"};
    set_tm_variables(environment, mode, retry);
    return environment;
  };
  EXPECT_EQ(variable(set("libitm", ""), "ITM_DEFAULT_METHOD"), "") << "it chooses itself";
  EXPECT_EQ(variable(set("libitm-ml_wt", ""), "ITM_DEFAULT_METHOD"), "ml_wt");
  EXPECT_EQ(variable(set("ale-logged", ""), "ELISION_TM"), "ale");
  EXPECT_EQ(variable(set("ale-logged", ""), "ELISION_TM_FAST_PATH"), "logged");
  EXPECT_EQ(variable(set("ale", ""), "ELISION_TM_FAST_PATH"), "two-speed");
  EXPECT_EQ(variable(set("ale", ""), "ELISION_TM_RETRY"), "patient");
  EXPECT_EQ(variable(set("ale", "hint"), "ELISION_TM_RETRY"), "hint");
}

TEST(TmModes, ListsAreCheckedNameByName) {
  EXPECT_EQ(parse_tm_modes("hle, ale"), (std::vector<std::string>{"hle", "ale"}));
  EXPECT_EQ(error_of([] { parse_tm_modes("ale,hel"); }),
            "unknown mode of transactional memory 'hel'; the nearest is 'hle'");
  EXPECT_EQ(error_of([] { parse_tm_modes("ale,ale"); }), "mode 'ale' is named twice");
  LockOptions lock;
  lock.tries = "3";
  EXPECT_EQ(error_of([&] { check_tm_modes({"ale"}, lock, ""); }),
            "--tries is for locks, and has no effect with --tm");
  EXPECT_EQ(error_of([] {
              check_tm_modes({"libitm", "serial"}, {}, "hint");
            }),
            "--tm-retry has no effect with --tm libitm,serial");
  EXPECT_NO_THROW(check_tm_modes({"libitm", "hle"}, {}, "hint"));
}

TEST(LockOptions, ValuesAreChecked) {
  LockOptions options;
  options.wait = "spinn";
  EXPECT_EQ(error_of([&] { check_lock_options(options); }),
            "unknown value for --wait 'spinn'; the nearest is 'spin'");
  options.wait = "spin";
  options.tries = "-1";
  EXPECT_EQ(error_of([&] { check_lock_options(options); }),
            "--tries: '-1' is not a whole number from 0 to 1000000");
  options.tries = "12";
  EXPECT_EQ(error_of([&] { check_lock_options(options); }), "no error");
}

TEST(LockOptions, DistancesMustMeet) {
  LockOptions options;
  options.min_dist = "5";
  EXPECT_EQ(error_of([&] { check_lock_options(options); }),
            "--min-dist 5 is not below --max-dist 4: no waiter is that far");
  options.max_dist = "6";
  EXPECT_EQ(error_of([&] { check_lock_options(options); }), "no error");
  options.min_dist = "";
  options.max_dist = "2";
  EXPECT_EQ(error_of([&] { check_lock_options(options); }),
            "--min-dist 2 is not below --max-dist 2: no waiter is that far");
}

/// A variable of our environment, for one test.
class Inherited {
 public:
  Inherited(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Inherited() { unsetenv(name_); }
  Inherited(const Inherited&) = delete;
  Inherited& operator=(const Inherited&) = delete;

 private:
  const char* name_;
};

TEST(LockOptions, OptionsAreCheckedBesideTheEnvironment) {
  LockOptions options;
  options.min_dist = "5";
  {
    const Inherited far("ELISION_MAX_DIST", "8");
    EXPECT_EQ(error_of([&] { check_lock_options(options); }), "no error");
    options.max_dist = "4";
    EXPECT_EQ(error_of([&] { check_lock_options(options); }),
              "--min-dist 5 is not below --max-dist 4: no waiter is that far")
        << "the option counts";
    options.max_dist = "";
  }
  {
    const Inherited near("ELISION_MAX_DIST", "3");
    EXPECT_EQ(error_of([&] { check_lock_options(options); }),
              "--min-dist 5 is not below ELISION_MAX_DIST=3: no waiter is that far");
    options.min_dist = "";
  }
  const Inherited alone("ELISION_MIN_DIST", "9");
  EXPECT_EQ(error_of([&] { check_lock_options(options); }), "no error") << "no option was given";
  options.max_dist = "5";
  const Inherited invalid("ELISION_MIN_DIST", "x");
  EXPECT_EQ(error_of([&] { check_lock_options(options); }), "no error") << "the library takes the default";
}

TEST(LockOptions, BusyAndWaitMayComeFromTheEnvironment) {
  LockOptions options;
  options.busy_counts = true;
  const Inherited busy("ELISION_BUSY", "inside"), wait("ELISION_WAIT", "spin");
  EXPECT_EQ(error_of([&] { check_lock_options(options); }), "no error");
  options.condition = "glibc";
  EXPECT_EQ(without_effect(options, {"htm-1"}).size(), 1u);
  options.wait = "park";
  EXPECT_EQ(without_effect(options, {"htm-1"}).size(), 0u) << "the option counts";
}

TEST(LockOptions, BusyCountsNeedsTheLoopInside) {
  LockOptions options;
  options.busy_counts = true;
  EXPECT_EQ(error_of([&] { check_lock_options(options); }),
            "--busy-counts has no effect without --busy inside");
  options.busy = "abort";
  EXPECT_EQ(error_of([&] { check_lock_options(options); }),
            "--busy-counts has no effect without --busy inside");
  options.busy = "inside";
  EXPECT_EQ(error_of([&] { check_lock_options(options); }), "no error");
}

TEST(LockOptions, OnlyWhatWasAskedForIsSet) {
  LockOptions options;
  options.busy = "inside";
  options.rtm_always_abort = true;
  const Variables expected = {
      {"ELISION_LOCK", "htm-1"}, {"ELISION_BUSY", "inside"}, {"ELISION_RTM_ALWAYS_ABORT", "1"}};
  EXPECT_EQ(lock_variables("htm-1", options), expected);
}

TEST(LockOptions, OptionsThatNoDesignReadsAreNamed) {
  using Notes = std::vector<std::string>;
  LockOptions options;
  options.busy = "inside";
  EXPECT_EQ(without_effect(options, {"pthread", "tatas", "htm-3"}), Notes{});
  EXPECT_EQ(without_effect(options, {"hle-scm"}), Notes{});
  EXPECT_EQ(without_effect(options, {"pthread", "ttstle"}),
            Notes{"--busy changes nothing for pthread, ttstle: it is for htm-N, htm-N-fb-aahtm and hle-scm"});
  options = LockOptions();
  options.max_dist = "3", options.max_specs = "2", options.scm_tries = "1";
  EXPECT_EQ(without_effect(options, {"ticket-aahtm", "tatas-pri-aahtm", "hle-scm"}), Notes{});
  EXPECT_EQ(without_effect(options, {"tatas-aahtm"}),
            (Notes{"--max-dist changes nothing for tatas-aahtm: it is for ticket-aahtm",
                   "--max-specs changes nothing for tatas-aahtm: it is for tatas-pri-aahtm",
                   "--scm-tries changes nothing for tatas-aahtm: it is for hle-scm"}));
  options = LockOptions();
  options.rtm_always_abort = true;
  EXPECT_EQ(without_effect(options, {"htm-2-fb-aahtm"}), Notes{});
  EXPECT_EQ(without_effect(options, {"htm-2"}).size(), 1u);
}

TEST(LockOptions, IneffectiveOptionsAreNamed) {
  using Notes = std::vector<std::string>;
  LockOptions options;
  EXPECT_EQ(without_effect(options, {"pthread", "tatas"}), Notes{});
  options.rwlock = "shared";
  options.condition = "busy";
  EXPECT_EQ(without_effect(options, {"pthread", "tatas", "ticket"}), Notes{});
  options.rwlock = "exclusive";
  EXPECT_EQ(without_effect(options, {"tatas", "htm-10", "ticket-aahtm"}), Notes{});
  EXPECT_EQ(without_effect(options, {"pthread", "tatas", "pthread-aahtm"}),
            Notes{"--rwlock exclusive changes nothing for pthread, pthread-aahtm, whose reader-writer locks "
                  "are the C library's"});
  options.rwlock = "";
  options.condition = "aware";
  EXPECT_EQ(without_effect(options, {"ticket", "pthread-aahtm"}), Notes{});
  EXPECT_EQ(
      without_effect(options, {"pthread", "htm-10", "glibc-elision"}),
      Notes{
          "--condition aware changes nothing for pthread, glibc-elision, whose mutexes are the C library's"});
  options.condition = "glibc";
  EXPECT_EQ(
      without_effect(options, {"pthread", "htm-10", "ticket-aahtm"}),
      Notes{"--condition glibc changes nothing for ticket-aahtm, whose mutexes the C library's condition "
            "variables cannot take"});
  options.wait = "spin";
  EXPECT_EQ(
      without_effect(options, {"pthread-aahtm", "htm-10", "tatas"}),
      Notes{"--condition glibc changes nothing for htm-10, tatas, whose mutexes the C library's condition "
            "variables cannot take"});
}

/// Every option with a value of its own.
LockOptions all_lock_options() {
  return {.wait = "spin",
          .busy = "inside",
          .retry = "back-off",
          .speculation = "abort-at-unlock",
          .tries = "1",
          .max_dist = "2",
          .min_dist = "3",
          .max_specs = "4",
          .pauses = "6",
          .scm_tries = "5",
          .rwlock = "exclusive",
          .condition = "aware",
          .busy_counts = true,
          .subscribe = true,
          .rtm_always_abort = true};
}

const std::vector<std::string> kAllLockWords = {"--wait",
                                                "spin",
                                                "--busy",
                                                "inside",
                                                "--retry",
                                                "back-off",
                                                "--speculation",
                                                "abort-at-unlock",
                                                "--tries",
                                                "1",
                                                "--max-dist",
                                                "2",
                                                "--min-dist",
                                                "3",
                                                "--max-specs",
                                                "4",
                                                "--pauses",
                                                "6",
                                                "--scm-tries",
                                                "5",
                                                "--rwlock",
                                                "exclusive",
                                                "--condition",
                                                "aware",
                                                "--busy-counts",
                                                "--subscribe",
                                                "--rtm-always-abort"};

const Variables kAllLockVariables = {{"ELISION_LOCK", "d"},
                                     {"ELISION_WAIT", "spin"},
                                     {"ELISION_BUSY", "inside"},
                                     {"ELISION_RETRY", "back-off"},
                                     {"ELISION_SPECULATION", "abort-at-unlock"},
                                     {"ELISION_TRIES", "1"},
                                     {"ELISION_MAX_DIST", "2"},
                                     {"ELISION_MIN_DIST", "3"},
                                     {"ELISION_MAX_SPECS", "4"},
                                     {"ELISION_PAUSES", "6"},
                                     {"ELISION_SCM_TRIES", "5"},
                                     {"ELISION_RWLOCK", "exclusive"},
                                     {"ELISION_CONDITION", "aware"},
                                     {"ELISION_BUSY_COUNTS", "1"},
                                     {"ELISION_SUBSCRIBE", "1"},
                                     {"ELISION_RTM_ALWAYS_ABORT", "1"}};

TEST(LockOptions, EveryOptionHasVariableAndWord) {
  EXPECT_EQ(lock_variables("d", all_lock_options()), kAllLockVariables);
  EXPECT_EQ(as_words(all_lock_options()), kAllLockWords);
}

TEST(LockOptions, EveryWordIsParsed) {
  LockOptions parsed;
  const auto app = make_app("elision x", "x");
  add_lock_options(*app, parsed);
  parse_options(*app, kAllLockWords);
  EXPECT_EQ(lock_variables("d", parsed), kAllLockVariables);
}

TEST(LockOptions, GlibcElisionKeepsOtherTunables) {
  std::vector<std::string> none, others = {"GLIBC_TUNABLES=glibc.malloc.check=3"}, ours = {"A=1"};
  set_lock_variables(none, "glibc-elision", {});
  set_lock_variables(others, "glibc-elision", {});
  set_lock_variables(ours, "htm-10", {});
  EXPECT_EQ(variable(none, "GLIBC_TUNABLES"), "glibc.elision.enable=1");
  EXPECT_EQ(variable(others, "GLIBC_TUNABLES"), "glibc.malloc.check=3:glibc.elision.enable=1");
  EXPECT_EQ(variable(ours, "GLIBC_TUNABLES"), "");
  EXPECT_EQ(variable(ours, "ELISION_LOCK"), "htm-10");
}

TEST(Environment, PreloadGoesInFrontOnce) {
  std::vector<std::string> environment = {"A=1", "LD_PRELOAD=/x.so"};
  prepend_preload(environment, "/e.so");
  EXPECT_EQ(variable(environment, "LD_PRELOAD"), "/e.so:/x.so");
  prepend_preload(environment, "/e.so");
  EXPECT_EQ(variable(environment, "LD_PRELOAD"), "/e.so:/x.so");
  std::vector<std::string> empty;
  prepend_preload(empty, "/e.so");
  EXPECT_EQ(variable(empty, "LD_PRELOAD"), "/e.so");
}

TEST(Environment, SettingReplaces) {
  std::vector<std::string> environment = {"AB=1", "A=2"};
  set_variable(environment, "A", "3");
  EXPECT_EQ(environment, (std::vector<std::string>{"AB=1", "A=3"}));
}

}  // namespace
}  // namespace elision::cli
