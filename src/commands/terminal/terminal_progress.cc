#include "commands/terminal/terminal_progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "commands/terminal/terminal.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/text/escape.h"
#include "core/units.h"
#include "show/wording.h"

namespace etprof {
namespace {

std::atomic<bool> g_interrupted = false;  // set by the signal handler, which can access nothing else
static_assert(std::atomic<bool>::is_always_lock_free);

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

void OnSignal(int) {
  // The second signal exits at once: workers end when their stdin closes, or with their parent.
  if (!g_interrupted.exchange(true)) return;
  RemoveUnfinishedTemporaries();
  ::_exit(static_cast<int>(ExitCode::kInterrupted));
}

constexpr auto kDrawInterval = std::chrono::milliseconds(100);
constexpr auto kWriteInterval = std::chrono::seconds(5);
constexpr auto kWaitingInterval = std::chrono::seconds(30);
constexpr int kMaxLineWithoutTerminal = 200;

// Returns whether `interval` has passed since `last`; if so, sets `last` to now.
bool IsDue(std::chrono::steady_clock::time_point& last, std::chrono::steady_clock::duration interval) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last < interval) return false;
  last = now;
  return true;
}

constexpr double kMinShareShownAsWhole = 0.995;  // shares from here on would print as 100%

// The intervals of the first launches may be wider than 100%.
std::string HalfWidthText(double percent) {
  return percent > 100 ? "±>100%" : fmt::format("±{:.2g}%", percent);
}

// With `is_named`, the text begins with the name of the candidate, which a single estimate does not need.
std::string EstimateText(const ProgressUpdate::Estimate& estimate, bool is_named) {
  if (!estimate.estimate) return "";
  const double percent = 100 * estimate.estimate->half_width();
  const std::string name = is_named ? estimate.candidate + " " : "";
  if (estimate.median_ns)
    return fmt::format("{}{} {}", name, FormatMilliseconds(*estimate.median_ns), HalfWidthText(percent));
  const double ratio = estimate.estimate->ratio();
  return fmt::format("{}{} {}", name,
                     ratio >= 1 ? RatioPhrase(ratio, "faster") : RatioPhrase(1 / ratio, "slower"),
                     HalfWidthText(percent));
}

// The planned launches grow with every interim analysis that does not stop the measurement, so they are not a
// total.
std::string LaunchText(const ProgressUpdate& update) {
  if (update.launches_given) return fmt::format("launch {} of {}", update.launch, update.launches);
  if (update.launch >= update.launches) return fmt::format("launch {}", update.launch);
  return fmt::format("launch {} (next check at {})", update.launch, update.launches);
}

std::string CleanShareText(const ProgressUpdate& update) {
  if (!update.clean_share || *update.clean_share >= kMinShareShownAsWhole) return "";
  return fmt::format(" · {:.0f}% clean", 100 * *update.clean_share);
}

std::string TimeText(const ProgressUpdate& update) {
  if (update.max_seconds <= 0) return fmt::format(" · {:.0f} s", update.seconds);
  return fmt::format(" · {:.0f} s of {:.0f} s max", update.seconds, update.max_seconds);
}

}  // namespace

ScreenSize StderrSize() {
  ScreenSize screen;
  screen.is_terminal = SupportsEscapeSequences(STDERR_FILENO);
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    screen.columns = size.ws_col;
    screen.rows = size.ws_row;
  }
  return screen;
}

std::string ProgressText(const ProgressUpdate& update, int width) {
  std::string text = update.activity;
  if (text.empty()) text = LaunchText(update);
  if (update.activity.empty() && !update.launch_finished) {
    text += update.round == 0 ? ", starting" : fmt::format(", round {} of {}", update.round, update.rounds);
  }
  const std::string clean = CleanShareText(update), time = TimeText(update);
  for (const ProgressUpdate::Estimate& estimate : update.estimates) {
    const std::string part = EstimateText(estimate, update.estimates.size() > 1);
    if (part.empty()) continue;
    if (DisplayWidth(text + " · " + part + clean + time) > width) break;
    text += " · " + part;
  }
  for (const std::string& part : {clean, time}) {
    if (DisplayWidth(text + part) <= width) text += part;
  }
  return text;
}

InterruptionScope::InterruptionScope() {
  g_interrupted = false;
  struct sigaction action {};
  action.sa_handler = OnSignal;  // without SA_RESTART, so that a wait ends at once
  sigemptyset(&action.sa_mask);  // a macro on macOS
  for (std::size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &action, &old_actions_[i]);
}

InterruptionScope::~InterruptionScope() {
  for (std::size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &old_actions_[i], nullptr);
}

bool TerminalProgress::Interrupted() const { return g_interrupted; }

class TerminalProgress::DeviceProgress : public Progress {
 public:
  DeviceProgress(TerminalProgress& parent, std::size_t device) : parent_(parent), device_(device) {}
  void Update(const ProgressUpdate& update) override { parent_.Update(device_, update); }
  void Waiting(const std::string& text) override { parent_.Waiting(device_, text); }
  void Message(const std::string& text) override { parent_.Message(device_, text); }

