#include "device/survey.h"

#include <fmt/format.h>

#include "core/clock.h"
#include "device/open_device.h"
#include "device/tool.h"

namespace etprof {
namespace {

constexpr double kCleanTimeoutSeconds = 60;

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
  double deadline = MonotonicSeconds() + limit_seconds;
  const auto interrupted = [&options] { return options.interrupted && options.interrupted(); };
  RemoteOptions remote_options;
  remote_options.interrupted = [&] { return interrupted() || MonotonicSeconds() > deadline; };
  try {
    const std::unique_ptr<Device> device = OpenDevice(name, remote_options);
    device->SetInterrupted(remote_options.interrupted);
    survey.properties = device->Properties();
    survey.vitals = ParseVitals(ShellOutput(*device, VitalsScript(), options.answer_seconds));
    if (options.clean) {
      limit_seconds = kCleanTimeoutSeconds;
      deadline = MonotonicSeconds() + limit_seconds;
      survey.removed = device->RemoveStoredFiles();
    }
    survey.stored = device->GetStoredFiles();
  } catch (const Error& error) {
    if (interrupted()) throw;
    const bool timed_out = error.exit_code() == ExitCode::kInterrupted;
    survey.problem = timed_out ? fmt::format("did not answer within {:g} s", limit_seconds) : error.problem();
    survey.remedy = timed_out ? NoAnswerRemedy(name) : error.remedy();
  }
  return survey;
}

}  // namespace etprof
