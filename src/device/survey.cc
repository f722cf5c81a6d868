#include "device/survey.h"

#include <fmt/format.h>

#include <chrono>

#include "device/open_device.h"
#include "device/shell.h"

namespace etprof {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kCleanSeconds = 60;

Clock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

std::string NoAnswerRemedy(const std::string& name) {
  if (name.starts_with("ssh:"))
    return fmt::format("is it on? `ssh {} true` has to work without a password", name.substr(4));
  if (name.starts_with("adb:"))
    return fmt::format("is it on and awake? `adb -s {} shell true` has to work", name.substr(4));
  return "is it on and awake? `adb shell true` has to work";
}

}  // namespace

DeviceSurvey SurveyDevice(const std::string& name, const SurveyOptions& options) {
  CheckDeviceName(name);
  DeviceSurvey survey;
  survey.name = name;
  double limit_seconds = options.answer_seconds;
  Clock::time_point deadline = Clock::now() + Seconds(limit_seconds);
  const auto interrupted = [&options] { return options.interrupted && options.interrupted(); };
  RemoteOptions remote_options;
  remote_options.interrupted = [&] { return interrupted() || Clock::now() > deadline; };
  try {
    const std::unique_ptr<Device> device = OpenDevice(name, remote_options);
    device->SetInterrupted(remote_options.interrupted);
    survey.properties = device->Properties();
    survey.vitals = ParseVitals(ShellOutput(*device, VitalsScript(), options.answer_seconds));
    if (options.clean) {
      limit_seconds = kCleanSeconds;
      deadline = Clock::now() + Seconds(limit_seconds);
      survey.removed = device->RemoveStored();
    }
    survey.stored = device->Stored();
  } catch (const Error& error) {
    if (interrupted()) throw;
    const bool timed_out = error.exit_code() == ExitCode::kInterrupted;
    survey.problem = timed_out ? fmt::format("did not answer within {:g} s", limit_seconds) : error.problem();
    survey.remedy = timed_out ? NoAnswerRemedy(name) : error.remedy();
  }
  return survey;
}

}  // namespace etprof
