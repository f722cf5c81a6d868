#include "commands/terminal/terminal_progress.h"

#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <thread>

#include "core/golden_testing.h"

namespace etprof {
namespace {

// The lines that a terminal shows after interpreting cursor movements.
std::vector<std::string> LinesOnTerminal(const std::string& written) {
  std::vector<std::string> lines = {""};
  std::size_t row = 0;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written.compare(i, 2, "\x1b[") == 0) {
      std::size_t number = 0;
      for (i += 2; std::isdigit(static_cast<unsigned char>(written[i])) != 0; ++i)
        number = number * 10 + static_cast<std::size_t>(written[i] - '0');
      if (written[i] == 'A') row -= number;
      if (written[i] == 'J') {
        lines.resize(row + 1);
        lines[row].clear();
      }
    } else if (written[i] == '\n') {
      if (++row == lines.size()) lines.emplace_back();
    } else if (written[i] == '\r') {
      lines[row].clear();
    } else {
      lines[row] += written[i];
    }
  }
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

ProgressUpdate FinishedLaunch(int launch) {
  ProgressUpdate update;
  update.launch = launch;
  update.launches = 10;
  update.launch_finished = true;
  update.max_seconds = 60;
  return update;
}

struct Screen {
  ScreenSize size;
  std::string written;
  TerminalProgress::WriteFunction Writer() {
    return [this](const std::string& text) { written += text; };
  }
  TerminalProgress::Screen Size() {
    return [this] { return size; };
  }
};

TEST(TerminalProgress, TerminalHasOneLinePerDevice) {
  Screen screen{{true, 80, 24}, ""};
  {
    TerminalProgress progress({"local", "ssh:board"}, screen.Writer(), screen.Size());
    progress.State(0, "connecting");
    progress.State(1, "connecting");
    progress.GetDeviceProgress(0)->Update(FinishedLaunch(3));
    EXPECT_THAT(LinesOnTerminal(screen.written),
                testing::ElementsAre("local      launch 3 (next check at 10) · 0 s of 60 s max",
                                     "ssh:board  connecting"));
    progress.GetDeviceProgress(1)->Message("the connection was lost");
    progress.GetDeviceProgress(1)->Update(FinishedLaunch(4));
    ExpectGolden("commands/progress_on_terminal", LinesOnTerminal(screen.written));
  }
  // Progress is erased, messages stay.
  EXPECT_THAT(LinesOnTerminal(screen.written), testing::ElementsAre("ssh:board: the connection was lost"));
}

TEST(TerminalProgress, FitsTheTerminal) {
  Screen screen{{true, 12, 3}, ""};
  TerminalProgress progress({"local", "ssh:a-very-long-name", "adb:c", "adb:d"}, screen.Writer(),
                            screen.Size());
  for (std::size_t i = 0; i < 4; ++i) progress.GetDeviceProgress(i)->Update(FinishedLaunch(1));
  const std::vector<std::string> shown = LinesOnTerminal(screen.written);
  EXPECT_EQ(shown.size(), 2u);
  for (const std::string& line : shown) EXPECT_LT(line.size(), 12u) << line;
}

// Output written within the interval between two lines. Tries again if the machine was stalled for that long.
std::string WriteWithinInterval(const std::vector<std::string>& devices,
                                const std::function<void(TerminalProgress&)>& write) {
  while (true) {
    Screen screen{{false, 80, 24}, ""};
    const auto start = std::chrono::steady_clock::now();
    TerminalProgress progress(devices, screen.Writer(), screen.Size());
    write(progress);
    if (std::chrono::steady_clock::now() - start < std::chrono::seconds(4)) return screen.written;
  }
}

TEST(TerminalProgress, AppendsLinesWithNamesWithoutATerminal) {
  const std::string written = WriteWithinInterval({"local", "ssh:board"}, [](TerminalProgress& progress) {
    progress.GetDeviceProgress(0)->Update(FinishedLaunch(1));
    progress.GetDeviceProgress(0)->Update(FinishedLaunch(2));  // within five seconds
    progress.GetDeviceProgress(1)->Update(FinishedLaunch(1));  // a different device
    progress.GetDeviceProgress(1)->Message("ssh:board: pushing model.pte");
    progress.GetDeviceProgress(1)->Message("worse\x1b[2J");
  });
  ExpectGolden("commands/progress_without_terminal", written);
}

TEST(TerminalProgress, SkipsCountedStepsWithoutATerminal) {
  const std::string written = WriteWithinInterval({""}, [](TerminalProgress& progress) {
    progress.Step("exporting net (fp32)", 1, 8);
    progress.Step("exporting other (fp32)", 2, 8);  // within the interval between two lines
    progress.Step("connecting", 0, 0);
  });
  EXPECT_EQ(written, "exporting net (fp32) 1 of 8\nconnecting\n");
}

TEST(TerminalProgress, LinesOfThreadsStaySeparate) {
  Screen screen{{false, 80, 24}, ""};
  TerminalProgress progress({"a", "b", "c"}, screen.Writer(), screen.Size());
  std::vector<std::thread> threads;
  for (std::size_t device = 0; device < 3; ++device) {
    threads.emplace_back([&, device] {
      for (int i = 0; i < 200; ++i) progress.GetDeviceProgress(device)->Message("xxxxxxxxxxxxxxxxxxxxxxxx");
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::size_t lines = 0;
  for (const std::string& line : LinesOnTerminal(screen.written)) {
    EXPECT_EQ(line.substr(1), ": xxxxxxxxxxxxxxxxxxxxxxxx");
    ++lines;
  }
  EXPECT_EQ(lines, 600u);
}

}  // namespace
}  // namespace etprof