 private:
  TerminalProgress& parent_;
  std::size_t device_;
};

TerminalProgress::TerminalProgress(std::vector<std::string> devices)
    : TerminalProgress(
          std::move(devices), [](const std::string& text) { WriteToStderr(EncodeForTerminal(text)); },
          StderrSize) {}

TerminalProgress::TerminalProgress(std::vector<std::string> devices, WriteFunction write, Screen screen)
    : devices_(devices.empty() ? std::vector<std::string>{""} : std::move(devices)),
      write_(std::move(write)),
      screen_(std::move(screen)),
      terminal_(screen_().is_terminal),
      last_drawn_(std::chrono::steady_clock::now() - std::chrono::hours(1)) {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    lines_.push_back({"", last_drawn_, last_drawn_});
    device_progresses_.push_back(std::make_unique<DeviceProgress>(*this, i));
  }
}

TerminalProgress::~TerminalProgress() {
  const std::lock_guard lock(mutex_);
  if (drawn_lines_ > 0) write_(EraseSequence());
}

std::string TerminalProgress::EraseSequence() const {
  return drawn_lines_ > 0 ? fmt::format("\r\x1b[{}A\x1b[J", drawn_lines_) : "";
}

std::string TerminalProgress::WithDeviceName(std::size_t device, const std::string& text) const {
  const std::string& name = devices_[device];
  const bool has_name = name.empty() || text.starts_with(name + ":") || text.starts_with(name + " ");
  return EscapeToOneLine(has_name ? text : name + ": " + text);
}

int TerminalProgress::NameWidth() const {
  int widest = 0;
  for (const std::string& name : devices_) widest = std::max(widest, DisplayWidth(EscapeToOneLine(name)));
  return widest == 0 ? 0 : widest + 2;
}

void TerminalProgress::WriteAbove(const std::string& line) {
  const std::lock_guard lock(mutex_);
  const bool was_drawn = drawn_lines_ > 0;
  write_(EraseSequence() + line + "\n");
  drawn_lines_ = 0;
  if (was_drawn) Draw(true);
}

void TerminalProgress::Message(const std::string& text) { WriteAbove(EscapeToOneLine(text)); }

void TerminalProgress::Message(std::size_t device, const std::string& text) {
  WriteAbove(WithDeviceName(device, text));
}

void TerminalProgress::Step(const std::string& text, int done, int total) {
  const std::lock_guard lock(mutex_);
  Line& line = lines_.front();
  line.text = EscapeToOneLine(text) + (total > 0 ? fmt::format(" {} of {}", done, total) : "");
  if (terminal_) return Draw(true);
  if (total == 0) line.last_written = {};  // uncounted steps are always written
  if (IsDue(line.last_written, kWriteInterval)) write_(line.text + "\n");
}

void TerminalProgress::State(std::size_t device, const std::string& text) {
  const std::lock_guard lock(mutex_);
  lines_.at(device).text = EscapeToOneLine(text);
  if (terminal_) return Draw(true);
  write_(WithDeviceName(device, text) + "\n");
}

void TerminalProgress::Update(std::size_t device, const ProgressUpdate& update) {
  const std::lock_guard lock(mutex_);
  Line& line = lines_.at(device);
  if (terminal_) {
    line.text = EscapeToOneLine(ProgressText(update, screen_().columns - 1 - NameWidth()));
    return Draw(update.launch_finished);
  }
  const bool is_new = update.launch_finished || !update.activity.empty();
  if (is_new && IsDue(line.last_written, kWriteInterval))
    write_(WithDeviceName(device, ProgressText(update, kMaxLineWithoutTerminal)) + "\n");
}

void TerminalProgress::Waiting(std::size_t device, const std::string& text) {
  const std::lock_guard lock(mutex_);
  Line& line = lines_.at(device);
  line.text = EscapeToOneLine(text);
  if (terminal_) return Draw(false);
  if (IsDue(line.last_waiting, kWaitingInterval)) write_(WithDeviceName(device, text) + "\n");
}

void TerminalProgress::Draw(bool immediately) {
  const auto now = std::chrono::steady_clock::now();
  if (!immediately && drawn_lines_ > 0 && now - last_drawn_ < kDrawInterval) return;
  last_drawn_ = now;
  const ScreenSize screen = screen_();
  std::string text = EraseSequence();
  drawn_lines_ = 0;
  // The cursor cannot move above the screen's first line.
  const auto shown_count = std::min(devices_.size(), static_cast<std::size_t>(std::max(1, screen.rows - 1)));
  for (std::size_t i = 0; i < shown_count; ++i) {
    const std::string name = EscapeToOneLine(devices_[i]);
    const auto padding = static_cast<std::size_t>(NameWidth() - DisplayWidth(name));
    std::string line = name + std::string(padding, ' ') + lines_[i].text;
    if (DisplayWidth(line) > screen.columns - 1) {
      line = name;  // the terminal would wrap a longer line
      if (DisplayWidth(line) > screen.columns - 1) line = fmt::format("{}", i + 1);
    }
    text += line + "\n";
    ++drawn_lines_;
  }
  write_(text);
}

}  // namespace etprof
