#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/error.h"
#include "format/etdump/reader.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;
const std::string kData = ETPROF_TEST_DATA;

TEST(MergeEtdumps, KeepsEveryBlockInOrder) {
  const fs::path output =
      fs::temp_directory_path() / ("etprof_merge_" + std::to_string(::getpid()) + ".etdump");
  const std::string a = kData + "/sme2_emulated/toy_cnn.sme2_on.etdump";
  const std::string b = kData + "/sme2_emulated/toy_cnn.sme2_off.etdump";
  WriteFileAtomically(output, MergeEtdumps({a, b}));
  const Trace merged = ReadEtdumpFile(output);
  const Trace first = ReadEtdumpFile(a);
  const Trace second = ReadEtdumpFile(b);
  fs::remove(output);
  ASSERT_EQ(merged.blocks.size(), first.blocks.size() + second.blocks.size());
  EXPECT_EQ(merged.blocks[0].name, "Default");
  EXPECT_EQ(merged.blocks[1].name, "Default");
  EXPECT_EQ(merged.event_count(), first.event_count() + second.event_count());
  const auto last_length = [](const Trace& trace) { return trace.end.back() - trace.start.back(); };
  EXPECT_EQ(last_length(merged), last_length(second));
  EXPECT_NE(last_length(merged), last_length(first));
}

TEST(MergeEtdumps, NamesAnInvalidFile) { EXPECT_THROW(MergeEtdumps({kData + "/toy_cnn.t1.log"}), Error); }

}  // namespace
}  // namespace etprof
