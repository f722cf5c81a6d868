#include "build/checkout/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/golden_testing.h"

namespace etprof {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string MergeError(const std::string& existing) {
  try {
    MergePresets(existing, {});
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kBadInput);
    return error.Message();
  }
  return "no error";
}

std::map<std::string, ordered_json> ByName(const std::string& text) {
  std::map<std::string, ordered_json> presets;
  const ordered_json file = ordered_json::parse(text);
  for (const ordered_json& preset : file.at("configurePresets")) {
    EXPECT_TRUE(presets.emplace(preset.at("name"), preset).second) << preset.at("name") << " is there twice";
  }
  return presets;
}

// The cache variables that CMake uses for a preset: its own, then those of the presets it inherits; the first
// wins.
std::map<std::string, std::string> Variables(const std::map<std::string, ordered_json>& presets,
                                             const std::string& name) {
  std::map<std::string, std::string> variables;
  const ordered_json& preset = presets.at(name);
  if (preset.contains("cacheVariables")) {
    for (const auto& [key, value] : preset["cacheVariables"].items()) variables[key] = value;
  }
  for (const std::string& parent : preset.value("inherits", std::vector<std::string>())) {
    variables.merge(Variables(presets, parent));
  }
  return variables;
}

TEST(RunnerPresets, AreTheKitsPresetsAndTheirTraceEnabledOnes) {
  std::vector<std::string> timing;
  std::set<std::string> traced;
  for (const RunnerPreset& preset : RunnerPresets()) {
    if (preset.trace_enabled) {
      traced.insert(preset.name);
    } else {
      timing.push_back(preset.name);
    }
  }
  EXPECT_THAT(timing, ElementsAre("mac-arm64", "android-arm64-v9a", "mac-arm64-sme2-off",
                                  "android-arm64-v9a-sme2-off", "native"));
  for (const std::string& name : timing) {
    EXPECT_TRUE(traced.contains(MakeTraceEnabledPreset({name, {}, false, {}}).name)) << name;
  }
  EXPECT_EQ(traced.size(), timing.size());
  EXPECT_EQ(MakeTraceEnabledPreset(MakeTraceEnabledPreset({"native", {}, false, {}})).name, "native-xnnlog");
}

TEST(RunnerPresets, OnAndOffDifferInSmeOnly) {
  const auto presets = ByName(std::string(PresetsText()));
  for (const std::string base : {"mac-arm64", "android-arm64-v9a"}) {
    for (const std::string end : {"", "-xnnlog"}) {
      auto on = Variables(presets, base + end);
      auto off = Variables(presets, base + "-sme2-off" + end);
      for (const char* option : {"XNNPACK_ENABLE_ARM_SME", "XNNPACK_ENABLE_ARM_SME2"}) {
        EXPECT_EQ(on.at(option), "ON");
        EXPECT_EQ(off.at(option), "OFF");
        on.erase(option);
        off.erase(option);
      }
      EXPECT_EQ(on, off) << base << end;
    }
  }
}

TEST(RunnerPresets, NamesDetermineSme2) {
  for (const RunnerPreset& preset : RunnerPresets()) {
    const bool off = preset.name.find("-sme2-off") != std::string::npos;
    const bool native = preset.platform == RunnerPreset::Platform::kNative;
    EXPECT_EQ(preset.sme2, native ? std::nullopt : std::optional(!off)) << preset.name;
  }
  EXPECT_TRUE(DifferInSme2Only("android-arm64-v9a", "android-arm64-v9a-sme2-off"));
  EXPECT_TRUE(DifferInSme2Only("android-arm64-v9a-sme2-off-xnnlog", "android-arm64-v9a-xnnlog"));
  EXPECT_FALSE(DifferInSme2Only("android-arm64-v9a", "android-arm64-v9a-xnnlog"));
  EXPECT_FALSE(DifferInSme2Only("mac-arm64", "android-arm64-v9a-sme2-off"));
  EXPECT_FALSE(DifferInSme2Only("", "-sme2-off"));
}

