#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "core/error.h"
#include "core/file/file.h"
#include "validate/difference.h"

namespace etprof {
namespace {

TEST(FirstDifferentLine, ReturnsTheFirstDifferentLine) {
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / ("etprof_same_text_" + std::to_string(::getpid()));
  WriteFileAtomically(file, std::string("one\ntwo\nthree\n"));
  const auto line = [&](const std::string& text) {
    return FirstDifferentLine(file, [&](std::ostream& out) {
      for (const char c : text) out << c;  // one write per character
    });
  };
  EXPECT_EQ(line("one\ntwo\nthree\n"), std::nullopt);
  EXPECT_EQ(line("One\ntwo\nthree\n"), 1U);
  EXPECT_EQ(line("one\ntwo\nthrEe\n"), 3U);
  EXPECT_EQ(line("one\ntwo\n"), 3U);               // the file is longer
  EXPECT_EQ(line("one\ntwo\nthree\nfour\n"), 4U);  // the text is longer
  EXPECT_EQ(line(""), 1U);
  EXPECT_EQ(line("one\nX\nthree\none\ntwo\nthree\n"), 2U);  // the comparison does not resynchronize
  std::filesystem::remove(file);
  EXPECT_THROW(line(""), Error);
}

}  // namespace
}  // namespace etprof
