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

// Several devices behind this machine's shell share one folder, as several hosts share a board.
class DeviceLockTest : public ::testing::Test {
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
  // The folder of the run that holds the lock, or waits for it, with the description `who`.
  fs::path FindRun(const std::string& who) const {
    for (const auto& run : fs::directory_iterator(Runs())) {
      std::ifstream file(run.path() / "turn");
      std::string number, name;
      if (file >> number && std::getline(file >> std::ws, name) && name == who) return run.path();
    }
    return {};
  }
  // Makes the folder of another etprof's run with a ticket.
  fs::path MakeForeignRun(const std::string& id, int ticket, pid_t guard, const std::string& since) const {
    const fs::path run = Runs() / id;
    fs::create_directories(run / "pids");
    std::ofstream(run / "turn") << ticket << " somebody\n";
    std::ofstream(run / "since") << since << '\n';
    std::ofstream(run / "guard") << guard << '\n';
    return run;
  }
  void WaitFor(const std::function<bool()>& condition) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  fs::path root_;
};

TEST_F(DeviceLockTest, IsAcquiredInOrderOfArrival) {
  const auto first = Open();
  first->AcquireLock("anna, nightly", {});
  std::mutex mutex;
  std::vector<std::string> order, messages;
  const auto acquire_later = [&](const std::string& who) {
    return std::async(std::launch::async, [&, who] {
      const auto device = Open();
      device->AcquireLock(who, [&](const std::string& message) {
        const std::lock_guard lock(mutex);
        messages.push_back(who + " is " + message);
      });
      const std::lock_guard lock(mutex);
      order.push_back(who);
    });
  };
  const auto has_messages = [&](std::size_t count) {
    const std::lock_guard lock(mutex);
    return messages.size() == count;
  };
  const auto second = acquire_later("bert");
  WaitFor([&] { return has_messages(1); });
  const auto third = acquire_later("carl");
  WaitFor([&] { return has_messages(2); });
  EXPECT_TRUE(order.empty());
  first->ReleaseLock();
  second.wait();
  third.wait();
  EXPECT_EQ(order, (std::vector<std::string>{"bert", "carl"}));
  EXPECT_EQ(messages[0], "bert is waiting for anna, nightly");
  EXPECT_EQ(messages[1], "carl is waiting for anna, nightly and 1 more");
  first->AcquireLock("anna again", {});  // the queue is empty
}

TEST_F(DeviceLockTest, HasOneHolderAtATime) {
  std::atomic<int> holders = 0, max_holders = 0, acquisitions = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const auto device = i % 2 == 0 ? Open() : MakeLocalDevice();
      for (int n = 0; n < 2; ++n) {
        device->AcquireLock(fmt::format("thread {}", i), {});
        const int now = ++holders;
        if (now > max_holders) max_holders = now;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        ++acquisitions;
        --holders;
        device->ReleaseLock();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(max_holders, 1);
  EXPECT_EQ(acquisitions, 8);
}

TEST_F(DeviceLockTest, LocalFastPathMakesOtherRunsWait) {
  Open();  // makes the folder
  const auto local = MakeLocalDevice();
  local->AcquireLock("here", {});
  std::ifstream file(FindRun("here") / "guard");
  pid_t guard = 0;
  ASSERT_TRUE(file >> guard);
  EXPECT_EQ(guard, ::getpid());
  std::atomic<bool> other_waits = false;
  const auto other = std::async(std::launch::async, [&] {
    const auto device = Open();
    device->AcquireLock("other",
                        [&](const std::string& message) { other_waits = message == "waiting for here"; });
  });
  WaitFor([&] { return other_waits.load(); });
  local->ReleaseLock();
  other.wait();
  local->AcquireLock("here again", {});
  EXPECT_FALSE(FindRun("here again").empty());
  local->ReleaseLock();
  WaitFor([&] { return fs::is_empty(Runs()); });
}

TEST_F(DeviceLockTest, EndsProcessesOfADeadHolder) {
  const auto holder = Open();
  holder->AcquireLock("holder", {});
  const fs::path run = FindRun("holder");
  const auto orphan = holder->Start({{"/bin/sleep", "600"}, {}, {}}, {});
  // The PID is written after the file is created.
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
  next->AcquireLock("next", {});
  EXPECT_FALSE(fs::exists(run));
  EXPECT_TRUE(orphan->Wait(120).has_value());
}

TEST_F(DeviceLockTest, ReusedPidIsNotTheGuard) {
  const auto device = Open();
  const fs::path dead = MakeForeignRun("1700000000-0123abcd", 1, ::getpid(), "another time");
  device->AcquireLock("next", {});
  EXPECT_FALSE(fs::exists(dead));
}

TEST_F(DeviceLockTest, RunWithAnEmptyGuardFileIsAlive) {
  std::atomic<bool> interrupted = false;
  const auto device = Open([&] { return interrupted.load(); });
  const fs::path starting = MakeForeignRun("1700000000-0123abcd", 1, 0, "now");
  std::ofstream(starting / "guard").close();
  EXPECT_THROW(device->AcquireLock("next", [&](const std::string&) { interrupted = true; }), Error);
  EXPECT_TRUE(fs::exists(starting));
}

TEST_F(DeviceLockTest, InterruptedRunLeavesTheQueue) {
  const auto holder = Open();
  holder->AcquireLock("holder", {});
  std::atomic<bool> interrupted = false;
  const auto waiter = std::async(std::launch::async, [&] {
    const auto device = Open([&] { return interrupted.load(); });
    try {
      device->AcquireLock("impatient", {});
    } catch (const Error& error) {
      return error.exit_code() == ExitCode::kInterrupted;
    }
    return false;
  });
  WaitFor([&] { return !FindRun("impatient").empty(); });
  interrupted = true;
  waiter.wait();
  WaitFor([&] { return FindRun("impatient").empty(); });
}

TEST_F(DeviceLockTest, QuotesHostileNames) {
  const auto first = Open();
  first->AcquireLock("a'b $(touch x)\n`c`\t1", {});
  EXPECT_FALSE(fs::exists("x"));
  std::string message;
  std::atomic<bool> interrupted = false;
  const auto second = Open([&] { return interrupted.load(); });
  EXPECT_THROW(second->AcquireLock("second",
                                   [&](const std::string& text) {
                                     message = text;
                                     interrupted = true;
                                   }),
               Error);
  EXPECT_TRUE(message.starts_with("waiting for a'b $(touch x)")) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(ParseLockState, ParsesEveryLine) {
  EXPECT_TRUE(ParseLockState("ours\n").acquired);
  EXPECT_TRUE(ParseLockState("lost\r\n").lost);
  const DeviceLockState lock = ParseLockState("before\t2\tanna, nightly\r\n");
  EXPECT_EQ(lock.holder, "anna, nightly");
  EXPECT_EQ(lock.runs_ahead, 2);
  EXPECT_FALSE(lock.acquired);
}

}  // namespace
}  // namespace etprof
