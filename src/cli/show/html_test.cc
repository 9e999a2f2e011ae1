// SPDX-License-Identifier: Apache-2.0
#include "cli/show/html.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace elision::cli {
namespace {

using nlohmann::json;

constexpr std::string_view kBefore = R"(<p>a</p><script type="application/json" id="report">)";
constexpr std::string_view kAfter = "</script><script>run()</script>";

// The report's element in `page`, as a browser finds its end.
std::string element_of(const std::string& page) {
  const std::size_t begin = kBefore.size();
  return page.substr(begin, page.find("</script", begin) - begin);
}

std::string page_with(const json& report) {
  return html_page(std::string(kBefore) + std::string(kAfter), report);
}

TEST(HtmlPage, KeepsThePageAroundTheReport) {
  const std::string page = page_with({{"program", "prog"}});
  EXPECT_EQ(page, std::string(kBefore) + R"({"program":"prog"})" + std::string(kAfter));
}

TEST(HtmlPage, NameThatLooksLikeMarkupStaysText) {
  const json report = {{"program", "</script><script>alert(1)</script><!--<script>"}, {"quotes", "\"'&\\"}};
  const std::string page = page_with(report);
  EXPECT_EQ(json::parse(element_of(page)), report);
  EXPECT_TRUE(page.ends_with(kAfter));
  EXPECT_EQ(element_of(page).find('<'), std::string::npos);
}

TEST(HtmlPage, InvalidUtf8IsReplaced) {
  const json report = json::parse(element_of(page_with({{"program", "caf\xe9 \xff"}})));
  EXPECT_EQ(report["program"], "caf\uFFFD \uFFFD");
}

TEST(HtmlPage, PageWithoutAPlaceIsAnError) { EXPECT_THROW(html_page("<p>a</p>", {}), std::logic_error); }

TEST(ViewerPage, TakesAReportAndAsksForNothingElse) {
  const std::string page = html_page(viewer_page(), {{"program", "a name of its own"}});
  EXPECT_NE(page.find("a name of its own"), std::string::npos);
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(page.find("<script src"), std::string::npos);
  EXPECT_EQ(page.find("<link rel=\"stylesheet"), std::string::npos);
}

}  // namespace
}  // namespace elision::cli
