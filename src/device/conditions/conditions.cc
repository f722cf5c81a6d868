#include "device/conditions/conditions.h"

#include "device/tool.h"

namespace etprof {
namespace {

constexpr double kReadSeconds = 10;
constexpr double kReadAllSeconds = 30;
constexpr int kMaxFailures = 2;

}  // namespace

std::optional<DeviceVitals> VitalsReader::Read(bool all) {
  if (failures_ >= kMaxFailures) return std::nullopt;
  try {
    if (!shell_) shell_ = device_.Start({{"sh", "-c", VitalsServer()}, {}, {}}, {});
    all = all || !sources_;
    const auto vitals = Request(all ? "all" : *sources_, all ? kReadAllSeconds : kReadSeconds);
    if (vitals) {
      if (all) sources_ = vitals->sources;
      failures_ = 0;
      if (!keep_shell_) {
        shell_->CloseInput();
        shell_->Wait(kReadSeconds);
        shell_.reset();
      }
      return vitals;
    }
    // A broken connection does not count as a failure of the shell.
    if (shell_->Wait(0) && shell_->Lost()) --failures_;
  } catch (const DeviceLost&) {
    --failures_;
  } catch (const Error&) {
    // The shell could not be started.
  }
  ++failures_;
  shell_.reset();
  sources_.reset();  // the next connection may reach another device
  return std::nullopt;
}

std::optional<DeviceVitals> VitalsReader::Request(const std::string& request, double timeout_seconds) {
  if (!shell_->Send(request, timeout_seconds)) return std::nullopt;
  const ProcessOutput output = ReadOutput(*shell_, timeout_seconds, kVitalsEnd);
  return output.end == Process::Read::kLine ? std::optional(ParseVitals(output.text)) : std::nullopt;
}

}  // namespace etprof
