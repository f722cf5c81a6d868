#include "build/bundle/elf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace etprof {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Elf, CollectsIndirectAndCyclicDependencies) {
  const std::map<std::string, std::vector<std::string>> graph = {
      {"program", {"a", "c"}}, {"a", {"b"}}, {"b", {"c", "a"}}, {"c", {"b"}}, {"plugin", {"d"}}, {"d", {}}};
  const auto needs = [&](const std::filesystem::path& file) { return graph.at(file.filename().string()); };
  const auto find = [&](const std::string& name) { return std::filesystem::path("/lib") / name; };
  EXPECT_THAT(CollectLibraries({"/x/program", "/y/plugin"}, needs, find),
              ElementsAre(Pair("a", "/lib/a"), Pair("b", "/lib/b"), Pair("c", "/lib/c"), Pair("d", "/lib/d"),
                          Pair("plugin", "/y/plugin"), Pair("program", "/x/program")));
}

TEST(Elf, ThrowsForAMissingLibrary) {
  const auto needs = [](const std::filesystem::path&) { return std::vector<std::string>{"libgone.so"}; };
  const auto find = [](const std::string& name) -> std::filesystem::path {
    throw Error(ExitCode::kDeviceFailed, name);
  };
  EXPECT_THROW(CollectLibraries({"/x/program"}, needs, find), Error);
}

}  // namespace
}  // namespace etprof
