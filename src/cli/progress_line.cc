#include "cli/progress_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "cli/stdout_terminal.h"
#include "core/error.h"
#include "core/table.h"
#include "core/units.h"

namespace etprof {
namespace {

// The first launches may know next to nothing.
std::string HalfWidthText(double percent) {
  return percent > 100 ? "±>100 %" : fmt::format("±{:.2g} %", percent);
}

std::string EstimateText(const ProgressUpdate::Estimate& estimate) {
  if (!estimate.estimate) return "";
  const double percent = 100 * estimate.estimate->half_width();
  if (estimate.median_ns)
    return fmt::format("{} {} {}", estimate.candidate, FormatMilliseconds(*estimate.median_ns),
                       HalfWidthText(percent));
  const double ratio = estimate.estimate->ratio();
  return fmt::format("{} {:.3g}x {} {}", estimate.candidate, ratio >= 1 ? ratio : 1 / ratio,
                     ratio >= 1 ? "faster" : "slower", HalfWidthText(percent));
}

}  // namespace

ScreenSize SizeOfStderr() {
  const char* term = std::getenv("TERM");
  ScreenSize screen;
  screen.terminal = ::isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    screen.columns = size.ws_col;
    screen.rows = size.ws_row;
  }
  return screen;
}

std::string ProgressText(const ProgressUpdate& update, int width) {
  std::string text = update.what;
  if (text.empty()) text = fmt::format("launch {} of {}", update.launch, update.launches);
  if (update.what.empty() && !update.launch_finished) {
    text += update.round == 0 ? ", starting" : fmt::format(", round {} of {}", update.round, update.rounds);
  }
  const std::string time = fmt::format(" · {:.0f} s of at most {:.0f}", update.seconds, update.max_seconds);
  for (const ProgressUpdate::Estimate& estimate : update.estimates) {
    const std::string more = EstimateText(estimate);
    if (more.empty()) continue;
    if (DisplayWidth(text + " · " + more + time) > width) break;
    text += " · " + more;
  }
  if (DisplayWidth(text + time) <= width) text += time;
  return text;
}

ProgressLine::ProgressLine()
    : terminal_(SizeOfStderr().terminal), last_(std::chrono::steady_clock::now() - std::chrono::hours(1)) {}

ProgressLine::~ProgressLine() { Clear(); }

void ProgressLine::Clear() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  drawn_ = false;
}

void ProgressLine::Update(const ProgressUpdate& update) {
  const auto now = std::chrono::steady_clock::now();
  if (terminal_) {
    if (!update.launch_finished && drawn_ && now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    fmt::print(stderr, "\r{}\x1b[K", ForTerminal(ProgressText(update, SizeOfStderr().columns - 1)));
    std::fflush(stderr);
    drawn_ = true;
    return;
  }
  const bool news = update.launch_finished || !update.what.empty();
  if (!news || now - last_ < std::chrono::seconds(5)) return;
  last_ = now;
  fmt::print(stderr, "{}\n", ForTerminal(ProgressText(update, 200)));
}

void ProgressLine::Waiting(const std::string& text) {
  constexpr std::chrono::seconds kSilence(30);
  const auto now = std::chrono::steady_clock::now();
  if (terminal_) {
    fmt::print(stderr, "\r{}\x1b[K", text);
    drawn_ = true;
  } else if (!last_waiting_ || now - *last_waiting_ >= kSilence) {
    last_waiting_ = now;
    fmt::print(stderr, "{}\n", text);
  }
  std::fflush(stderr);
}

void ProgressLine::Message(const std::string& text) {
  Clear();
  fmt::print(stderr, "{}\n", Error(ExitCode::kDeviceFailed, text).Message());  // control characters escaped
}

}  // namespace etprof
