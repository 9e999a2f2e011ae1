// SPDX-License-Identifier: Apache-2.0
// From options to data, and characters with a meaning of their own in each format. Whether shells and man
// understand the formats is tested with them (tests/installation).
#include <gtest/gtest.h>

#include "cli/options/arguments.h"
#include "cli/texts/completions.h"
#include "cli/texts/manual.h"
#include "cli/texts/manual_words.h"
#include "cli/texts/walk.h"

namespace elision::cli {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Value, SmallLettersStandForThemselves) {
  const ValueText value = value_of("park|spin");
  EXPECT_EQ(value.words, (std::vector<std::string>{"park", "spin"}));
  EXPECT_FALSE(value.is_list || value.is_file || value.is_folder);
}

TEST(Value, CapitalsStandForWhatTheyName) {
  const ValueText machine = value_of("MACHINE|FILE|native");
  EXPECT_TRUE(machine.is_file);
  EXPECT_EQ(machine.words.back(), "native");
  EXPECT_EQ(std::count(machine.words.begin(), machine.words.end(), "xeon-e5-2697v4"), 1);
  EXPECT_TRUE(value_of("FOLDER").is_folder);
  EXPECT_TRUE(value_of("NUMBER").words.empty());
}

TEST(Value, ListOfDesignsHasANumberInPlaceOfN) {
  const ValueText designs = value_of("DESIGN,...");
  EXPECT_TRUE(designs.is_list);
  for (const char* name : {"pthread", "htm-1", "htm-10", "htm-10-fb-aahtm"})
    EXPECT_EQ(std::count(designs.words.begin(), designs.words.end(), name), 1) << name;
}

TEST(Options, NamesValuesAndConditionsAreThoseOfTheApp) {
  std::string text;
  bool flag = false;
  const auto app = make_app("elision x [FILE]", "Does x.");
  app->add_option("file", text, "what to read")->type_name("FILE");
  CLI::Option* one = app->add_option("--one", text, "one")->type_name("NUMBER");
  app->add_flag("--two", flag, "two")->excludes(one);
  const std::vector<OptionText> options = options_of(*app);
  ASSERT_EQ(options.size(), 4);
  EXPECT_EQ(options[0].short_name, "-h");
  EXPECT_EQ(options[0].name, "--help");
  EXPECT_TRUE(options[1].is_positional && options[1].value.is_file);
  EXPECT_EQ(options[2].name, "--one");
  EXPECT_EQ(options[2].condition, "not with --two");
  EXPECT_EQ(options[3].value.name, "");
}

TEST(Options, EveryValueOfTheCommandHasANameOfItsOwn) {
  for (const VerbText& verb : texts_of_command("1.2.3", "2026-01-31").verbs) {
    for (const OptionText& option : verb.options) {
      const std::string& name = option.value.name;
      for (const char* nameless : {"TEXT", "INT", "FLOAT", ":"})
        EXPECT_FALSE(contains(name, nameless))
            << verb.name << " " << option.name << " has the value " << name;
    }
  }
}

TEST(ManualWords, VerbWithoutWordsIsRefused) { EXPECT_THROW(manual_words("no-verb"), std::logic_error); }

// One verb whose words have characters that are special in every format.
CommandTexts special_texts() {
  VerbText verb;
  verb.name = "go";
  verb.summary = "it's [a]: `$verb` \\1";
  verb.usage = "elision go [OPTION...] -- PROGRAM ARG...";
  verb.description = "'quoted' at the start\n.dotted";
  verb.options.push_back({.name = "--how",
                          .short_name = "",
                          .value = value_of("fast|slow"),
                          .help = "it's [how]: 50\\50",
                          .condition = "not with --why"});
  verb.takes_program = true;
  CommandTexts texts{.version = "1.2.3", .date = "2026-01-31", .verbs = {verb}, .manual = {}};
  texts.manual.paragraphs = {"All."};
  return texts;
}

TEST(Manual, HyphensBackslashesAndControlLinesAreEscaped) {
  const CommandTexts texts = special_texts();
  const std::string page = manual_of_verb(texts, texts.verbs.front());
  EXPECT_TRUE(contains(page, ".TH ELISION-GO 1 2026-01-31 \"elision 1.2.3\""));
  EXPECT_TRUE(contains(page, "\n\\&'quoted' at the start\n\\&.dotted\n"));
  EXPECT_TRUE(contains(
      page, ".TP\n\\fB\\-\\-how\\fR \\fBfast\\fR|\\fBslow\\fR\nit's [how]: 50\\e50; not with \\-\\-why\n"));
  EXPECT_TRUE(contains(
      page, "\\fBelision\\fR \\fBgo\\fR [\\fIOPTION\\fR...] \\fB\\-\\-\\fR \\fIPROGRAM\\fR \\fIARG\\fR..."));
}

TEST(Completions, QuotesAreEscapedAsEachShellWantsIt) {
  const CommandTexts texts = special_texts();
  EXPECT_TRUE(contains(bash_completion(texts), "    'go --how') _elision_words 'fast' 'slow' ;;\n"));
  EXPECT_TRUE(
      contains(zsh_completion(texts), "'--how=[it'\\''s \\[how\\]\\: 50\\\\50]:fast|slow:(fast slow)'"));
  EXPECT_TRUE(contains(fish_completion(texts), "-l how -x -a 'fast slow' -d 'it\\'s [how]: 50\\\\50'"));
}

}  // namespace
}  // namespace elision::cli
