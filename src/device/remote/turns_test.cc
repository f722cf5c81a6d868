#include "device/remote/turns.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "device/device.h"
#include "device/local/local.h"
#include "device/remote/remote.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

// Devices of this machine's shell, which share a folder as several hosts share a board.
class Turns : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / fmt::format("etprof-turns-{}", ::getpid());
    fs::remove_all(root_);
    fs::create_directories(root_);
    ::setenv("ETPROF_DEVICE_DIR", root_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("ETPROF_DEVICE_DIR");
    fs::remove_all(root_);
  }

  std::unique_ptr<Device> Open(std::function<bool()> interrupted = {}) const {
    RemoteOptions options;
    options.interrupted = std::move(interrupted);
    return MakeRemoteDevice(MakeLocalConnection(), options);
  }
  fs::path Runs() const { return root_ / "etprof" / "runs"; }
  // The folder of the run that has the turn, or waits for it, as `who`.
  fs::path RunOf(const std::string& who) const {
    for (const auto& run : fs::directory_iterator(Runs())) {
      std::ifstream file(run.path() / "turn");
      std::string number, name;
      if (file >> number && std::getline(file >> std::ws, name) && name == who) return run.path();
    }
    return {};
  }
  // A run of somebody else, with a number.
  fs::path MakeRun(const std::string& id, int turn, pid_t guard, const std::string& since) const {
    const fs::path run = Runs() / id;
    fs::create_directories(run / "pids");
    std::ofstream(run / "turn") << turn << " somebody\n";
    std::ofstream(run / "since") << since << '\n';
    std::ofstream(run / "guard") << guard << '\n';
    return run;
  }
  void WaitFor(const std::function<bool()>& true_now) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (!true_now()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  fs::path root_;
};

TEST_F(Turns, WhoComesFirstIsFirstAndOthersSayForWhom) {
  const auto first = Open();
  first->TakeTurn("anna, nightly", {});
  std::mutex mutex;
  std::vector<std::string> order, waited;
  const auto wait = [&](const std::string& who) {
    return std::async(std::launch::async, [&, who] {
      const auto device = Open();
      device->TakeTurn(who, [&](const std::string& text) {
        const std::lock_guard lock(mutex);
        waited.push_back(who + " is " + text);
      });
      const std::lock_guard lock(mutex);
      order.push_back(who);
    });
  };
  const auto said = [&](std::size_t count) {
    const std::lock_guard lock(mutex);
    return waited.size() == count;
  };
  const auto second = wait("bert");
  WaitFor([&] { return said(1); });
  const auto third = wait("carl");
  WaitFor([&] { return said(2); });
  EXPECT_TRUE(order.empty());
  first->EndTurn();
  second.wait();
  third.wait();
  EXPECT_EQ(order, (std::vector<std::string>{"bert", "carl"}));
  EXPECT_EQ(waited[0], "bert is waiting for anna, nightly");
  EXPECT_EQ(waited[1], "carl is waiting for anna, nightly and 1 more");
  first->TakeTurn("anna again", {});  // nobody is left
}

