#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/error.h"
#include "etdump_schema_flatcc_generated.h"
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

TEST(MergeEtdumps, KeepsTheNewestVersion) {
  const fs::path folder = fs::temp_directory_path() / ("etprof_versions_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  for (const std::uint32_t version : {3U, 0U}) {
    ::etdump::ETDumpT file;
    file.version = version;
    flatbuffers::FlatBufferBuilder builder;
    ::etdump::FinishSizePrefixedETDumpBuffer(builder, ::etdump::ETDump::Pack(builder, &file));
    WriteFileAtomically(folder / std::to_string(version),
                        {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()});
  }
  WriteFileAtomically(folder / "merged", MergeEtdumps({folder / "3", folder / "0"}));
  EXPECT_EQ(ReadEtdumpFile(folder / "merged").health.GetCount("version_newer"), 1);
  fs::remove_all(folder);
}

TEST(MergeEtdumps, NamesAnInvalidFile) { EXPECT_THROW(MergeEtdumps({kData + "/toy_cnn.t1.log"}), Error); }

}  // namespace
}  // namespace etprof
