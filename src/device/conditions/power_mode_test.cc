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

// Fakes of a phone's `settings` and `svc` commands, which store the settings in files.
constexpr const char* kSettings = R"sh(#!/bin/sh
cat >/dev/null  # the real command reads its stdin, too
f=$(dirname "$0")/../settings/$3
case $1 in
  get) cat "$f" 2>/dev/null || echo null;;
  put) [ ! -f "$f.stuck" ] && printf '%s\n' "$4" >"$f";;
  delete) rm -f "$f";;
esac)sh";
constexpr const char* kSvc =
    "#!/bin/sh\necho 7 >\"$(dirname \"$0\")/../settings/stay_on_while_plugged_in\"\n";

class PowerModeScriptsTest : public ::testing::Test {
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
  // The value of a setting; "null": not set.
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

  // Runs a script with a fake of `over`: a run is live as long as its folder has a file `guard`.
  std::string Shell(const std::string& script) const {
    const ToolResult result =
        RunTool({"sh", "-c",
                 fmt::format("PATH={}:$PATH; cd {}; over() {{ [ ! -f \"$1/guard\" ]; }}\n{}",
                             (root_ / "bin").string(), (root_ / "device").string(), script)});
    EXPECT_TRUE(result.Success()) << result.errors;
    return result.output;
  }
  PowerMode StartRun(const std::string& run, const std::string& mode_name) const {
    fs::create_directories(root_ / "device/runs" / run);
    std::ofstream(root_ / "device/runs" / run / "guard") << '\n';
    PowerMode mode = FindPowerMode(mode_name);
    ReadPowerMode(Shell(SetPowerModeScript(mode, run)), "adb:1", mode);
    return mode;
  }
  // Ends a run as its guard does, or as the next etprof process does if the guard was killed.
  std::string EndRun(const std::string& run) const {
    return Shell(fmt::format("rm -rf runs/{}\n{}\nrestore_power", run, DefineRestorePower()));
  }
  void Kill(const std::string& run) const { fs::remove(root_ / "device/runs" / run / "guard"); }

  static constexpr const char* kBefore = "1 3 0.5 null null ";
  static constexpr const char* kBoost = "0 15 0 0 0 ";
  fs::path root_;
};

TEST_F(PowerModeScriptsTest, SetAndRestoreSettings) {
  const PowerMode mode = StartRun("a", "unconstrained-boost");
  EXPECT_EQ(Settings(), kBoost);
  EXPECT_EQ(mode.settings[0].before, "1");
  EXPECT_EQ(mode.settings[3].before, "null");
  EXPECT_EQ(EndRun("a"), "");
  EXPECT_EQ(Settings(), kBefore);  // keys that were not set are deleted again
  EXPECT_FALSE(fs::exists(root_ / "device/settings.before"));
  StartRun("b", "app-developer");
  EXPECT_EQ(Settings(), "0 1 1 1 1 ");
}

TEST_F(PowerModeScriptsTest, TwoRunsShareAMode) {
  StartRun("a", "unconstrained-boost");
  EXPECT_EQ(StartRun("b", "unconstrained-boost").settings[0].before, "1");  // not the 0 that run a set
  EndRun("a");
  EXPECT_EQ(Settings(), kBoost);
  EndRun("b");
  EXPECT_EQ(Settings(), kBefore);
}

TEST_F(PowerModeScriptsTest, UseTheSettingsThatADeadRunSaved) {
  StartRun("a", "unconstrained-boost");
  Kill("a");
  EXPECT_EQ(StartRun("b", "app-developer").settings[1].before, "3");
  EndRun("b");
  EXPECT_EQ(Settings(), kBefore);
}

TEST_F(PowerModeScriptsTest, RejectAnotherModeAtTheSameTime) {
  StartRun("a", "unconstrained-boost");
  EXPECT_THROW(
      {
        try {
          StartRun("b", "app-developer");
        } catch (const Error& error) {
          EXPECT_NE(error.Message().find("in the power mode unconstrained-boost"), std::string::npos);
          throw;
        }
      },
      Error);
  EXPECT_EQ(Settings(), kBoost);
  EndRun("a");
  EXPECT_EQ(Settings(), kBefore);
}

TEST_F(PowerModeScriptsTest, RestoreAfterConcurrentRuns) {
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

TEST_F(PowerModeScriptsTest, RejectASettingWithoutEffect) {
  std::ofstream(root_ / "settings/animator_duration_scale.stuck") << "";
  EXPECT_THROW(StartRun("a", "unconstrained-boost"), Error);
}

TEST_F(PowerModeScriptsTest, ReportAndRetryFailedRestores) {
  StartRun("a", "unconstrained-boost");
  std::ofstream(root_ / "settings/low_power.stuck") << "";
  EXPECT_EQ(EndRun("a"), "unrestored\tlow_power\n");
  fs::remove(root_ / "settings/low_power.stuck");
  EXPECT_EQ(EndRun("b"), "");
  EXPECT_EQ(Settings(), kBefore);
}

TEST(PowerMode, RejectsOtherNamesAndDevices) {
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
