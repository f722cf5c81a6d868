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
    for (const char* folder : {"bin", "settings", "device"}) fs::create_directories(root_ / folder);
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
  // The value of a setting; "null" if it is not set.
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

  std::string Shell(const std::string& script) const {
    const ToolResult result = RunTool({"sh", "-c",
                                       fmt::format("PATH={}:$PATH; cd {}\n{}", (root_ / "bin").string(),
                                                   (root_ / "device").string(), script)});
    EXPECT_TRUE(result.Success()) << result.errors;
    return result.output;
  }
  PowerMode SetMode(const std::string& name) const {
    PowerMode mode = FindPowerMode(name);
    ReadPowerMode(Shell(SetPowerModeScript(mode)), "adb:1", mode);
    return mode;
  }
  std::string Restore() const { return Shell(std::string(kDefineRestorePower) + "\nrestore_power"); }

  static constexpr const char* kInitialSettings = "1 3 0.5 null null ";
  static constexpr const char* kBoostSettings = "0 15 0 0 0 ";
  fs::path root_;
};

TEST_F(PowerModeScriptsTest, SetAndRestoreSettings) {
  const PowerMode mode = SetMode("unconstrained-boost");
  EXPECT_EQ(Settings(), kBoostSettings);
  EXPECT_EQ(mode.settings[0].before, "1");
  EXPECT_EQ(mode.settings[3].before, "null");
  EXPECT_EQ(Restore(), "");
  EXPECT_EQ(Settings(), kInitialSettings);  // keys that were not set are deleted again
  EXPECT_FALSE(fs::exists(root_ / "device/settings.before"));
  EXPECT_EQ(Restore(), "");
  SetMode("app-developer");
  EXPECT_EQ(Settings(), "0 1 1 1 1 ");
}

TEST_F(PowerModeScriptsTest, KeepTheSettingsThatWereSavedFirst) {
  SetMode("unconstrained-boost");
  EXPECT_EQ(SetMode("app-developer").settings[1].before,
            "3");  // the original value, not the 15 that the first mode set
  Restore();
  EXPECT_EQ(Settings(), kInitialSettings);
}

TEST_F(PowerModeScriptsTest, RejectASettingWithoutEffect) {
  std::ofstream(root_ / "settings/animator_duration_scale.stuck") << "";
  EXPECT_THROW(SetMode("unconstrained-boost"), Error);
}

TEST_F(PowerModeScriptsTest, ReportAndRetryFailedRestores) {
  SetMode("unconstrained-boost");
  std::ofstream(root_ / "settings/low_power.stuck") << "";
  EXPECT_EQ(Restore(), "unrestored\tlow_power\n");
  fs::remove(root_ / "settings/low_power.stuck");
  EXPECT_EQ(Restore(), "");
  EXPECT_EQ(Settings(), kInitialSettings);
}

TEST(PowerMode, RejectsUnknownModesAndOtherDevices) {
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
