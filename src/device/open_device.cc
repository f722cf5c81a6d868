#include "device/open_device.h"

#include "device/local/local.h"

namespace etprof {
void CheckDeviceName(const std::string& name) {
  const auto has_host_after = [&](std::string_view prefix) {
    return name.starts_with(prefix) && name.size() > prefix.size() && name[prefix.size()] != '-';
  };
  if (name == "local" || name == "adb" || has_host_after("ssh:") || has_host_after("adb:")) return;
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
