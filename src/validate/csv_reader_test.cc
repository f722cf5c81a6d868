#include "validate/csv_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "render/csv.h"

namespace etprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Read {
  std::vector<std::vector<std::string>> records;
  std::vector<std::uint64_t> lines;
  std::optional<CsvProblem> problem;
};

Read All(const std::string& text) {
  Read read;
  read.problem = ReadCsv(text, [&](std::uint64_t line, const std::vector<std::string>& fields) {
    read.lines.push_back(line);
    read.records.push_back(fields);
  });
  return read;
}

TEST(ReadCsv, ReadsQuotesCommasAndLineBreaks) {
  const Read read = All("a,b\n\"x,\"\"y\"\"\",\"two\nlines\"\r\n,\n");
  EXPECT_FALSE(read.problem.has_value());
  EXPECT_THAT(read.records,
              ElementsAre(ElementsAre("a", "b"), ElementsAre("x,\"y\"", "two\nlines"), ElementsAre("", "")));
  EXPECT_THAT(read.lines, ElementsAre(1, 2, 4));
}

TEST(ReadCsv, ReadsBackWhatIsWritten) {
  for (const std::string text : {"", "plain", "a,b", "\"", "\"\"", "line\nbreak", "\r", "caf\xc3\xa9"}) {
    const Read read = All("name,other\n" + CsvField(text) + ",1\n");
    ASSERT_FALSE(read.problem.has_value()) << text;
    EXPECT_EQ(read.records[1][0], text);
  }
}

TEST(ReadCsv, SaysWhatIsWrongAndWhere) {
  const auto problem = [](const std::string& text) {
    const Read read = All(text);
    return read.problem ? std::to_string(read.problem->line) + ": " + read.problem->problem : "none";
  };
  EXPECT_EQ(problem("a,b\n1,2\n"), "none");
  EXPECT_THAT(problem(""), HasSubstr("1: has no header"));
  EXPECT_THAT(problem("a,b\n1,2\n1\n"), HasSubstr("3: 1 fields, the header has 2"));
  EXPECT_THAT(problem("a,b\n1,2,3\n"), HasSubstr("2: 3 fields"));
  EXPECT_THAT(problem("a,b\n1,2"), HasSubstr("2: the last line is cut short"));
  EXPECT_THAT(problem("a\n\"x\n"), HasSubstr("2: a quote is not closed"));
  EXPECT_THAT(problem("a\n\"x\"y\n"), HasSubstr("2: something stands after a closing quote"));
  EXPECT_THAT(problem("a\nx\"y\n"), HasSubstr("2: a quote stands inside a field"));
  EXPECT_THAT(problem("a\n\n"), HasSubstr("none"));  // one empty field
}

}  // namespace
}  // namespace etprof
