#include "measure/config/release.h"

#include <gmock/gmock.h>

#include <chrono>

#include "core/error.h"
#include "core/file/file.h"

namespace etprof {
namespace {

constexpr const char* kTags = "-cp311-cp311-manylinux_2_28_x86_64.whl";

TEST(Release, HasTheNameOfItsVersion) {
  EXPECT_EQ(ReleaseName("1.4.1"), "1.4.1");
  EXPECT_EQ(PublicRelease("1.4.1"), "1.4.1");
  EXPECT_EQ(ResolveWheelPath("1.4.1"), "1.4.1");
  EXPECT_EQ(ReleaseName("1.4.1whl"), "1.4.1whl");
}

TEST(Release, AWheelIsNamedByVersionAndContents) {
  const std::filesystem::path folder = testing::TempDir();
  const std::string nightly = folder / (std::string("executorch-1.6.0.dev20261101") + kTags);
  WriteFileAtomically(nightly, "abc");  // SHA-256 of FIPS 180-4's example: ba7816bf 8f01cfea ...
  EXPECT_EQ(ReleaseName(nightly), "1.6.0.dev20261101+ba7816bf");
  EXPECT_EQ(PublicRelease(nightly), "1.6.0.dev20261101");
  const std::string fork = folder / (std::string("executorch-1.5.1+cpu-7") + kTags);
  WriteFileAtomically(fork, "abc");
  EXPECT_EQ(ReleaseName(fork), "1.5.1+cpu.ba7816bf");
  EXPECT_EQ(PublicRelease(fork), "1.5.1");
  EXPECT_EQ(ParseWheelName(fork).platform, "manylinux_2_28_x86_64");
  // A wheel is read again only if it was written since.
  const auto time = std::filesystem::last_write_time(nightly);
  WriteFileAtomically(nightly, "");  // SHA-256: e3b0c442 98fc1c14 ...
  std::filesystem::last_write_time(nightly, time);
  EXPECT_EQ(ReleaseName(nightly), "1.6.0.dev20261101+ba7816bf");
  std::filesystem::last_write_time(nightly, time + std::chrono::seconds(1));
  EXPECT_EQ(ReleaseName(nightly), "1.6.0.dev20261101+e3b0c442");
  std::filesystem::remove(nightly);
  EXPECT_THROW(ReleaseName(nightly), Error);
  EXPECT_EQ(ResolveWheelPath("a/../b.whl"), std::filesystem::current_path() / "b.whl");
}

TEST(Release, RefusesNamesOfOtherWheels) {
  for (const char* name :
       {"numpy-2.0-cp311-cp311-linux_x86_64.whl", "nightly.whl", ".whl", "executorch-1.6.0.whl",
        "executorch-1.6!0-cp311-cp311-linux_x86_64.whl", "executorch--cp311-cp311-linux_x86_64.whl",
        "executorch-1.6.0-a-b-c-d-e.whl", "executorch_2-1.6.0-cp311-cp311-linux_x86_64.whl"}) {
    EXPECT_THROW(ParseWheelName(name), Error) << name;
  }
}

}  // namespace
}  // namespace etprof