TEST(RunnerPresets, TraceEnabledPresetsDifferInTheLogOnly) {
  const auto presets = ByName(std::string(PresetsText()));
  for (const RunnerPreset& preset : RunnerPresets()) {
    if (preset.trace_enabled) continue;
    auto timing = Variables(presets, preset.name);
    auto traced = Variables(presets, MakeTraceEnabledPreset(preset).name);
    EXPECT_EQ(timing.at("EXECUTORCH_XNNPACK_LOG_LEVEL"), "0");
    EXPECT_EQ(traced.at("EXECUTORCH_XNNPACK_LOG_LEVEL"), "5");
    for (const char* flags : {"CMAKE_C_FLAGS", "CMAKE_CXX_FLAGS"}) {
      std::string expected = timing.at(flags);
      expected.replace(expected.find("LEVEL=0"), 7, "LEVEL=5");
      // Otherwise XNNPACK logs to Android's system log.
      if (preset.platform == RunnerPreset::Platform::kAndroid) expected += " -DXNN_LOG_TO_STDIO=1";
      EXPECT_EQ(traced.at(flags), expected);
      timing.erase(flags);
      traced.erase(flags);
    }
    timing.erase("EXECUTORCH_XNNPACK_LOG_LEVEL");
    traced.erase("EXECUTORCH_XNNPACK_LOG_LEVEL");
    EXPECT_EQ(timing, traced) << preset.name;
  }
}

TEST(MergePresets, CreatesAMissingFile) {
  const MergedPresets merged = MergePresets(std::nullopt, {});
  EXPECT_TRUE(merged.changed);
  EXPECT_EQ(ordered_json::parse(merged.text), ordered_json::parse(PresetsText()));
}

TEST(MergePresets, KeepsExistingContents) {
  const std::string existing = R"({
    "version": 6,
    "vendor": {"someone.org/ide": {"z": 1, "a": [1.5, null, "\u00e9"]}},
    "configurePresets": [
        {"name": "mine", "binaryDir": "out", "unknown": {"b": 1, "a": 2}}
    ],
    "buildPresets": [{"name": "mine", "configurePreset": "mine"}]
})";
  const MergedPresets merged = MergePresets(existing, {});
  EXPECT_TRUE(merged.changed);
  ordered_json after = ordered_json::parse(merged.text);
  const ordered_json before = ordered_json::parse(existing);
  EXPECT_EQ(after["configurePresets"][0].dump(), before["configurePresets"][0].dump());
  after["configurePresets"] = before["configurePresets"];
  EXPECT_EQ(after.dump(), before.dump());                    // the order of keys is kept
  EXPECT_THAT(merged.text, HasSubstr("\n    \"version\""));  // the indentation is kept
}

TEST(MergePresets, ReplacesDuplicatesOfEtprofPresets) {
  const std::string existing = R"({"version": 3, "configurePresets": [
    {"name": "native", "binaryDir": "stale"}, {"name": "mine"}, {"name": "native", "binaryDir": "staler"}]})";
  const auto presets = ByName(MergePresets(existing, {}).text);
  EXPECT_TRUE(presets.contains("mine"));
  EXPECT_EQ(presets.at("native").at("binaryDir"), "${sourceDir}/cmake-out/native");
}

TEST(MergePresets, ChangesNothingTheSecondTime) {
  const std::string once = MergePresets(R"({"version": 6, "configurePresets": [{"name": "mine"}]})", {}).text;
  const MergedPresets twice = MergePresets(once, {});
  EXPECT_FALSE(twice.changed);
  EXPECT_EQ(twice.text, once);
}

TEST(MergePresets, RaisesVersionsThatAreTooOld) {
  EXPECT_EQ(ordered_json::parse(MergePresets(R"({"version": 1})", {}).text)["version"], 3);
  EXPECT_EQ(ordered_json::parse(MergePresets(R"({"version": 8})", {}).text)["version"], 8);
}

TEST(MergePresets, LeavesOutPresetsThatTheCheckoutDefines) {
  const MergedPresets merged = MergePresets(std::nullopt, {"mac-arm64", "linux"});
  EXPECT_THAT(merged.conflicting_presets, ElementsAre("mac-arm64"));
  EXPECT_FALSE(ByName(merged.text).contains("mac-arm64"));
  EXPECT_TRUE(ByName(merged.text).contains("native"));
}

TEST(MergePresets, RefusesFilesItCouldDamage) {
  CaseMessages errors =
      CollectMessages(MergeError, {"{\"version\": 3,", "", "// mine\n{\"version\": 3}", "[]",
                                   R"({"configurePresets": {}})", R"({"version": "3"})"});
  errors.emplace_back("100000 brackets", MergeError(std::string(100000, '[')));
  ExpectGoldenMessages("build/preset_errors", errors);
}

TEST(PresetNames, ListsConfigurePresets) {
  EXPECT_THAT(PresetNames(R"({"configurePresets": [{"name": "a"}, {"name": 3}, 7, {"name": "b"}]})"),
              ElementsAre("a", "b"));
  EXPECT_THAT(PresetNames("nonsense"), IsEmpty());
  EXPECT_THAT(PresetNames(R"({"configurePresets": 7})"), IsEmpty());
}

}  // namespace
}  // namespace etprof
