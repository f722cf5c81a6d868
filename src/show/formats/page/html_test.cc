#include <gtest/gtest.h>

#include <sstream>

#include "report/example_run.h"
#include "show/formats/formats_testing.h"
#include "show/formats/report.h"
#include "show/wording.h"

namespace etprof {
namespace {

std::size_t CountOccurrences(const std::string& part, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string RenderHtmlPage(const std::string& title, const std::string& method = "forward") {
  Report report = example::MakePairReport();
  report.title = title;
  report.run.method = method;
  return read::RenderToString(RenderHtml, report);
}

TEST(Html, ContainsTheReportOnceBeforeTheScript) {
  const std::string page = RenderHtmlPage("");
  for (const char* const element : {"id=\"etprof-report\">", "id=\"etprof-document\">"})
    EXPECT_EQ(CountOccurrences(element, page), 1U) << element;
  EXPECT_LT(page.find("id=\"etprof-report\">"), page.find("<div id=\"app\">"));
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
}

TEST(Html, TitleIsAnEscapedAttribute) {
  EXPECT_EQ(RenderHtmlPage("").find("data-title"), std::string::npos);
  const std::string page = RenderHtmlPage("a \"b\" <script> & \x1b[31m");
  EXPECT_NE(page.find("data-title=\"a &quot;b&quot; &lt;script> &amp; \\x1b[31m\">"), std::string::npos);
}

TEST(Html, TitleNamesTheMethodUnlessItIsForward) {
  const std::string name = ModelText(example::MakePairReport()) + ", method decode";
  EXPECT_NE(RenderHtmlPage("", "decode").find(" data-name=\"" + name + "\">"), std::string::npos);
}

TEST(Html, ReadTitleReturnsTheGivenTitle) {
  for (const std::string method : {"forward", "decode"}) {
    for (const std::string title : {"", "a title", "a \"b\" <script> & &lt; &amp;quot;", ">"}) {
      std::istringstream page(RenderHtmlPage(title, method));
      EXPECT_EQ(ReadTitle(page), title) << method;
    }
  }
}

}  // namespace
}  // namespace etprof
