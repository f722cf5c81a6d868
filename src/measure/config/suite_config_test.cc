#include "measure/config/suite_config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/error.h"
#include "core/file/file.h"
#include "core/golden_testing.h"

namespace etprof {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

SuiteConfig ParsedSuite(const std::string& text) { return ParseSuite(text, "nightly.json"); }

std::string SuiteProblem(const std::string& text) {
  try {
    ListCells(ParsedSuite(text));
  } catch (const Error& error) {
    return error.Message();
  }
  return "";
}

std::vector<std::string> CellNames(const SuiteConfig& suite) {
  std::vector<std::string> names;
  for (const SuiteCell& cell : ListCells(suite)) {
    std::string name = suite.models[cell.model].name + " " + cell.dtype + " " + cell.device;
    for (const std::string& variant : cell.variants) name += " " + variant;
    names.push_back(name);
  }
  return names;
}

constexpr const char* kFullSuite = R"({
  // Two models, two types, two devices.
  "models": ["toy_cnn", {"name": "net", "model": "nets.py:Net", "method": "decode"}],
  "dtypes": ["fp32", "int8"],
  "devices": ["local", "ssh:pi5"],
  "variants": ["isa=-avx2", "threads=2,label=two"],
  "exclude": [{"dtype": "int8", "device": "ssh:*"}, {"model": "net", "variant": ["two"]}],
  "max_minutes": 10, "max_slowdown": "2%"
})";

TEST(Suite, HasAllCombinationsExceptForExcludedOnes) {
  const SuiteConfig suite = ParsedSuite(kFullSuite);
  EXPECT_EQ(suite.output_root.filename(), "out_nightly");
  EXPECT_DOUBLE_EQ(suite.max_slowdown.value(), 0.02);
  EXPECT_EQ(suite.models[0].method, "forward");
  EXPECT_EQ(suite.models[1].method, "decode");
  EXPECT_THAT(CellNames(suite),
              ElementsAre("toy_cnn fp32 local isa=-avx2 threads=2,label=two",
                          "toy_cnn fp32 ssh:pi5 isa=-avx2 threads=2,label=two",
                          "toy_cnn int8 local isa=-avx2 threads=2,label=two", "net fp32 local isa=-avx2",
                          "net fp32 ssh:pi5 isa=-avx2", "net int8 local isa=-avx2"));
  EXPECT_TRUE(ListCells(suite)[1].folder.string().ends_with("out_nightly/runs/toy_cnn/fp32/ssh_pi5"));
}

TEST(Suite, HasOnlyIncludedCells) {
  SuiteConfig suite =
      ParsedSuite(R"({"models": ["a", "b"], "dtypes": ["fp32", "int8"], "variants": ["threads=2"],
    "include": [{"model": "a", "dtype": "fp32"}, {"model": "b", "variant": "threads*"}]})");
  EXPECT_THAT(CellNames(suite),
              ElementsAre("a fp32 local threads=2", "b fp32 local threads=2", "b int8 local threads=2"));
}

TEST(Suite, UsesExistingPrograms) {
  const SuiteConfig suite = ParsedSuite(
      R"({"models": ["x/net_xnnpack_fp32.pte", {"name": "two", "programs": {"int8": "a.pte"}}]})");
  EXPECT_TRUE(suite.models[0].source.empty());
  EXPECT_EQ(suite.models[0].programs.at("").filename(), "net_xnnpack_fp32.pte");
  EXPECT_THAT(CellNames(suite), ElementsAre("net_xnnpack_fp32  local", "two int8 local"));
}

TEST(Suite, ReadsPathsAndVariablesLikeConfigurations) {
  const SuiteConfig suite = ParseSuite(R"({"models": ["no/such.pte"], "runner_path": "", "load": "/l/../m.so",
    "env": {"A": "b", "N": 1}})",
                                       "/some/where/nightly.json");
  EXPECT_EQ(suite.models[0].programs.at(""), "/some/where/no/such.pte");
  EXPECT_EQ(suite.runner, "") << "not given";
  EXPECT_THAT(suite.load, ElementsAre("/m.so"));
  EXPECT_EQ(suite.environment, (std::map<std::string, std::string>{{"A", "b"}, {"N", "1"}}));
}

