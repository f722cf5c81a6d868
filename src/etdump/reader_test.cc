#include "etdump/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/error.h"
#include "etdump_schema_flatcc_generated.h"

namespace etprof {
namespace {

using ::testing::HasSubstr;

const std::string kData = ETPROF_TEST_DATA;

std::vector<std::byte> Bytes(const std::string& path) {
  const MappedFile file = MappedFile::Open(path);
  return {file.bytes().begin(), file.bytes().end()};
}

std::string MessageOf(ByteView bytes) {
  try {
    ReadEtdump(bytes, "x.etdump");
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kBadInput);
    return error.Message();
  }
  return "no error";
}

TEST(ReadEtdump, ReadsWhatARealRunnerWrote) {
  const Trace trace = ReadEtdumpFile(kData + "/toy_cnn.t1.etdump");
  ASSERT_EQ(trace.blocks.size(), 21U);
  EXPECT_EQ(trace.blocks[0].name, "Default");
  EXPECT_EQ(trace.blocks[1].name, "Execute");
  const Trace::Layout& layout = trace.LayoutOf(trace.blocks[1]);
  const std::size_t last = trace.blocks[1].event_count - 1;
  EXPECT_EQ(layout.size(), trace.blocks[1].event_count);
  EXPECT_EQ(trace.layouts.size(), 2U);  // loading, and one that all runs share
  EXPECT_EQ(trace.NameOf(layout, last), "Method::execute");
  EXPECT_EQ(layout.source[last], Trace::Source::kFramework);
  EXPECT_TRUE(trace.health.entries().empty());
}

TEST(ReadEtdump, SaysWhatIsWrongWithAFile) {
  EXPECT_THAT(MessageOf({}), HasSubstr("x.etdump: is empty"));
  const std::string foreign = "this is no ETDump at all";
  EXPECT_THAT(MessageOf(std::as_bytes(std::span(foreign))), HasSubstr("no ED00 identifier"));
}

TEST(ReadEtdump, NoCutOfARealFileIsReadAsWhole) {
  const std::vector<std::byte> whole = Bytes(kData + "/sme2_emulated/toy_cnn.sme2_on.etdump");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(MessageOf(ByteView(whole.data(), length)), "no error") << "cut at byte " << length;
  }
  EXPECT_EQ(MessageOf(whole), "no error");
}

TEST(ReadEtdump, SurvivesEveryByteOfARealFileSpoilt) {
  const std::vector<std::byte> whole = Bytes(kData + "/sme2_emulated/toy_cnn.sme2_on.etdump");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::byte> spoilt = whole;
    spoilt[at] = std::byte{0xff};
    MessageOf(spoilt);  // an Error or a Trace; under ASan+UBSan nothing else
  }
}

TEST(ReadEtdump, ReadsFilesWithoutASizePrefix) {
  ::etdump::ETDumpT dump;
  dump.run_data.push_back(std::make_unique<::etdump::RunDataT>());
  flatbuffers::FlatBufferBuilder builder;
  ::etdump::FinishETDumpBuffer(builder, ::etdump::ETDump::Pack(builder, &dump));
  const Trace trace =
      ReadEtdump(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())), "x.etdump");
  EXPECT_EQ(trace.blocks.size(), 1U);
}

TEST(ReadEtdump, ScalesClocksThatAreNotNanoseconds) {
  const Trace plain = ReadEtdumpFile(kData + "/toy_cnn.t1.etdump");
  const Trace scaled = ReadEtdumpFile(kData + "/toy_cnn.t1.etdump", {.nanoseconds_per_tick = 0.5});
  EXPECT_EQ(scaled.end[5] - scaled.start[5], (plain.end[5] - plain.start[5] + 1) / 2);
  EXPECT_THROW(ReadEtdumpFile(kData + "/toy_cnn.t1.etdump", {.nanoseconds_per_tick = 0}), Error);
}

// A dump with one block of the given profile events.
std::vector<std::byte> DumpOf(const std::vector<::etdump::ProfileEventT>& events) {
  ::etdump::ETDumpT dump;
  auto run = std::make_unique<::etdump::RunDataT>();
  run->name = "Execute";
  for (const auto& profile_event : events) {
    auto event = std::make_unique<::etdump::EventT>();
    event->profile_event = std::make_unique<::etdump::ProfileEventT>(profile_event);
    run->events.push_back(std::move(event));
  }
  dump.run_data.push_back(std::move(run));
  flatbuffers::FlatBufferBuilder builder;
  ::etdump::FinishSizePrefixedETDumpBuffer(builder, ::etdump::ETDump::Pack(builder, &dump));
  std::vector<std::byte> bytes(builder.GetSize());
  std::memcpy(bytes.data(), builder.GetBufferPointer(), bytes.size());
  return bytes;
}

TEST(ReadEtdump, NotesEventsThatRunBackwardsAndTimesOutOfRange) {
  ::etdump::ProfileEventT backwards;
  backwards.name = "Method::execute";
  backwards.start_time = 200;
  backwards.end_time = 100;
  ::etdump::ProfileEventT far;
  far.name = "far";
  far.start_time = 1;
  far.end_time = ~std::uint64_t{0};
  const Trace trace = ReadEtdump(DumpOf({backwards, far}), "x.etdump");
  ASSERT_EQ(trace.event_count(), 2U);
  EXPECT_EQ(trace.health.CountOf("event_backwards"), 2);  // `far` ends at 0, before it starts
  EXPECT_EQ(trace.health.CountOf("time_out_of_range"), 1);
  EXPECT_TRUE(trace.health.entries()[0].first_offset.has_value());
}

TEST(ReadEtdump, NamesDelegateEventsByStringOrNumber) {
  ::etdump::ProfileEventT by_text;
  by_text.delegate_debug_id_str = "Add (ND) #1";
  ::etdump::ProfileEventT by_number;
  by_number.delegate_debug_id_int = 7;
  const Trace trace = ReadEtdump(DumpOf({by_text, by_number}), "x.etdump");
  EXPECT_EQ(trace.NameOf(trace.layouts[0], 0), "Add (ND) #1");
  EXPECT_EQ(trace.NameOf(trace.layouts[0], 1), "7");
  EXPECT_EQ(trace.layouts[0].source[0], Trace::Source::kDelegate);
  EXPECT_EQ(trace.layouts[0].source[1], Trace::Source::kDelegate);
}

}  // namespace
}  // namespace etprof
