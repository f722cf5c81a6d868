#include "bundle/elf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace etprof {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(Elf, ReadsWhatReadelfPrints) {
  const ElfNeeds needs = ParseReadelf(R"(
Program Headers:
  INTERP         0x000238 0x0000000000000238 0x0000000000000238 0x00001b 0x00001b R   0x1
      [Requesting program interpreter: /lib/ld-linux-aarch64.so.1]
Dynamic section at offset 0x115cf0 contains 37 entries:
 0x0000000000000001 (NEEDED)             Shared library: [libexecutorch.so]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x000000000000000e (SONAME)             Library soname: [libmine.so]
 0x000000000000001d (RUNPATH)            Library runpath: [$ORIGIN]
)");
  EXPECT_THAT(needs.libraries, ElementsAre("libexecutorch.so", "libc.so.6"));
  EXPECT_EQ(needs.interpreter, "/lib/ld-linux-aarch64.so.1");
}

TEST(Elf, NonsenseNeedsNothing) {
  const ElfNeeds needs = ParseReadelf("(NEEDED) ] [\n[Requesting program interpreter: ]\n(NEEDED)\n");
  EXPECT_THAT(needs.libraries, IsEmpty());
  EXPECT_EQ(needs.interpreter, "");
}

TEST(Elf, CollectsToTheEndAndThroughCycles) {
  const std::map<std::string, std::vector<std::string>> graph = {
      {"program", {"a", "c"}}, {"a", {"b"}}, {"b", {"c", "a"}}, {"c", {"b"}}, {"plugin", {"d"}}, {"d", {}}};
  const auto needs = [&](const std::filesystem::path& file) { return graph.at(file.filename().string()); };
  const auto find = [&](const std::string& name) { return std::filesystem::path("/lib") / name; };
  EXPECT_THAT(CollectLibraries({"/x/program", "/y/plugin"}, needs, find),
              ElementsAre(Pair("a", "/lib/a"), Pair("b", "/lib/b"), Pair("c", "/lib/c"), Pair("d", "/lib/d"),
                          Pair("plugin", "/y/plugin"), Pair("program", "/x/program")));
}

TEST(Elf, ALibraryThatIsNowhereStops) {
  const auto needs = [](const std::filesystem::path&) { return std::vector<std::string>{"libgone.so"}; };
  const auto find = [](const std::string& name) -> std::filesystem::path {
    throw Error(ExitCode::kDeviceFailed, name);
  };
  EXPECT_THROW(CollectLibraries({"/x/program"}, needs, find), Error);
}

}  // namespace
}  // namespace etprof
