#include "profile/compare/module_paths.h"

#include <gtest/gtest.h>

namespace etprof {
namespace {

TEST(FindWrapperPrefixes, FindsThePrefixOfAWrapper) {
  const std::vector<std::string> plain = {"conv1", "layer1.0", "layer1.1", "fc"};
  std::vector<std::string> wrapped;
  for (const std::string& path : plain) wrapped.push_back("module.net." + path);
  wrapped.emplace_back("head");
  ModulePrefixes prefixes = FindWrapperPrefixes(plain, wrapped);
  EXPECT_EQ(prefixes.baseline, "");
  EXPECT_EQ(prefixes.candidate, "module.net");
  prefixes = FindWrapperPrefixes(wrapped, plain);
  EXPECT_EQ(prefixes.baseline, "module.net");
  EXPECT_EQ(prefixes.candidate, "");
}

TEST(FindWrapperPrefixes, FindsNoPrefixForEqualPaths) {
  const std::vector<std::string> paths = {"model.a.0", "model.a.1", "model.b"};
  const ModulePrefixes prefixes = FindWrapperPrefixes(paths, paths);
  EXPECT_EQ(prefixes.baseline, "");
  EXPECT_EQ(prefixes.candidate, "");
}

TEST(FindWrapperPrefixes, FindsTwoDifferentPrefixes) {
  const ModulePrefixes prefixes =
      FindWrapperPrefixes({"module.a.x", "module.b.y"}, {"model.a.x", "model.b.y"});
  EXPECT_EQ(prefixes.baseline, "module");
  EXPECT_EQ(prefixes.candidate, "model");
}

TEST(WithoutPrefix, RemovesWholeNamesOnly) {
  EXPECT_EQ(WithoutPrefix("module.a", "module"), "a");
  EXPECT_EQ(WithoutPrefix("module", "module"), "");
  EXPECT_EQ(WithoutPrefix("modules.a", "module"), "modules.a");
  EXPECT_EQ(WithoutPrefix("a.b", ""), "a.b");
}

}  // namespace
}  // namespace etprof
