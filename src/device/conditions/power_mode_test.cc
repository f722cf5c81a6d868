#include "device/conditions/power_mode.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/error.h"
#include "device/device.h"
#include "device/tool.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

// A phone's `settings` and `svc`, which keep the settings in files of a folder.
constexpr const char* kSettings = R"sh(#!/bin/sh
cat >/dev/null  # as the real one, it reads the stdin that it is given
f=$(dirname "$0")/../settings/$3
case $1 in
  get) cat "$f" 2>/dev/null || echo null;;
  put) [ ! -f "$f.stuck" ] && printf '%s\n' "$4" >"$f";;
  delete) rm -f "$f";;
esac)sh";
constexpr const char* kSvc =
    "#!/bin/sh\necho 7 >\"$(dirname \"$0\")/../settings/stay_on_while_plugged_in\"\n";

class PowerModes : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / fmt::format("etprof-power-{}", ::getpid());
    fs::remove_all(root_);
    for (const char* folder : {"bin", "settings", "device/runs"}) fs::create_directories(root_ / folder);
    for (const auto& [name, text] : {std::pair("settings", kSettings), std::pair("svc", kSvc)}) {
      std::ofstream(root_ / "bin" / name) << text;
      fs::permissions(root_ / "bin" / name, fs::perms::owner_all);
    }
    Set("low_power", "1");
    Set("window_animation_scale", "0.5");
    Set("stay_on_while_plugged_in", "3");
  }
  void TearDown() override { fs::remove_all(root_); }

  void Set(const std::string& key, const std::string& value) const {
    std::ofstream(root_ / "settings" / key) << value << '\n';
  }
  // "null" where it is not set.
  std::string Get(const std::string& key) const {
    std::ifstream file(root_ / "settings" / key);
    std::string value = "null";
    std::getline(file, value);
    return value;
  }
  std::string Settings() const {
    std::string text;
    for (const PowerSetting& setting : FindPowerMode("app-developer").settings)
      text += Get(setting.key) + " ";
    return text;
  }

  // Here a run goes on as long as it has a file `guard`.
  std::string Shell(const std::string& script) const {
    const ToolResult result =
        RunTool({"sh", "-c",
                 fmt::format("PATH={}:$PATH; cd {}; over() {{ [ ! -f \"$1/guard\" ]; }}\n{}",
                             (root_ / "bin").string(), (root_ / "device").string(), script)});
    EXPECT_TRUE(result.Success()) << result.errors;
    return result.output;
  }
  PowerMode Start(const std::string& run, const std::string& mode_name) const {
    fs::create_directories(root_ / "device/runs" / run);
    std::ofstream(root_ / "device/runs" / run / "guard") << '\n';
    PowerMode mode = FindPowerMode(mode_name);
    ReadPowerMode(Shell(SetPowerModeScript(mode, run)), "adb:1", mode);
    return mode;
  }
  // Its guard's work; or that of the next etprof, where it died without doing it.
  std::string End(const std::string& run) const {
    return Shell(fmt::format("rm -rf runs/{}\n{}\nrestore_power", run, DefineRestorePower()));
  }
  void Dies(const std::string& run) const { fs::remove(root_ / "device/runs" / run / "guard"); }

  static constexpr const char* kBefore = "1 3 0.5 null null ";
  static constexpr const char* kBoost = "0 15 0 0 0 ";
  fs::path root_;
};

TEST_F(PowerModes, AreSetAndPutBack) {
  const PowerMode mode = Start("a", "unconstrained-boost");
  EXPECT_EQ(Settings(), kBoost);
  EXPECT_EQ(mode.settings[0].before, "1");
  EXPECT_EQ(mode.settings[3].before, "null");
  EXPECT_EQ(End("a"), "");
  EXPECT_EQ(Settings(), kBefore);  // what was not set is not set again
  EXPECT_FALSE(fs::exists(root_ / "device/settings.before"));
  Start("b", "app-developer");
  EXPECT_EQ(Settings(), "0 1 1 1 1 ");
}

TEST_F(PowerModes, TwoRunsDoNotBreakEachOthers) {
  Start("a", "unconstrained-boost");
  EXPECT_EQ(Start("b", "unconstrained-boost").settings[0].before, "1");  // not the mode's own 0
  End("a");
  EXPECT_EQ(Settings(), kBoost);
  End("b");
  EXPECT_EQ(Settings(), kBefore);
}

TEST_F(PowerModes, ARunThatDiedCountsNoMoreAndWhatItSavedDoes) {
  Start("a", "unconstrained-boost");
  Dies("a");
  EXPECT_EQ(Start("b", "app-developer").settings[1].before, "3");
  End("b");
  EXPECT_EQ(Settings(), kBefore);
}

TEST_F(PowerModes, AnotherModeAtTheSameTimeIsRefused) {
  Start("a", "unconstrained-boost");
  EXPECT_THROW(
      {
        try {
          Start("b", "app-developer");
        } catch (const Error& error) {
          EXPECT_NE(error.Message().find("in the power mode unconstrained-boost"), std::string::npos);
          throw;
        }
      },
      Error);
  EXPECT_EQ(Settings(), kBoost);
  End("a");
  EXPECT_EQ(Settings(), kBefore);
}

TEST_F(PowerModes, ManyRunsAtOnceLeaveNothing) {
  if (!RunTool({"sh", "-c", "command -v flock"}).Success()) GTEST_SKIP() << "this machine has no flock";
  std::string script = DefineRestorePower() + "\n";
  for (int i = 0; i < 6; ++i) {
    fs::create_directories(root_ / fmt::format("device/runs/{}", i));
    std::ofstream(root_ / fmt::format("device/runs/{}/guard", i)) << '\n';
    script += fmt::format("( ( {} ) >/dev/null; rm -rf runs/{}; restore_power ) &\n",
                          SetPowerModeScript(FindPowerMode("unconstrained-boost"), std::to_string(i)), i);
  }
  EXPECT_EQ(Shell(script + "wait"), "");
  EXPECT_EQ(Settings(), kBefore);
}

TEST_F(PowerModes, ASettingThatDoesNotTakeIsAnError) {
  std::ofstream(root_ / "settings/animator_duration_scale.stuck") << "";
  EXPECT_THROW(Start("a", "unconstrained-boost"), Error);
}

TEST_F(PowerModes, WhatCannotBePutBackIsToldAndTriedAgain) {
  Start("a", "unconstrained-boost");
  std::ofstream(root_ / "settings/low_power.stuck") << "";
  EXPECT_EQ(End("a"), "unrestored\tlow_power\n");
  fs::remove(root_ / "settings/low_power.stuck");
  EXPECT_EQ(End("b"), "");
  EXPECT_EQ(Settings(), kBefore);
}

TEST(PowerMode, OtherNamesAndOtherDevices) {
  EXPECT_THROW(FindPowerMode("turbo"), Error);
  PowerMode mode = FindPowerMode("app-developer");
  try {
    ReadPowerMode("none\n", "ssh:pi5", mode);
    FAIL() << "a board has no power modes";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
  }
  EXPECT_THROW(ReadPowerMode("", "adb:1", mode), Error);
}

}  // namespace
}  // namespace etprof
