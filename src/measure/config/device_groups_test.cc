#include "measure/config/device_groups.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file/file.h"
#include "core/golden_testing.h"

namespace etprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Config ParseGroups(const std::string& keys) {
  return ParseConfig("{\"model\": \"/m/net.pte\", " + keys + "}", "my.json",
                     {.default_runner = {}, .runner_of_device = true});
}

std::string GroupError(const std::string& keys, const std::vector<std::string>& device_options = {}) {
  try {
    GroupByDevice(ParseGroups(keys), device_options);
  } catch (const Error& error) {
    return error.Message();
  }
  return "no error";
}

std::vector<std::string> GroupsText(const std::vector<DeviceGroup>& groups) {
  std::vector<std::string> texts;
  for (const DeviceGroup& group : groups) {
    std::string text = group.device + ":";
    for (const ExperimentConfig& experiment : group.config.experiments) {
      EXPECT_THAT(experiment.devices, ElementsAre(group.device));
      text += " " + experiment.name;
    }
    for (const PairConfig& pair : group.config.pairs)
      text += fmt::format(" {}/{}", pair.baseline.experiment, pair.candidate.experiment);
    texts.push_back(text);
  }
  return texts;
}

TEST(DeviceGroups, DefaultToThisMachine) {
  EXPECT_THAT(GroupsText(GroupByDevice(ParseGroups(R"("experiments": [{"name": "a"}, {"name": "b"}])"), {})),
              ElementsAre("local: a b"));
}

TEST(DeviceGroups, SplitExperimentsByDevice) {
  const Config config = ParseGroups(R"("device": ["ssh:pi5", "adb:R5"], "experiments": [
      {"name": "off", "isa": "-sme2"}, {"name": "on"}, {"name": "here", "device": "local"},
      {"name": "phone", "device": "adb:R5"}])");
  EXPECT_THAT(GroupsText(GroupByDevice(config, {})),
              ElementsAre("ssh:pi5: off on", "adb:R5: off on phone", "local: here"));
  // The command line overrides the configuration's devices, in its own order.
  EXPECT_THAT(GroupsText(GroupByDevice(config, {"local", "ssh:b"})),
              ElementsAre("local: off on here phone", "ssh:b: off on here phone"));
}

TEST(DeviceGroups, SplitPairsByDevice) {
  const std::string experiments = R"("experiments": [
      {"name": "off", "device": ["ssh:a", "ssh:b"]}, {"name": "on", "device": ["ssh:b", "ssh:a"]},
      {"name": "c", "device": "ssh:b"}, {"name": "d", "device": "local"}])";
  const Config config = ParseGroups(experiments + R"(, "analysis": {"compare_pairs": [
      {"baseline": "off", "candidate": "on"}, {"baseline": "off", "candidate": "c"}]})");
  EXPECT_THAT(GroupsText(GroupByDevice(config, {})),
              ElementsAre("ssh:a: off on off/on", "ssh:b: off on c off/on off/c", "local: d"));
  // If the configuration has pairs, a group without any of them compares nothing.
  EXPECT_TRUE(GroupByDevice(config, {}).back().config.pairs_given);
  EXPECT_THAT(MakePlan(GroupByDevice(config, {}).back().config).pairs, IsEmpty());
}

TEST(DeviceGroups, RefusePairsAcrossDevicesAndInvalidNames) {
  const std::string pair = R"("experiments": [{"name": "x", "device": "ssh:a"}, {"name": "y"}],
      "analysis": {"compare_pairs": [{"baseline": "x", "candidate": "y"}]})";
  const std::string experiment = R"("experiments": [{"name": "x"}])";
  ExpectGoldenMessages("measure/config/device_groups",
                       {{"a pair across devices", GroupError(pair)},
                        {"a repeated name", GroupError(experiment, {"ssh:a", "local", "ssh:a"})},
                        {"an unknown device", GroupError(experiment, {"board"})},
                        {"adb with and without a serial number", GroupError(experiment, {"adb", "adb:R5"})}});
  EXPECT_EQ(GroupError(pair, {"ssh:a"}), "no error");  // --device puts both on one device
  EXPECT_EQ(GroupError(experiment, {"adb:1.2.3.4:5555", "adb:R5", "ssh:1.2.3.4"}), "no error");
}

TEST(DeviceGroups, RequireDeviceRefusesOtherDevices) {
  const Config config = ParseGroups(R"("device": "ssh:a", "experiments": [{"name": "x"}])");
  EXPECT_NO_THROW(RequireDevice(config, "ssh:a"));
  EXPECT_THROW(RequireDevice(config, "local"), Error);
}

TEST(DeviceFolders, UseThePlatformIfItIsUnique) {
  EXPECT_THAT(DeviceFolders({{"local", "linux-x86_64"}, {"adb:R5", "android"}, {"ssh:pi5", "linux-aarch64"}}),
              ElementsAre("linux-x86_64", "android", "linux-aarch64"));
}

TEST(DeviceFolders, AddTheDevicesNameIfNeeded) {
  EXPECT_THAT(
      DeviceFolders({{"local", "linux-x86_64"}, {"adb:R5", "android"}, {"ssh:me@box", "linux-x86_64"}}),
      ElementsAre("linux-x86_64-local", "android", "linux-x86_64-me_box"));
}

TEST(DeviceFolders, AreUnique) {
  // A host called "local", one address with two connection types, and two names that become the same file
  // name.
  EXPECT_THAT(DeviceFolders({{"local", "p"}, {"ssh:local", "p"}}), ElementsAre("p-local", "p-ssh_local"));
  EXPECT_THAT(DeviceFolders({{"ssh:1.2", "p"}, {"adb:1.2", "p"}}), ElementsAre("p-ssh_1.2", "p-adb_1.2"));
  EXPECT_THAT(DeviceFolders({{"ssh:a@b", "p"}, {"ssh:a:b", "p"}}), ElementsAre("p-ssh_a_b", "p-ssh_a_b-2"));
  EXPECT_THAT(DeviceFolders({{"ssh:../../x", "p"}, {"ssh:y", "p"}}), ElementsAre("p-.._.._x", "p-y"));
}

TEST(FindRunOfDevice, FindsTheLatestRunOfTheDevice) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / fmt::format("etprof_device_groups_{}", ::getpid());
  const auto write = [&](const std::string& name, const std::string& device, const std::string& when) {
    WriteFileAtomically(folder / name / "manifest.json",
                        fmt::format(R"({{"device": {{"name": "{}"}}, "generated_at": "{}"}})", device, when));
  };
  write("linux", "ssh:a", "2026-01-02T00:00:00Z");
  write("linux-a", "ssh:a", "2026-01-03T00:00:00Z");
  write("linux-b", "ssh:b", "2026-01-04T00:00:00Z");
  WriteFileAtomically(folder / "odd" / "manifest.json", std::string("[1"));
  WriteFileAtomically(folder / "null" / "manifest.json", std::string(R"({"device": null})"));
  EXPECT_EQ(FindRunOfDevice(folder, "ssh:a"), folder / "linux-a");
  EXPECT_EQ(FindRunOfDevice(folder, "local"), std::nullopt);
  EXPECT_EQ(FindRunOfDevice(folder / "nowhere", "local"), std::nullopt);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace etprof
