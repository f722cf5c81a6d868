#include "cli/progress_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "cli/say.h"
#include "cli/stdout_terminal.h"
#include "core/table.h"
#include "core/units.h"

namespace etprof {
namespace {

constexpr double kAllClean = 0.995;  // a share from here on would be shown as 100%

// The first launches may know next to nothing.
std::string HalfWidthText(double percent) {
  return percent > 100 ? "±>100%" : fmt::format("±{:.2g}%", percent);
}

// Where there is one estimate only, it needs no name.
std::string EstimateText(const ProgressUpdate::Estimate& estimate, bool named) {
  if (!estimate.estimate) return "";
  const double percent = 100 * estimate.estimate->half_width();
  const std::string name = named ? estimate.candidate + " " : "";
  if (estimate.median_ns)
    return fmt::format("{}{} {}", name, FormatMilliseconds(*estimate.median_ns), HalfWidthText(percent));
  const double ratio = estimate.estimate->ratio();
  return fmt::format("{}{:.2f}x {} {}", name, ratio >= 1 ? ratio : 1 / ratio,
                     ratio >= 1 ? "faster" : "slower", HalfWidthText(percent));
}

// The number of launches grows with every look of the stop rule that does not end it, so it is no total.
std::string LaunchText(const ProgressUpdate& update) {
  if (update.launches_given) return fmt::format("launch {} of {}", update.launch, update.launches);
  if (update.launch >= update.launches) return fmt::format("launch {}", update.launch);
  return fmt::format("launch {} (next check at {})", update.launch, update.launches);
}

std::string CleanText(const ProgressUpdate& update) {
  if (!update.clean_share || *update.clean_share >= kAllClean) return "";
  return fmt::format(" · {:.0f}% clean", 100 * *update.clean_share);
}

std::string TimeText(const ProgressUpdate& update) {
  if (update.max_seconds <= 0) return fmt::format(" · {:.0f} s", update.seconds);
  return fmt::format(" · {:.0f} s of {:.0f} s max", update.seconds, update.max_seconds);
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
  if (text.empty()) text = LaunchText(update);
  if (update.what.empty() && !update.launch_finished) {
    text += update.round == 0 ? ", starting" : fmt::format(", round {} of {}", update.round, update.rounds);
  }
  const std::string clean = CleanText(update), time = TimeText(update);
  for (const ProgressUpdate::Estimate& estimate : update.estimates) {
    const std::string more = EstimateText(estimate, update.estimates.size() > 1);
    if (more.empty()) continue;
    if (DisplayWidth(text + " · " + more + clean + time) > width) break;
    text += " · " + more;
  }
  for (const std::string& more : {clean, time}) {
    if (DisplayWidth(text + more) <= width) text += more;
  }
  return text;
}

ProgressLine::ProgressLine()
    : terminal_(SizeOfStderr().terminal), last_(std::chrono::steady_clock::now() - std::chrono::hours(1)) {}

ProgressLine::~ProgressLine() { Clear(); }

void ProgressLine::Clear() {
  if (drawn_) Say("\r\x1b[K");
  drawn_ = false;
}

void ProgressLine::Update(const ProgressUpdate& update) {
  const auto now = std::chrono::steady_clock::now();
  if (terminal_) {
    if (!update.launch_finished && drawn_ && now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    Say("\r{}\x1b[K", ForTerminal(ProgressText(update, SizeOfStderr().columns - 1)));
    drawn_ = true;
    return;
  }
  const bool news = update.launch_finished || !update.what.empty();
  if (!news || now - last_ < std::chrono::seconds(5)) return;
  last_ = now;
  Say("{}\n", ForTerminal(ProgressText(update, 200)));
}

void ProgressLine::Waiting(const std::string& text) {
  constexpr std::chrono::seconds kSilence(30);
  const auto now = std::chrono::steady_clock::now();
  if (terminal_) {
    Say("\r{}\x1b[K", text);
    drawn_ = true;
  } else if (!last_waiting_ || now - *last_waiting_ >= kSilence) {
    last_waiting_ = now;
    Say("{}\n", text);
  }
}

void ProgressLine::Message(const std::string& text) {
  Clear();
  Say("{}\n", text);
}

}  // namespace etprof
