#include "program/source/export_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace etprof {
namespace {

SourceMap ToNotes(const std::string& text) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "net.pte.json";
  std::ofstream(file) << text;
  SourceMap sources;
  AddExportNotes(file, sources);
  return sources;
}

TEST(ExportNotes, AreNamesAndHintsOfEachMethod) {
  const SourceMap sources = ToNotes(
      R"json({"methods": {"forward": {"input_names": ["x", ""], "output_names": ["logits"]}, "other": {}},
              "hints": {"forward": [{"text": "Use another", "place": "(net.py, line 3)", "operators": 2,
                                     "debug_handles": [7, 9]}]}})json");
  const MethodSources& forward = sources.methods.at("forward");
  EXPECT_THAT(forward.inputs, testing::ElementsAre("x", ""));
  EXPECT_THAT(forward.outputs, testing::ElementsAre("logits"));
  const ExportHint* const hint = forward.FindHint({3, 9});
  ASSERT_NE(hint, nullptr);
  EXPECT_EQ(hint->text + hint->place, "Use another(net.py, line 3)");
  EXPECT_EQ(hint->operators, 2U);
  EXPECT_EQ(forward.FindHint({3}), nullptr);
  EXPECT_TRUE(sources.methods.at("other").hints.empty());
}

TEST(ExportNotes, OfAnotherFileAreNone) {
  for (const char* const text :
       {"", "{", "[]", R"json({"methods": 3})json", R"json({"hints": {"forward": 1}})json"})
    EXPECT_TRUE(ToNotes(text).methods.empty()) << text;
  const SourceMap odd = ToNotes(
      R"json({"methods": {"forward": {"input_names": 3}},
              "hints": {"forward": [3, {"debug_handles": [-1, "x"]}]}})json");
  EXPECT_TRUE(odd.methods.at("forward").inputs.empty());
  EXPECT_EQ(odd.methods.at("forward").FindHint({1}), nullptr);
  SourceMap sources;
  AddExportNotes("no/such/file", sources);
  EXPECT_TRUE(sources.methods.empty());
}

}  // namespace
}  // namespace etprof