TEST(Suite, ResolvesFilesToExportLikeOtherPaths) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "suite_sources";
  std::filesystem::create_directories(folder / "nets");
  WriteFileAtomically(folder / "net.py", "");
  const SuiteConfig suite = ParseSuite(
      R"({"models": ["net.py:Net", {"name": "folder", "model": "./nets"}, "nets", "no.py:X", "timm:nets"]})",
      folder / "s.json");
  EXPECT_EQ(suite.models[0].source, (folder / "net.py:Net").string());
  EXPECT_EQ(suite.models[1].source, (folder / "nets").string());
  EXPECT_EQ(suite.models[2].source, "nets") << "the name of a model";
  EXPECT_EQ(suite.models[3].source, "no.py:X");
  EXPECT_EQ(suite.models[4].source, "timm:nets");
  std::filesystem::remove_all(folder);
}

TEST(Suite, KeepsOperatorsOfModelsThatNameThem) {
  const SuiteConfig suite = ParsedSuite(
      R"({"models": [{"model": "a", "keep": ["add,cat", "add"]}, "b", {"name": "c", "programs": {"int8+keep": "c.pte"}}],
          "dtypes": ["int8", "int8+keep"]})");
  EXPECT_THAT(suite.models[0].keep, ElementsAre("add", "cat"));
  EXPECT_THAT(CellNames(suite),
              ElementsAre("a int8 local", "a int8+keep local", "b int8 local", "c int8+keep local"));
}

TEST(Suite, ReportsProblems) {
  // Refuses the same names as the schema; a name made from a file name is valid.
  const auto name_problem = [](const std::string& name) {
    return SuiteProblem(fmt::format(R"({{"models": [{{"name": "{}", "model": "x"}}]}})", name));
  };
  ExpectGoldenMessages("measure/config/suite_names", name_problem, {"a/b", "a b", "a,b", ".a", "-a", ""});
  EXPECT_EQ(ParseSuite(R"({"models": ["a b,c.pte"]})", "s.json").models[0].name, "a_b_c");
  ExpectGoldenMessages("measure/config/suite_problems", SuiteProblem,
                       {R"({"models": []})",
                        R"({"models": ["a"], "dtype": "fp32"})",
                        R"({"models": ["a", "x/a"]})",
                        R"({"models": ["a"], "devices": ["pi5"]})",
                        R"({"models": ["a"], "variants": ["foo=1"]})",
                        R"({"models": ["a"], "variants": ["isa=-avx2", "isa=-avx2"]})",
                        R"({"models": ["a"], "variants": [""]})",
                        R"({"models": ["a"], "dtypes": ["../x"]})",
                        R"({"models": ["a"], "dtypes": [""]})",
                        R"({"models": ["a"], "dtypes": []})",
                        R"({"models": ["a"], "dtypes": ["int8+keep"]})",
                        R"({"models": [{"model": "a", "keep": ","}], "dtypes": ["int8+keep"]})",
                        R"({"models": [{"model": "a", "keep": "add"}], "dtypes": ["fp16+keep"]})",
                        R"({"models": [{"model": "a", "keep": "add"}], "dtypes": ["int8"]})",
                        R"({"models": ["a"], "exclude": [{"model": []}]})",
                        R"({"models": ["a"], "exclude": [{"device": "adb*"}]})",
                        R"({"models": ["a"], "exclude": [{"model": "a"}]})",
                        R"({"models": ["a"], "max_slowdown": "much"})",
                        R"({"models": ["a"], "env": {"A B": "1"}})",
                        R"({"models": ["a"], "env": {"A": true}})",
                        R"({"models": ["a"], "env": {"A": "x\u0000y"}})",
                        R"({"models": ["a"], "env": []})"});
}

TEST(Suite, GivesEachDeviceItsOwnFolder) {
  const SuiteConfig suite =
      ParsedSuite(R"({"models": ["a"], "devices": ["ssh:x", "ssh:x_", "adb:x:1", "adb:x_1"]})");
  std::set<std::filesystem::path> folders;
  for (const SuiteCell& cell : ListCells(suite)) folders.insert(cell.folder);
  EXPECT_THAT(folders, SizeIs(4));
}

}  // namespace
}  // namespace etprof
