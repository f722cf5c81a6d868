#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

// Golden files of unit tests: tests/golden/unit/<name>.txt holds the whole text that a test makes, such as a
// screen or the messages of a list of bad inputs. GOLDEN_UPDATE=1 writes the files anew; read their
// difference before you keep it.
namespace etprof {

// Expects that `text` equals the golden file. `name` is a name for one test only.
inline void ExpectGolden(std::string_view name, const std::string& text) {
  const std::string file = std::string(ETPROF_TEST_DATA "/../golden/unit/").append(name) + ".txt";
  if (std::getenv("GOLDEN_UPDATE") != nullptr) {
    std::ofstream(file) << text;
    return;
  }
  std::ostringstream golden;
  golden << std::ifstream(file).rdbuf();
  EXPECT_EQ(golden.str(), text) << "in " << file << "; GOLDEN_UPDATE=1 rewrites it: read the difference";
}

// A part of a golden text that shows several states of a screen: the text of one state below its headline.
inline std::string GoldenState(std::string_view state, const std::string& text) {
  return std::string("== ").append(state) + " ==\n" + text + (text.ends_with('\n') ? "" : "\n");
}

}  // namespace etprof
