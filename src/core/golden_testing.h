#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/text.h"

// Golden files of unit tests: tests/golden/unit/<name>.txt (name: "<stage>/<subject>") holds the whole text
// that a test makes, such as a screen or the messages of a list of bad inputs. GOLDEN_UPDATE=1 writes the
// files anew; read their difference before you keep it.
namespace etprof {

// Expects that `text` equals the golden file. `name` is a name for one test only.
inline void ExpectGolden(std::string_view name, const std::string& text) {
  const std::string file = std::string(ETPROF_TEST_DATA "/../golden/unit/").append(name) + ".txt";
  if (std::getenv("GOLDEN_UPDATE") != nullptr) {
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text;
    return;
  }
  std::ostringstream golden;
  golden << std::ifstream(file).rdbuf();
  EXPECT_EQ(golden.str(), text) << "in " << file << "; GOLDEN_UPDATE=1 rewrites it: read the difference";
}

// Expects that the golden file has these lines.
inline void ExpectGolden(std::string_view name, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  ExpectGolden(name, text);
}

// Puts a headline above the text of a state, for golden texts that show several states of a screen.
inline std::string GoldenState(std::string_view state, const std::string& text) {
  return std::string("== ").append(state) + " ==\n" + text + (text.ends_with('\n') ? "" : "\n");
}

// The messages of a table of cases, such as bad inputs: pairs of a case's name and its message.
using CaseMessages = std::vector<std::pair<std::string, std::string>>;

// Calls `get_message` for each input. The inputs are also the names of the cases.
template <typename Function>
CaseMessages CollectMessages(Function get_message, const std::vector<std::string>& inputs) {
  CaseMessages messages;
  for (const std::string& input : inputs) messages.emplace_back(input, get_message(input));
  return messages;
}

// Expects that the golden file has a line "NAME: MESSAGE" for each case. Line breaks in NAME are escaped.
inline void ExpectGoldenMessages(std::string_view name, const CaseMessages& messages) {
  std::string text;
  for (const auto& [case_name, message] : messages)
    text += ReplaceAll(ReplaceAll(case_name, "\n", "\\n"), "\r", "\\r") + ": " + message + "\n";
  ExpectGolden(name, text);
}
template <typename Function>
void ExpectGoldenMessages(std::string_view name, Function get_message,
                          const std::vector<std::string>& inputs) {
  ExpectGoldenMessages(name, CollectMessages(get_message, inputs));
}

}  // namespace etprof
