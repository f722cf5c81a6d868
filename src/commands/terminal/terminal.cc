#include "commands/terminal/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "core/error.h"
#include "core/text/escape.h"
#include "core/text/text.h"
#include "show/formats/screen/terminal_text.h"

namespace etprof {
namespace {

std::atomic<bool> g_messages_lost = false;

constexpr int kMaxTerminalColumns = 120;  // longer lines are hard to read, and nothing more would be shown

bool IsSet(const char* variable) { return variable != nullptr && *variable != '\0'; }

// Calls IsUtf8Locale with the environment of this process.
bool ShowsUtf8() { return IsUtf8Locale(std::getenv("LC_ALL"), std::getenv("LC_CTYPE"), std::getenv("LANG")); }

}  // namespace

void WriteToStderr(std::string_view text) noexcept {
  if (std::fwrite(text.data(), 1, text.size(), stderr) == text.size() && std::fflush(stderr) == 0) return;
  g_messages_lost = true;
  std::clearerr(stderr);
}

std::string ErrorText(const Error& error, std::string_view prefix) {
  const bool interrupted = error.exit_code() == ExitCode::kInterrupted;
  return fmt::format("{}{}{}\n{}", interrupted ? "" : "error: ", EscapeToOneLine(prefix), error.Summary(),
                     error.remedy().empty() ? "" : fmt::format("hint: {}\n", error.Hint()));
}

void PrintError(const Error& error, std::string_view prefix) { WriteToStderr(ErrorText(error, prefix)); }

bool MessagesLost() noexcept { return g_messages_lost; }

bool IsUtf8Locale(const char* lc_all, const char* lc_ctype, const char* lang) {
  for (const char* const variable : {lc_all, lc_ctype, lang}) {
    if (!IsSet(variable)) continue;
    const std::string locale = Lower(variable);
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return true;
}

bool SupportsEscapeSequences(int descriptor) {
  const char* term = std::getenv("TERM");
  return ::isatty(descriptor) != 0 && IsSet(term) && std::string_view(term) != "dumb";
}

TerminalOptions StdoutOptions() {
  TerminalOptions options;
  options.ascii = !ShowsUtf8();
  if (isatty(STDOUT_FILENO) != 0) {
    options.colors = !IsSet(std::getenv("NO_COLOR")) && SupportsEscapeSequences(STDOUT_FILENO);
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) options.width = size.ws_col;
  }
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr) {
    const int width = std::atoi(columns);
    if (width > 0) options.width = width;
  }
  options.width = std::min(options.width, kMaxTerminalColumns);
  return options;
}

std::string EncodeForTerminal(const std::string& text) { return ShowsUtf8() ? text : ToAscii(text); }

void FlushStdout() {
  std::cout.flush();
  if (std::cout && RawStdout() && std::fflush(stdout) == 0) return;
  pollfd out{STDOUT_FILENO, 0, 0};
  if (::poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0) {
    // The reader has closed the pipe (`| head`): end as a writer of a pipe does, without an error.
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  throw Error(ExitCode::kDeviceFailed, "could not write to the standard output")
      .Remedy("check the free space where it goes");
}

}  // namespace etprof