TEST_F(Turns, MoreThanOneNeverHasIt) {
  std::atomic<int> inside = 0, most = 0, turns = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const auto device = i % 2 == 0 ? Open() : MakeLocalDevice();
      for (int n = 0; n < 2; ++n) {
        device->TakeTurn(fmt::format("thread {}", i), {});
        const int now = ++inside;
        if (now > most) most = now;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        ++turns;
        --inside;
        device->EndTurn();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(turns, 8);
}

TEST_F(Turns, ThisMachineAloneTakesItWithoutAShellAndOthersWait) {
  Open();  // makes the folder
  const auto here = MakeLocalDevice();
  here->TakeTurn("here", {});
  std::ifstream file(RunOf("here") / "guard");
  pid_t guard = 0;
  ASSERT_TRUE(file >> guard);
  EXPECT_EQ(guard, ::getpid());
  std::atomic<bool> waits = false;
  const auto other = std::async(std::launch::async, [&] {
    const auto device = Open();
    device->TakeTurn("other", [&](const std::string& text) { waits = text == "waiting for here"; });
  });
  WaitFor([&] { return waits.load(); });
  here->EndTurn();
  other.wait();
  here->TakeTurn("here again", {});
  EXPECT_FALSE(RunOf("here again").empty());
  here->EndTurn();
  WaitFor([&] { return fs::is_empty(Runs()); });
}

TEST_F(Turns, WhatADeadHolderLeftIsEndedFirst) {
  const auto holder = Open();
  holder->TakeTurn("holder", {});
  const fs::path run = RunOf("holder");
  const auto left = holder->Start({{"/bin/sleep", "600"}, {}, {}}, {});
  // Its number is written once its file is there.
  WaitFor([&] {
    if (fs::is_empty(run / "pids")) return false;
    std::string number;
    std::getline(std::ifstream(fs::directory_iterator(run / "pids")->path()), number);
    return !number.empty();
  });
  pid_t guard = 0;
  std::ifstream(run / "guard") >> guard;
  ::kill(guard, SIGKILL);
  const auto next = Open();
  next->TakeTurn("next", {});
  EXPECT_FALSE(fs::exists(run));
  EXPECT_TRUE(left->Wait(120).has_value());
}

TEST_F(Turns, ANumberOfAProcessThatCameAgainIsNotTheGuard) {
  const auto device = Open();
  const fs::path dead = MakeRun("1700000000-0123abcd", 1, ::getpid(), "another time");
  device->TakeTurn("next", {});
  EXPECT_FALSE(fs::exists(dead));
}

TEST_F(Turns, WhoIsAboutToWriteItsGuardIsNotOver) {
  std::atomic<bool> interrupted = false;
  const auto device = Open([&] { return interrupted.load(); });
  const fs::path begun = MakeRun("1700000000-0123abcd", 1, 0, "now");
  std::ofstream(begun / "guard").close();
  EXPECT_THROW(device->TakeTurn("next", [&](const std::string&) { interrupted = true; }), Error);
  EXPECT_TRUE(fs::exists(begun));
}

TEST_F(Turns, WhoIsInterruptedLeavesTheQueue) {
  const auto holder = Open();
  holder->TakeTurn("holder", {});
  std::atomic<bool> interrupted = false;
  const auto waiting = std::async(std::launch::async, [&] {
    const auto device = Open([&] { return interrupted.load(); });
    try {
      device->TakeTurn("impatient", {});
    } catch (const Error& error) {
      return error.exit_code() == ExitCode::kInterrupted;
    }
    return false;
  });
  WaitFor([&] { return !RunOf("impatient").empty(); });
  interrupted = true;
  waiting.wait();
  WaitFor([&] { return RunOf("impatient").empty(); });
}

TEST_F(Turns, HostileNamesAreWords) {
  const auto first = Open();
  first->TakeTurn("a'b $(touch x)\n`c`\t1", {});
  EXPECT_FALSE(fs::exists("x"));
  std::string text;
  std::atomic<bool> interrupted = false;
  const auto second = Open([&] { return interrupted.load(); });
  EXPECT_THROW(second->TakeTurn("second",
                                [&](const std::string& said) {
                                  text = said;
                                  interrupted = true;
                                }),
               Error);
  EXPECT_TRUE(text.starts_with("waiting for a'b $(touch x)")) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(ReadTurn, Answers) {
  EXPECT_TRUE(ReadTurn("ours\n").ours);
  EXPECT_TRUE(ReadTurn("lost\r\n").lost);
  const Turn turn = ReadTurn("before\t2\tanna, nightly\r\n");
  EXPECT_EQ(turn.before, "anna, nightly");
  EXPECT_EQ(turn.waiting, 2);
  EXPECT_FALSE(turn.ours);
}

}  // namespace
}  // namespace etprof
