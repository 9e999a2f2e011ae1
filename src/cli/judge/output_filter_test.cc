// SPDX-License-Identifier: Apache-2.0
// What counts as "printed something else", as a table of outputs.
#include "cli/judge/output_filter.h"

#include <gtest/gtest.h>

#include <ostream>

namespace elision::cli::experiment {
namespace {

struct Case {
  const char* name;
  std::vector<std::string> references;
  std::string output;
  bool same;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class OutputFilterCases : public ::testing::TestWithParam<Case> {};

TEST_P(OutputFilterCases, Judged) {
  const Case& c = GetParam();
  EXPECT_EQ(!OutputFilter(c.references, false).difference(c.output).has_value(), c.same);
}

INSTANTIATE_TEST_SUITE_P(
    Table, OutputFilterCases,
    ::testing::Values(Case{"Identical", {"total 400\n", "total 400\n"}, "total 400\n", true},
                      Case{"StableNumberDiffers", {"total 400\n", "total 400\n"}, "total 399\n", false},
                      Case{"VaryingNumberDiffers", {"rate 410\n", "rate 400\n"}, "rate 399\n", true},
                      Case{"VaryingNumberButOtherWords", {"rate 410\n", "rate 400\n"}, "lost 399\n", false},
                      Case{"MeasurementDiffers", {"took 0.10 s\n", "took 0.10 s\n"}, "took 12.25 s\n", true},
                      Case{"AddressDiffers", {"at 0x7f00\n", "at 0x7f00\n"}, "at 0x55deadbeef\n", true},
                      Case{"ColumnsShift", {"n   9.5 s\n", "n   9.5 s\n"}, "n  10.5 s\n", true},
                      Case{"LineMissing", {"a\nb\n", "a\nb\n"}, "a\n", false},
                      Case{"LineCountVaries", {"a\nb\n", "a\n"}, "c\n", true},
                      Case{"FreeLineAndFixedLine", {"x\nsum 5\n", "y\nsum 5\n"}, "z\nsum 5\n", true},
                      Case{"FreeLineAndBrokenFixedLine", {"x\nsum 5\n", "y\nsum 5\n"}, "z\nsum 6\n", false},
                      Case{"OneReferenceMasksNumbers", {"total 400\n"}, "total 399\n", true},
                      Case{"OneReferenceStillComparesWords", {"total 400\n"}, "error 400\n", false},
                      Case{"Nothing", {"", ""}, "", true}, Case{"NothingExpected", {"", ""}, "x\n", false}),
    [](const auto& info) { return info.param.name; });

TEST(OutputFilter, SaysWhichLineDiffers) {
  const OutputFilter filter({"ok\ntotal 400\n", "ok\ntotal 400\n"}, false);
  EXPECT_EQ(filter.difference("ok\ntotal 399\n"), "line 2 is 'total 399' instead of 'total 400'");
}

TEST(OutputFilter, ShowsWhereLongLinesDiffer) {
  const std::string same(60, 'a');
  const OutputFilter filter({same + "b" + same + "\n", same + "b" + same + "\n"}, false);
  const std::string before = "'..." + std::string(10, 'a'), behind = std::string(29, 'a') + "...'";
  EXPECT_EQ(filter.difference(same + "c" + same + "\n"),
            "line 1 is " + before + "c" + behind + " instead of " + before + "b" + behind);
}

TEST(OutputFilter, ProgramThatMeasuresItselfMayCountOtherNumbers) {
  const OutputFilter filter({"sections 400\n", "sections 400\n"}, true);
  EXPECT_EQ(filter.difference("sections 700\n"), std::nullopt);
  EXPECT_NE(filter.difference("sections 700\nLOST 1\n"), std::nullopt);
}

}  // namespace
}  // namespace elision::cli::experiment
