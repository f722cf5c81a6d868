#include "device/remote/remote_process.h"

#include <fmt/format.h>

#include "core/text/text.h"

namespace etprof {
namespace {

constexpr std::size_t kMaxRemoteErrorBytes = 4096;

// The hexadecimal mask that Android's and util-linux's taskset accept.
std::string CpuMask(const std::vector<int>& cpus) {
  std::string digits;
  for (int digit = cpus.empty() ? 0 : cpus.back() / 4; digit >= 0; --digit) {
    unsigned value = 0;
    for (const int cpu : cpus) {
      if (cpu / 4 == digit) value |= 1U << static_cast<unsigned>(cpu % 4);
    }
    digits += "0123456789abcdef"[value];
  }
  return digits;
}

std::string ExitMarkPrefix(const std::string& tag) { return "\nETPROF-EXIT " + tag + " "; }

}  // namespace

std::string PrintExitMark(const std::string& tag, const std::string& code) {
  return fmt::format("printf '\\nETPROF-EXIT {} %s\\n' {} >&2", tag, code);
}

std::optional<int> ExtractExitMark(std::string& errors, const std::string& tag) {
  const std::string mark = ExitMarkPrefix(tag);
  const std::size_t at = errors.rfind(mark);
  if (at == std::string::npos) return std::nullopt;
  std::string_view remaining = std::string_view(errors).substr(at + mark.size());
  if (remaining.find('\n') == std::string_view::npos) return std::nullopt;
  const std::optional<int> code = ConsumeNumber<int>(remaining);
  if (code) errors.resize(at);
  return code;
}

std::string StartScript(const Command& command, const std::string& folder, const std::string& tag) {
  std::string script = "cd " + ShellQuoted(folder) + " || exit 1\n";
  for (const auto& [name, value] : command.environment) {
    if (!IsVariableName(name))
      throw Error(ExitCode::kBadInput, fmt::format("`{}` is not a name of an environment variable", name));
    script += fmt::format("export {}={}\n", name, ShellQuoted(value));
  }
  // A shell starts background processes without stdin unless it is redirected, here from descriptor 3. The
  // new process group comes from `setsid`, or from the shell's job control: macOS has no `setsid`, and not
  // every shell has job control without a terminal.
  script +=
      "exec 3<&0 </dev/null\n"
      "g=; if command -v setsid >/dev/null 2>&1; then g=setsid; else set -m 2>/dev/null; fi\n$g ";
  if (!command.cpus.empty()) script += "taskset " + CpuMask(command.cpus) + " ";
  for (const std::string& word : command.arguments) script += ShellQuoted(word) + " ";
  script += fmt::format(
      "<&3 3<&- &\n"
      "p=$!; exec 3<&-; echo $p >pids/{0}; [ -n \"$g\" ] || set +m\n"
      "wait $p; c=$?; kill -s KILL -- -$p 2>/dev/null; rm -f pids/{0}\n{1}",
      tag, PrintExitMark(tag, "$c"));
  return script;
}

RemoteProcess::RemoteProcess(std::string tag, Device::Sink on_stderr, std::function<bool()> kill)
    : tag_(std::move(tag)), on_stderr_(std::move(on_stderr)), kill_(std::move(kill)) {}

RemoteProcess::~RemoteProcess() {
  if (client_ && !ended_) Kill();
}

Device::Sink RemoteProcess::ErrorSink() {
  return [this](std::string_view text) { ReceiveErrors(text); };
}

void RemoteProcess::ForwardErrors(std::string_view text) {
  if (text.empty()) return;
  last_errors_ += text;
  if (last_errors_.size() > kMaxRemoteErrorBytes)
    last_errors_.erase(0, last_errors_.size() - kMaxRemoteErrorBytes);
  if (on_stderr_) on_stderr_(text);
}

// Forwards stderr, but holds back text that may be the exit mark or its beginning.
void RemoteProcess::ReceiveErrors(std::string_view text) {
  unforwarded_ += text;
  if (const auto code = ExtractExitMark(unforwarded_, tag_)) {
    code_ = code;
    ForwardErrors(unforwarded_);
    unforwarded_.clear();
    return;
  }
  const std::string mark = ExitMarkPrefix(tag_);
  std::size_t forwarded = unforwarded_.find(mark);
  if (forwarded == std::string::npos) {
    forwarded = unforwarded_.size();
    for (std::size_t length = std::min(mark.size() - 1, unforwarded_.size()); length > 0; --length) {
      if (unforwarded_.compare(unforwarded_.size() - length, length, mark, 0, length) != 0) continue;
      forwarded = unforwarded_.size() - length;
      break;
    }
  }
  ForwardErrors(std::string_view(unforwarded_).substr(0, forwarded));
  unforwarded_.erase(0, forwarded);
}

std::optional<ExitStatus> RemoteProcess::Wait(double timeout_seconds) {
  const std::optional<ExitStatus> client = client_->Wait(timeout_seconds);
  if (!client) return std::nullopt;
  ended_ = true;
  ForwardErrors(std::exchange(unforwarded_, {}));
  if (!code_) return *client;  // connection lost: the program's exit status is not known
  ExitStatus status;
  status.code = *code_;
  return status;
}

void RemoteProcess::Kill() {
  if (client_->Wait(0)) return;
  unreachable_ = kill_ && !kill_();
  client_->Kill();
}

}  // namespace etprof
