#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "core/file/file.h"
#include "device/remote/connection.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

// A connection to the shell of this machine.
class FakeConnection : public Connection {
 public:
  std::string Name() const override { return "fake"; }
  std::string DefaultFolder() const override { return kHomeFolder; }
  void Open() override {}
  void Close() override {}
  std::vector<std::string> Shell(const std::string& script) const override {
    return {"/bin/sh", "-c", script};
  }
  bool Push(const fs::path& local, const std::string& remote, std::string&) override {
    return fs::copy_file(local, remote);
  }
  bool Pull(const std::string& remote, const fs::path& local, Bytes, std::string&) override {
    return fs::copy_file(remote, local);
  }
};

class RemoteDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("ETPROF_DEVICE_DIR", root_.c_str(), 1); }
  void TearDown() override {
    ::unsetenv("ETPROF_DEVICE_DIR");
    fs::remove_all(root_);
  }

  const fs::path root_ = MakeTemporaryFolder(fmt::format("etprof-remote-{}", ::getpid()), "a folder");
};

TEST_F(RemoteDeviceTest, CopiesFilesWithBackslashesInTheirNames) {
  const std::unique_ptr<Device> device = MakeRemoteDevice(std::make_unique<FakeConnection>());
  const fs::path model = root_ / "a\\b.pte";
  WriteFileAtomically(model, "program");
  EXPECT_EQ(ReadTextFile(device->Put(model)), "program");
  const fs::path output = root_ / "c\\d.etdump";
  const std::string remote = device->ReserveOutputPath(output);
  WriteFileAtomically(remote, "events");
  ASSERT_TRUE(device->Get(remote, output));
  EXPECT_EQ(ReadTextFile(output), "events");
}

}  // namespace
}  // namespace etprof
