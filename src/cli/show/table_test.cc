// SPDX-License-Identifier: Apache-2.0
// One table in every format and width.
#include "cli/show/table.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/host/text_layout.h"
#include "cli/judge/comparison_for_test.h"
#include "cli/show/comparison_table.h"

namespace elision::cli::experiment {
namespace {

Appearance terminal(std::size_t width) {
  Appearance appearance;
  appearance.width = width;
  return appearance;
}

Table designs() {
  return {{{"design", true}, {"time"}, {"empty"}, {"commits"}, {"aborts", true}},
          {{{"pthread", "1.00 s", "-", "-", "-"}, "", Tone::kPlain},
           {{"htm-10", "500 ms", "-", "12.3k", "conflict 2500, lock-busy 170, capacity 19, other 3"},
            "",
            Tone::kGood},
           {{"tatas"}, "was killed by Segmentation fault", Tone::kBad}}};
}

TEST(TableText, ColumnsAreAsWideAsTheirContent) {
  EXPECT_EQ(table_text(designs(), {}),
            "  design     time  empty  commits  aborts\n"
            "  pthread  1.00 s      -        -  -\n"
            "* htm-10   500 ms      -    12.3k  conflict 2500, lock-busy 170, capacity 19, other 3\n"
            "  tatas    was killed by Segmentation fault\n");
}

TEST(TableText, LastColumnIsBrokenAndEmptyOnesLeftOut) {
  EXPECT_EQ(table_text(designs(), terminal(57)),
            "  design     time  commits  aborts\n"
            "  pthread  1.00 s        -  -\n"
            "* htm-10   500 ms    12.3k  conflict 2500, lock-busy 170,\n"
            "                            capacity 19, other 3\n"
            "  tatas    was killed by Segmentation fault\n");
}

TEST(TableText, ColumnsThatDoNotFitFollowBelow) {
  EXPECT_EQ(table_text(designs(), terminal(36)),
            "  design     time  commits\n"
            "  pthread  1.00 s        -\n"
            "* htm-10   500 ms    12.3k\n"
            "  tatas    was killed by\n"
            "           Segmentation fault\n"
            "  design   aborts\n"
            "  pthread  -\n"
            "* htm-10   conflict 2500, lock-busy\n"
            "           170, capacity 19, other 3\n");
}

TEST(TableText, EveryLineFits) {
  for (std::size_t width = 30; width < 120; ++width) {
    std::istringstream lines(table_text(designs(), terminal(width)));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), width) << line;
  }
}

TEST(TableText, NamesCountInColumns) {
  const Table table = {{{"name", true}, {"n"}},
                       {{{"\xe6\xbc\xa2\xe5\xad\x97", "1"}, "", {}}, {{"ab", "2"}, "", {}}}};
  EXPECT_EQ(table_text(table, {}), "  name  n\n  \xe6\xbc\xa2\xe5\xad\x97  1\n  ab    2\n");
}

TEST(TableText, LongNamesAreShortened) {
  const Table table = {{{"name", true}, {"n"}}, {{{std::string(100, 'x'), "1"}, "", {}}}};
  const std::string name = std::string(11, 'x') + ".." + std::string(11, 'x');
  EXPECT_EQ(table_text(table, terminal(60)), "  name" + std::string(20, ' ') + "  n\n  " + name + "  1\n");
}

TEST(TableText, ColoursMarkTheBestAndTheBroken) {
  Appearance appearance;
  appearance.colour = true;
  const std::string text = table_text(designs(), appearance);
  EXPECT_NE(text.find("\x1b[1;32m* htm-10\x1b[0m   500 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("  tatas    \x1b[31mwas killed by Segmentation fault\x1b[0m\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\n  pthread  1.00 s"), std::string::npos) << text;
}

TEST(TableText, ControlCharactersAreEscaped) {
  const Table table = {{{"name", true}, {"n"}}, {{{"a\x1b[2J\n", "1"}, "", {}}, {{"b"}, "\x1b[31m", {}}}};
  EXPECT_EQ(table_text(table, {}), "  name        n\n  a\\x1b[2J\\n  1\n  b           \\x1b[31m\n");
}

TEST(TableCsv, SpecialFieldsAreQuoted) {
  const Table table = {{{"name"}, {"value"}},
                       {{{"a,b", "1"}, "", {}},
                        {{"say \"x\"", "2"}, "", {}},
                        {{"two\nlines", "3"}, "", {}},
                        {{"bad\xff", "4"}, "", {}},
                        {{"short"}, "not written", {}}}};
  EXPECT_EQ(table_csv(table),
            "name,value\r\n\"a,b\",1\r\n\"say "
            "\"\"x\"\"\",2\r\n\"two\nlines\",3\r\nbad\xef\xbf\xbd,4\r\nshort,\r\n");
}

TEST(TableMarkdown, MarkupIsEscaped) {
  const Table table = {{{"name", true}, {"n"}},
                       {{{"a|b<i>\\`*_", "1"}, "", Tone::kGood}, {{"c"}, "was [x](y)\n", Tone::kBad}}};
  EXPECT_EQ(table_markdown(table),
            "| name | n |\n"
            "| --- | ---: |\n"
            "| **a\\|b\\<i\\>\\\\\\`\\*\\_** | 1 |\n"
            "| c | was \\[x\\](y)\\\\n |\n");
}

TEST(TableMarkdown, TextBeginsNoBlock) {
  EXPECT_EQ(markdown_escaped("# x"), "\\# x");
  EXPECT_EQ(markdown_escaped("12. x"), "12\\. x");
  EXPECT_EQ(markdown_escaped("- x"), "\\- x");
  EXPECT_EQ(markdown_escaped("-"), "-");
  EXPECT_EQ(markdown_escaped("1.23x"), "1\\.23x");
}

TEST_F(Comparison, ValuesAreExactAndHaveAColumnForEachCause) {
  Sample counted = timed(0.1234567890123);
  counted.locks.aborts = {{"conflict", 7}};
  add_times("pthread", {0.2, 0.2, 0.2});
  add("htm-10", {counted, counted, counted});
  add("a,\"b\"", {});
  plan_.not_run["a,\"b\""] = "why";
  Block shown = block();
  shown.rows[1].speedup = 1.5;
  shown.rows[1].interval = {1.5, 1.25, 1.75};
  EXPECT_EQ(
      table_csv(comparison_values(plan_, {shown})),
      "threads,design,state,best,remark,runs,result,result_low,result_high,speedup,speedup_low,"
      "speedup_high,cpu_seconds,"
      "acquisitions,commits,fallbacks,speculations,longest_wait_seconds,aborts_conflict\r\n"
      ",pthread,good,false,,3,0.2,0.2,0.2,1,1,1,0.4,,,,,,\r\n"
      ",htm-10,good,true,,3,0.1234567890123,0.1234567890123,0.1234567890123,1.5,1.25,1.75,0.2469135780246,"
      "10,0,0,,0,7\r\n"
      ",\"a,\"\"b\"\"\",not-run,false,why,,,,,,,,,,,,,,\r\n");
}

TEST_F(Comparison, AbortsOfSpeculationsAreValues) {
  Sample counted = timed(0.1);
  counted.locks.aborts = {{"conflict", 7}};
  add_times("pthread", {0.2, 0.2, 0.2});
  add("tatas-aahtm", {counted, counted, counted});
  const std::vector<TableRow> rows = comparison_values(plan_, {block()}).rows;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].cells.back(), "");
  EXPECT_EQ(rows[1].cells.back(), "7");
}

}  // namespace
}  // namespace elision::cli::experiment
