#include "device/open_device.h"

#include "device/local/local.h"

namespace etprof {
namespace {

bool StartsWithDash(const std::string& text) { return !text.empty() && text.front() == '-'; }

}  // namespace

void CheckDeviceName(const std::string& name) {
  const auto without_prefix = [&](const char* prefix) {
    return name.substr(std::string_view(prefix).size());
  };
  const bool ssh = name.starts_with("ssh:") && name.size() > 4 && !StartsWithDash(without_prefix("ssh:"));
  const bool adb = name == "adb" ||
                   (name.starts_with("adb:") && name.size() > 4 && !StartsWithDash(without_prefix("adb:")));
  if (name == "local" || ssh || adb) return;
  throw Error(ExitCode::kUsage, "unknown device `" + name + "`")
      .Remedy("use local, ssh:HOST, adb, adb:SERIAL, or adb:HOST:PORT");
}

std::unique_ptr<Device> OpenDevice(const std::string& name, const RemoteOptions& options) {
  CheckDeviceName(name);
  if (name == "local") return MakeLocalDevice();
  if (name.starts_with("ssh:")) return MakeRemoteDevice(MakeSshConnection(name.substr(4)), options);
  return MakeRemoteDevice(MakeAdbConnection(name == "adb" ? "" : name.substr(4)), options);
}

}  // namespace etprof
