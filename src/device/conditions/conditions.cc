#include "device/conditions/conditions.h"

#include "device/tool.h"

namespace etprof {
namespace {

constexpr double kSeconds = 10;
constexpr double kSecondsForAll = 30;
constexpr int kMostFailures = 2;

}  // namespace

std::optional<DeviceVitals> VitalsReader::Read(bool all) {
  if (failures_ >= kMostFailures) return std::nullopt;
  try {
    if (!shell_) shell_ = device_.Start({{"sh", "-c", VitalsServer()}, {}, {}}, {});
    all = all || !sources_;
    const auto vitals = Ask(all ? "all" : *sources_, all ? kSecondsForAll : kSeconds);
    if (vitals) {
      if (all) sources_ = vitals->sources;
      failures_ = 0;
      if (!stay_) {
        shell_->CloseInput();
        shell_->Wait(kSeconds);
        shell_.reset();
      }
      return vitals;
    }
    // A broken connection is no fault of the shell's.
    if (shell_->Wait(0) && shell_->Lost()) --failures_;
  } catch (const DeviceLost&) {
    --failures_;
  } catch (const Error&) {
    // There is no shell.
  }
  ++failures_;
  shell_.reset();
  sources_.reset();  // it may be another device by then
  return std::nullopt;
}

std::optional<DeviceVitals> VitalsReader::Ask(const std::string& request, double timeout_seconds) {
  if (!shell_->Send(request, timeout_seconds)) return std::nullopt;
  const ProcessOutput output = ReadOutput(*shell_, timeout_seconds, kVitalsEnd);
  return output.end == Process::Read::kLine ? std::optional(ParseVitals(output.text)) : std::nullopt;
}

}  // namespace etprof
