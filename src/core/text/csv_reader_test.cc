#include "core/text/csv_reader.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/golden_testing.h"

namespace etprof {
namespace {

using Records = std::vector<std::vector<std::string>>;

Records Read(const std::string& text) {
  CsvReader reader(text, "a.csv");
  Records records;
  std::vector<std::string_view> fields;
  while (reader.Next(fields)) records.emplace_back(fields.begin(), fields.end());
  return records;
}

std::string CsvProblem(const std::string& text) {
  try {
    Read(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kBadInput);
    return error.Message();
  }
  return "";
}

TEST(CsvReader, ReadsPlainAndQuotedFields) {
  EXPECT_EQ(Read("a,b\n1,\n"), (Records{{"a", "b"}, {"1", ""}}));
  EXPECT_EQ(Read("\xef\xbb\xbf"
                 "a,b\r\n\"x, \"\"y\"\"\",\"line\nbreak\"\r\n"),
            (Records{{"a", "b"}, {"x, \"y\"", "line\nbreak"}}));
  EXPECT_EQ(Read("\"\"\"\"\n"), (Records{{"\""}}));
  EXPECT_EQ(Read(""), Records());
}

TEST(CsvReader, NamesTheLineOfAProblem) {
  ExpectGoldenMessages("core/csv_problems", CsvProblem,
                       {"a,b\n1,2\n3\n", "a,b\n\"x\ny\",2\n1,2,3\n", "a,b\n1,2", "a,b\n1,\"2\n\n\n",
                        "a,b\n1,2\"3\n", "a,b\n1,\"2\"3\n", "a,b\r1,2\n", "a,b\n\n"});
}

TEST(CsvReader, RefusesEveryTruncatedLine) {
  const std::string text = "a,b\n\"x\"\"\",1\ny,2\n";
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::string cut = text.substr(0, size);
    if (cut.empty() || cut.ends_with("\n")) {
      EXPECT_EQ(CsvProblem(cut), "") << cut;  // whole lines
    } else {
      EXPECT_NE(CsvProblem(cut), "") << cut;
    }
  }
}

}  // namespace
}  // namespace etprof
