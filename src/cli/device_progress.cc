#include "cli/device_progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/escape.h"
#include "core/table.h"

namespace etprof {
namespace {

constexpr auto kDrawEvery = std::chrono::milliseconds(100);
constexpr auto kWriteEvery = std::chrono::seconds(5);
constexpr auto kWaitingEvery = std::chrono::seconds(30);
constexpr int kWideLine = 200;

}  // namespace

class DeviceProgress::One : public Progress {
 public:
  One(DeviceProgress& all, std::size_t device) : all_(all), device_(device) {}
  void Update(const ProgressUpdate& update) override { all_.Update(device_, update); }
  void Waiting(const std::string& text) override { all_.Waiting(device_, text); }
  void Message(const std::string& text) override { all_.Message(device_, text); }

 private:
  DeviceProgress& all_;
  std::size_t device_;
};

DeviceProgress::DeviceProgress(std::vector<std::string> devices, Write write, Screen screen)
    : devices_(std::move(devices)),
      write_(std::move(write)),
      screen_(std::move(screen)),
      terminal_(screen_().terminal),
      last_drawn_(std::chrono::steady_clock::now() - std::chrono::hours(1)) {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    lines_.push_back({"", last_drawn_, last_drawn_});
    ones_.push_back(std::make_unique<One>(*this, i));
  }
}

DeviceProgress::~DeviceProgress() {
  const std::lock_guard lock(mutex_);
  if (drawn_ > 0) write_(Erased());
}

Progress& DeviceProgress::Of(std::size_t device) { return *ones_.at(device); }

std::string DeviceProgress::Erased() const {
  return drawn_ > 0 ? fmt::format("\r\x1b[{}A\x1b[J", drawn_) : "";
}

std::string DeviceProgress::Named(std::size_t device, const std::string& text) const {
  const std::string& name = devices_[device];
  const bool named = text.starts_with(name + ":") || text.starts_with(name + " ");
  return OneLine(named ? text : name + ": " + text);
}

void DeviceProgress::State(std::size_t device, const std::string& text) {
  const std::lock_guard lock(mutex_);
  lines_.at(device).text = OneLine(text);
  if (terminal_) {
    Draw(true);
  } else {
    write_(Named(device, text) + "\n");
  }
}

void DeviceProgress::Update(std::size_t device, const ProgressUpdate& update) {
  const std::lock_guard lock(mutex_);
  Line& line = lines_.at(device);
  if (terminal_) {
    int widest = 0;
    for (const std::string& name : devices_) widest = std::max(widest, DisplayWidth(OneLine(name)));
    line.text = OneLine(ProgressText(update, screen_().columns - 1 - widest - 2));
    Draw(update.launch_finished);
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  const bool news = update.launch_finished || !update.what.empty();
  if (!news || now - line.last_written < kWriteEvery) return;
  line.last_written = now;
  write_(Named(device, ProgressText(update, kWideLine)) + "\n");
}

void DeviceProgress::Waiting(std::size_t device, const std::string& text) {
  const std::lock_guard lock(mutex_);
  Line& line = lines_.at(device);
  line.text = OneLine(text);
  if (terminal_) {
    Draw(false);
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - line.last_waiting < kWaitingEvery) return;
  line.last_waiting = now;
  write_(Named(device, text) + "\n");
}

void DeviceProgress::Message(std::size_t device, const std::string& text) {
  const std::lock_guard lock(mutex_);
  write_(Erased() + Named(device, text) + "\n");
  drawn_ = 0;
  if (terminal_) Draw(true);
}

void DeviceProgress::Draw(bool at_once) {
  const auto now = std::chrono::steady_clock::now();
  if (!at_once && drawn_ > 0 && now - last_drawn_ < kDrawEvery) return;
  last_drawn_ = now;
  const ScreenSize screen = screen_();
  int widest = 0;
  for (const std::string& name : devices_) widest = std::max(widest, DisplayWidth(OneLine(name)));
  std::string text = Erased();
  drawn_ = 0;
  // The cursor cannot be moved above the screen's first line.
  const auto shown = std::min(devices_.size(), static_cast<std::size_t>(std::max(1, screen.rows - 1)));
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string name = OneLine(devices_[i]);
    const auto blanks = static_cast<std::size_t>(widest - DisplayWidth(name) + 2);
    std::string line = name + std::string(blanks, ' ') + lines_[i].text;
    if (DisplayWidth(line) > screen.columns - 1) {
      line = name;  // rather than a line that the terminal breaks into two
      if (DisplayWidth(line) > screen.columns - 1) line = fmt::format("{}", i + 1);
    }
    text += line + "\n";
    ++drawn_;
  }
  write_(text);
}

}  // namespace etprof
