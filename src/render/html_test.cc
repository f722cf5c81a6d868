#include "render/html.h"

#include <gtest/gtest.h>

#include <sstream>

#include "report/example_run.h"

namespace etprof {
namespace {

std::size_t CountOf(const std::string& part, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string Page(const std::string& title) {
  Report report = example::MakeBare();
  report.title = title;
  std::ostringstream out;
  RenderHtml(report, out);
  return out.str();
}

TEST(Html, HoldsTheReportOnceBeforeWhatDrawsIt) {
  const std::string page = Page("");
  EXPECT_EQ(CountOf("id=\"etprof-report\">", page), 1U);
  EXPECT_LT(page.find("id=\"etprof-report\">"), page.find("<div id=\"app\">"));
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
}

TEST(Html, ATitleIsAnAttributeAndEndsNone) {
  EXPECT_EQ(Page("").find("data-title"), std::string::npos);
  const std::string page = Page("a \"b\" <script> & \x1b[31m");
  EXPECT_NE(page.find("data-title=\"a &quot;b&quot; &lt;script> &amp; \\x1b[31m\">"), std::string::npos);
}

TEST(Html, OfAMethodThatMustBeToldTheTitleNamesIt) {
  Report report = example::MakePair();
  report.run.method = "decode";
  std::ostringstream out;
  RenderHtml(report, out);
  EXPECT_NE(out.str().find(" data-title=\"" + report.model_id + ", method decode\">"), std::string::npos);
}

}  // namespace
}  // namespace etprof
