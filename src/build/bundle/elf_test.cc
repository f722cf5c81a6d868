#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "build/bundle/bundle.h"
#include "core/error.h"

namespace etprof {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Elf, CollectsIndirectAndCyclicDependencies) {
  const std::map<std::string, std::vector<std::string>> graph = {
      {"program", {"a", "c"}}, {"a", {"b"}}, {"b", {"c", "a"}}, {"c", {"b"}}, {"plugin", {"d"}}, {"d", {}}};
  const auto list_needed = [&](const std::filesystem::path& file) {
    return graph.at(file.filename().string());
  };
  const auto find_library = [&](const std::string& name) { return std::filesystem::path("/lib") / name; };
  EXPECT_THAT(CollectLibraries({"/x/program", "/y/plugin"}, list_needed, find_library),
              ElementsAre(Pair("a", "/lib/a"), Pair("b", "/lib/b"), Pair("c", "/lib/c"), Pair("d", "/lib/d"),
                          Pair("plugin", "/y/plugin"), Pair("program", "/x/program")));
}

TEST(Elf, ThrowsForAMissingLibrary) {
  const auto list_needed = [](const std::filesystem::path&) {
    return std::vector<std::string>{"libgone.so"};
  };
  const auto find_library = [](const std::string& name) -> std::filesystem::path {
    throw Error(ExitCode::kDeviceFailed, name);
  };
  EXPECT_THROW(CollectLibraries({"/x/program"}, list_needed, find_library), Error);
}

}  // namespace
}  // namespace etprof
