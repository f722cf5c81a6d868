#include "format/program/source/export_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

namespace etprof {
namespace {

SourceMap ReadNotes(const std::string& text) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "net.pte.json";
  std::ofstream(file) << text;
  SourceMap sources;
  AddExportNotes(file, sources);
  return sources;
}

TEST(ExportNotes, AreNamesAndHintsOfEachMethod) {
  const SourceMap sources = ReadNotes(
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

TEST(ExportNotes, AreEmptyForAnotherFile) {
  for (const char* const text :
       {"", "{", "[]", R"json({"methods": 3})json", R"json({"hints": {"forward": 1}})json"})
    EXPECT_TRUE(ReadNotes(text).methods.empty()) << text;
  const SourceMap malformed = ReadNotes(
      R"json({"methods": {"forward": {"input_names": 3}},
              "hints": {"forward": [3, {"debug_handles": [-1, "x"]}]}})json");
  EXPECT_TRUE(malformed.methods.at("forward").inputs.empty());
  EXPECT_EQ(malformed.methods.at("forward").FindHint({1}), nullptr);
  SourceMap sources;
  AddExportNotes("no/such/file", sources);
  EXPECT_TRUE(sources.methods.empty());
}

CheckedSqnr ReadSqnr(const std::string& outputs, const char* sha256 = "a1", const char* method = "forward") {
  const std::filesystem::path pte = std::filesystem::path(testing::TempDir()) / "checked.pte";
  std::ofstream(pte.string() + ".json")
      << R"({"files": {"net.pte": {"bytes": 3, "sha256": "a1"}}, "check": {"verdict": "pass", "cases": [)"
      << R"({"method": "forward", "inputs": "example", "outputs": )" << outputs << "},"
      << R"({"method": "forward", "inputs": "held-out 1", "outputs": [{"max_abs_diff": 0.1, "sqnr_db": 31}]},)"
      << R"({"method": "other", "inputs": "example", "outputs": [{"max_abs_diff": 1, "sqnr_db": 7}]}]}})";
  return ReadCheckedSqnr(pte, sha256, method);
}

TEST(CheckedSqnr, IsTheLowestOfTheOutputsByInputs) {
  using testing::ElementsAre, testing::Pair;
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const char* const two_outputs =
      R"([{"max_abs_diff": 0.2, "sqnr_db": 40.5}, {"max_abs_diff": 0.3, "sqnr_db": 35.25}])";
  EXPECT_THAT(ReadSqnr(two_outputs), ElementsAre(Pair("example", 35.25), Pair("held-out 1", 31)));
  EXPECT_THAT(ReadSqnr(two_outputs, "a1", "other"), ElementsAre(Pair("example", 7)));
  EXPECT_THAT(ReadSqnr(two_outputs, "b2"), ElementsAre()) << "another program's";
  EXPECT_THAT(ReadSqnr(two_outputs, "a1", "third"), ElementsAre());
  EXPECT_EQ(ReadSqnr(R"([{"max_abs_diff": 0, "sqnr_db": null}])").at("example"), kInfinite);
  // Integers have no ratio. An output that differs without a ratio, or was not compared, makes the ratio
  // unknown.
  EXPECT_EQ(ReadSqnr(R"([{"differing": 0}, {"max_abs_diff": 0.2, "sqnr_db": 40}])").at("example"), 40);
  for (const char* const unknown_outputs :
       {"[]", "3", R"([{"differing": 0}])", R"([{"max_abs_diff": 0.2, "sqnr_db": null}])",
        R"([{"max_abs_diff": 1, "sqnr_db": 40, "problem": "a list instead of a Tensor"}])",
        R"([{"max_abs_diff": 1, "sqnr_db": 40, "nonfinite_mismatches": 2}])"})
    EXPECT_THAT(ReadSqnr(unknown_outputs), ElementsAre(Pair("held-out 1", 31))) << unknown_outputs;
  EXPECT_TRUE(ReadCheckedSqnr("no/such/file", "a1", "forward").empty());
}

TEST(ReadKeepPatterns, ReadsThePatternsOfTheManifest) {
  const std::filesystem::path pte = std::filesystem::path(testing::TempDir()) / "kept.pte";
  const auto write = [&](const char* text) { std::ofstream(pte.string() + ".json") << text; };
  write(R"({"kept": ["add", "*.attention"]})");
  EXPECT_THAT(ReadKeepPatterns(pte), testing::ElementsAre("add", "*.attention"));
  for (const char* const invalid_manifest : {R"({"kept": []})", R"({"kept": 3})", "{}", "[", ""}) {
    write(invalid_manifest);
    EXPECT_THAT(ReadKeepPatterns(pte), testing::ElementsAre()) << invalid_manifest;
  }
  EXPECT_THAT(ReadKeepPatterns("no/such/file"), testing::ElementsAre());
}

}  // namespace
}  // namespace etprof
