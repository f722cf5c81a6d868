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
#include "device/remote/connection.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

// Several devices behind this machine's shell share one folder, as several hosts share a board.
class DeviceLockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / fmt::format("etprof-lock-{}", ::getpid());
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
  // Makes the folder of another etprof's run.
  fs::path MakeForeignRun(const std::string& id, pid_t guard, const std::string& since) const {
    const fs::path run = Runs() / id;
    fs::create_directories(run / "pids");
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

TEST_F(DeviceLockTest, GoesToTheProcessThatWaitedLongest) {
  const auto first = Open();
  first->AcquireLock("anna, nightly", {});
  std::mutex mutex;
  std::vector<std::string> order, messages;
  const auto acquire_later = [&](const std::string& owner) {
    return std::async(std::launch::async, [&, owner] {
      const auto device = Open();
      device->AcquireLock(owner, [&](const std::string& message) {
        const std::lock_guard lock(mutex);
        messages.push_back(owner + " is " + message);
      });
      const std::lock_guard lock(mutex);
      order.push_back(owner);
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
  EXPECT_EQ(messages[1], "carl is waiting for anna, nightly");
  first->AcquireLock("anna again", {});  // nobody waits
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

// A suite locks the device separately for each cell. Between two cells, a waiting suite gets the lock.
TEST_F(DeviceLockTest, IsNotTakenTwiceWhileAnotherRunWaits) {
  const auto first = MakeLocalDevice();
  first->AcquireLock("first", {});
  std::atomic<bool> waits = false, acquired = false, released = false;
  const auto other = std::async(std::launch::async, [&] {
    const auto device = Open();
    device->AcquireLock("other", [&](const std::string& message) { waits = message == "waiting for first"; });
    acquired = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    released = true;
  });
  WaitFor([&] { return waits.load(); });
  first->ReleaseLock();
  first->AcquireLock("first again", {});
  EXPECT_TRUE(acquired && released);
  other.wait();
  first->ReleaseLock();
  WaitFor([&] { return fs::is_empty(Runs()); });
}

// A run whose guard was killed no longer has the lock, but its processes may still run.
TEST_F(DeviceLockTest, EndsProcessesOfADeadHolder) {
  const auto holder = Open();
  holder->AcquireLock("holder", {});
  const fs::path run = fs::directory_iterator(Runs())->path();
  const auto orphan = holder->Start({{"/bin/sleep", "600"}, {}, {}}, {});
  const auto next = Open();
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
  next->AcquireLock("next", {});
  EXPECT_FALSE(fs::exists(run));
  EXPECT_TRUE(orphan->Wait(120).has_value());
}

// On a system without flock(1), such as macOS, perl locks the same files.
TEST_F(DeviceLockTest, IsTheSameWithPerl) {
  if (std::system("command -v perl >/dev/null") != 0) GTEST_SKIP() << "this machine has no perl";
  const auto with_flock = Open();
  with_flock->AcquireLock("flock", {});
  const fs::path tools = root_ / "tools";
  fs::create_directories(tools);
  for (const char* folder : {"/bin", "/usr/bin"}) {
    for (const auto& tool : fs::directory_iterator(folder)) {
      std::error_code ignored;
      if (tool.path().filename() != "flock")
        fs::create_symlink(tool.path(), tools / tool.path().filename(), ignored);
    }
  }
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", tools.c_str(), 1);
  std::atomic<bool> waits = false;
  const auto with_perl = Open();
  ::setenv("PATH", path.c_str(), 1);
  const auto other = std::async(std::launch::async, [&] {
    with_perl->AcquireLock("perl",
                           [&](const std::string& message) { waits = message == "waiting for flock"; });
  });
  WaitFor([&] { return waits.load(); });
  EXPECT_EQ(other.wait_for(std::chrono::seconds(2)), std::future_status::timeout);
  with_flock->ReleaseLock();
  other.wait();
}

TEST_F(DeviceLockTest, WarnsOfADeviceThatCannotBeLocked) {
  const fs::path tools = root_ / "tools";
  fs::create_directories(tools);
  for (const char* name : {"sh", "cat", "mkdir", "rm", "find", "grep", "ps", "sleep"}) {
    for (const fs::path& tool : {fs::path("/bin") / name, fs::path("/usr/bin") / name}) {
      if (fs::exists(tool) && !fs::exists(tools / name)) fs::create_symlink(tool, tools / name);
    }
  }
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", tools.c_str(), 1);
  std::vector<std::string> notices;
  RemoteOptions options;
  options.notice = [&](const std::string& text) { notices.push_back(text); };
  const auto device = MakeRemoteDevice(MakeLocalConnection(), options);
  ::setenv("PATH", path.c_str(), 1);
  device->AcquireLock("somebody", {});
  EXPECT_EQ(notices, (std::vector<std::string>{"warning: local: It has neither flock nor perl, so another "
                                               "etprof may measure there at the same time"}));
}

TEST_F(DeviceLockTest, ReusedPidIsNotTheGuard) {
  const auto device = Open();
  const fs::path dead = MakeForeignRun("1700000000-0123abcd", ::getpid(), "another time");
  device->AcquireLock("next", {});
  EXPECT_FALSE(fs::exists(dead));
}

TEST_F(DeviceLockTest, RunWithAnEmptyGuardFileIsAlive) {
  const auto device = Open();
  const fs::path starting = MakeForeignRun("1700000000-0123abcd", 0, "now");
  std::ofstream(starting / "guard").close();
  device->AcquireLock("next", {});
  EXPECT_TRUE(fs::exists(starting));
}

TEST_F(DeviceLockTest, InterruptedRunDoesNotWait) {
  const auto holder = Open();
  holder->AcquireLock("holder", {});
  std::atomic<bool> interrupted = false, waits = false;
  auto waiter = std::async(std::launch::async, [&] {
    const auto device = Open([&] { return interrupted.load(); });
    try {
      device->AcquireLock("impatient", [&](const std::string&) { waits = true; });
    } catch (const Error& error) {
      return error.exit_code() == ExitCode::kInterrupted;
    }
    return false;
  });
  WaitFor([&] { return waits.load(); });
  interrupted = true;
  EXPECT_TRUE(waiter.get());
  holder->ReleaseLock();
  Open()->AcquireLock("next", {});
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

}  // namespace
}  // namespace etprof
