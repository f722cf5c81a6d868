#include "format/etdump/reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <regex>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.h"
#include "core/golden_testing.h"
#include "etdump_schema_flatcc_generated.h"

namespace etprof {
namespace {

const std::string kTraces = ETPROF_TEST_DATA;

std::vector<std::byte> ReadBytes(const std::string& path) {
  const MappedFile file = MappedFile::Open(path);
  return {file.bytes().begin(), file.bytes().end()};
}

std::string MessageFrom(ByteView bytes) {
  try {
    ReadEtdump(bytes, "x.etdump");
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kBadInput);
    return error.Message();
  }
  return "no error";
}

std::vector<std::byte> PackDump(const ::etdump::ETDumpT& dump) {
  flatbuffers::FlatBufferBuilder builder;
  ::etdump::FinishSizePrefixedETDumpBuffer(builder, ::etdump::ETDump::Pack(builder, &dump));
  const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  return {bytes.begin(), bytes.end()};
}

// The message of MessageFrom. The version of FlatBuffers decides the offset, so N replaces it.
std::string MessageWithoutOffset(ByteView bytes) {
  return std::regex_replace(MessageFrom(bytes), std::regex("byte [0-9]+"), "byte N");
}

TEST(ReadEtdump, ReadsAFileOfARealRunner) {
  const Trace trace = ReadEtdumpFile(kTraces + "/toy_cnn.t1.etdump");
  ASSERT_EQ(trace.blocks.size(), 21U);
  EXPECT_EQ(trace.blocks[0].name, "Default");
  EXPECT_EQ(trace.blocks[1].name, "Execute");
  const Trace::Layout& layout = trace.GetLayout(trace.blocks[1]);
  const std::size_t last = trace.blocks[1].event_count - 1;
  EXPECT_EQ(layout.size(), trace.blocks[1].event_count);
  EXPECT_EQ(trace.layouts.size(), 2U);  // one layout for loading, and one for all runs
  EXPECT_EQ(trace.GetName(layout, last), "Method::execute");
  EXPECT_EQ(layout.source[last], Trace::Source::kFramework);
  EXPECT_TRUE(trace.health.entries().empty());
}

TEST(ReadEtdump, NotesANewerVersion) {
  ::etdump::ETDumpT file;
  file.version = 3;
  const Trace trace = ReadEtdump(PackDump(file), "x.etdump");
  ASSERT_EQ(trace.health.GetCount("version_newer"), 1);
  ExpectGolden("format/etdump_newer_version", trace.health.entries()[0].explanation + "\n");
}

std::unique_ptr<::etdump::EventT> ProfileEvent(const std::string& name, const std::string& delegate_name,
                                               std::uint64_t start, std::uint64_t end) {
  auto event = std::make_unique<::etdump::EventT>();
  event->profile_event = std::make_unique<::etdump::ProfileEventT>();
  event->profile_event->name = name;
  event->profile_event->delegate_debug_id_str = delegate_name;
  event->profile_event->start_time = start;
  event->profile_event->end_time = end;
  return event;
}

// ExecuTorch's Python serializer writes a FlatBuffer without a prefix. The Inspector requires that the length
// is put in front, so alignment counts from byte 4.
TEST(ReadEtdump, ReadsAPrefixThatWasAddedLater) {
  ::etdump::ETDumpT file;
  // The first block has no bytes that must be aligned: a time of 0 is left out.
  file.run_data.push_back(std::make_unique<::etdump::RunDataT>());
  file.run_data.back()->events.push_back(ProfileEvent("Method::execute", "", 0, 0));
  for (std::uint64_t run = 1; run < 3; ++run) {
    auto block = std::make_unique<::etdump::RunDataT>();
    block->name = "Execute";
    block->events.push_back(ProfileEvent("native_call_add.out", "", 2000 + run, 5000));
    block->events.push_back(ProfileEvent("Method::execute", "", 1000, 9000));
    file.run_data.push_back(std::move(block));
  }
  flatbuffers::FlatBufferBuilder builder;
  ::etdump::FinishETDumpBuffer(builder, ::etdump::ETDump::Pack(builder, &file));
  std::string bytes(4, '\0');
  flatbuffers::WriteScalar(bytes.data(), builder.GetSize());
  bytes.append(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  const Trace trace = ReadEtdump(std::as_bytes(std::span(bytes)), "x.etdump");
  ASSERT_EQ(trace.blocks.size(), 3U);
  EXPECT_EQ(trace.start[3], 2002);
  EXPECT_EQ(trace.end[4], 9000);
  // Every truncated file is an error.
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_NE(MessageFrom(std::as_bytes(std::span(bytes.data(), length))), "no error") << length;
}

TEST(ReadEtdump, TreatsEmptyTextsAsAbsent) {
  flatbuffers::FlatBufferBuilder builder;
  const auto event = [&](const char* name, const char* delegate_name, std::uint64_t start,
                         std::uint64_t end) {
    const auto name_at = builder.CreateString(name), delegate_at = builder.CreateString(delegate_name);
    ::etdump::ProfileEventBuilder profile(builder);
    profile.add_name(name_at);
    profile.add_delegate_debug_id_str(delegate_at);
    profile.add_start_time(start);
    profile.add_end_time(end);
    return ::etdump::CreateEvent(builder, profile.Finish());
  };
  const std::vector events = {event("", "Add (ND) #1", 1, 2), event("Method::execute", "", 0, 3)};
  const auto run =
      ::etdump::CreateRunData(builder, builder.CreateString("Execute"), -1, 0, builder.CreateVector(events));
  ::etdump::FinishSizePrefixedETDumpBuffer(
      builder, ::etdump::CreateETDump(builder, 0, builder.CreateVector(std::vector{run})));
  const Trace trace =
      ReadEtdump(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())), "x.etdump");
  ASSERT_EQ(trace.layouts.size(), 1U);
  EXPECT_EQ(trace.layouts[0].source[0], Trace::Source::kDelegate);
  EXPECT_EQ(trace.GetName(trace.layouts[0], 0), "Add (ND) #1");
  EXPECT_TRUE(trace.IsFramework(trace.layouts[0], 1, "Method::execute"));
}

TEST(ReadEtdump, RefusesEveryTruncationOfARealFile) {
  const std::vector<std::byte> whole = ReadBytes(kTraces + "/sme2_emulated/toy_cnn.sme2_on.etdump");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(MessageFrom(ByteView(whole.data(), length)), "no error") << "cut at byte " << length;
  }
  EXPECT_EQ(MessageFrom(whole), "no error");
}

TEST(ReadEtdump, SurvivesDamageToEveryByteOfARealFile) {
  const std::vector<std::byte> whole = ReadBytes(kTraces + "/sme2_emulated/toy_cnn.sme2_on.etdump");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::byte> damaged = whole;
    damaged[at] = std::byte{0xff};
    MessageFrom(damaged);  // either an Error or a Trace, without findings of ASan and UBSan
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
  const Trace plain = ReadEtdumpFile(kTraces + "/toy_cnn.t1.etdump");
  const Trace scaled = ReadEtdumpFile(kTraces + "/toy_cnn.t1.etdump", {.nanoseconds_per_tick = 0.5});
  EXPECT_EQ(scaled.end[5] - scaled.start[5], (plain.end[5] - plain.start[5] + 1) / 2);
  EXPECT_THROW(ReadEtdumpFile(kTraces + "/toy_cnn.t1.etdump", {.nanoseconds_per_tick = 0}), Error);
}

TEST(ReadEtdump, ScalesOnlyTheClockOfDelegates) {
  const Trace plain = ReadEtdumpFile(kTraces + "/toy_cnn.t1.etdump");
  const Trace scaled = ReadEtdumpFile(kTraces + "/toy_cnn.t1.etdump", {.delegate_nanoseconds_per_tick = 2});
  std::size_t delegate_events = 0;
  for (const Trace::Block& block : plain.blocks) {
    const Trace::Layout& layout = plain.layouts[block.layout];
    for (std::size_t i = 0; i < block.event_count; ++i) {
      const std::size_t event = block.first_event + i;
      const bool delegated = layout.source[i] == Trace::Source::kDelegate;
      delegate_events += delegated ? 1U : 0U;
      EXPECT_EQ(scaled.start[event], (delegated ? 2 : 1) * plain.start[event]);
      EXPECT_EQ(scaled.end[event], (delegated ? 2 : 1) * plain.end[event]);
    }
  }
  EXPECT_GT(delegate_events, 0U);
  EXPECT_LT(delegate_events, plain.event_count());
  EXPECT_THROW(ReadEtdumpFile(kTraces + "/toy_cnn.t1.etdump", {.delegate_nanoseconds_per_tick = 0}), Error);
}

// An ETDump with one block of the given profile events.
std::vector<std::byte> MakeDump(const std::vector<::etdump::ProfileEventT>& events) {
  ::etdump::ETDumpT dump;
  auto run = std::make_unique<::etdump::RunDataT>();
  run->name = "Execute";
  for (const auto& profile_event : events) {
    auto event = std::make_unique<::etdump::EventT>();
    event->profile_event = std::make_unique<::etdump::ProfileEventT>(profile_event);
    run->events.push_back(std::move(event));
  }
  dump.run_data.push_back(std::move(run));
  return PackDump(dump);
}

// Blocks of three kinds in random order, with events without times in between; every fifth block is unique.
std::vector<std::byte> MakeMixedDump(int blocks) {
  std::mt19937 random(7);
  ::etdump::ETDumpT dump;
  for (int block = 0; block < blocks; ++block) {
    auto run = std::make_unique<::etdump::RunDataT>();
    run->name = "Execute";
    run->allocators.push_back(std::make_unique<::etdump::AllocatorT>());
    run->allocators.back()->name = "planned";
    const int layout_kind = static_cast<int>(random() % 3);
    const int events = 3 + layout_kind + (block % 5 == 0 ? block : 0);
    for (int i = 0; i < events; ++i) {
      auto event = std::make_unique<::etdump::EventT>();
      if ((block + i) % 7 == 0) {
        event->allocation_event = std::make_unique<::etdump::AllocationEventT>();
        event->allocation_event->allocator_id = 1;
        event->allocation_event->allocation_size = 10;
        run->events.push_back(std::move(event));
        event = std::make_unique<::etdump::EventT>();
      }
      event->profile_event = std::make_unique<::etdump::ProfileEventT>();
      event->profile_event->name = "op" + std::to_string(layout_kind == 2 ? 2 * i : i);
      event->profile_event->instruction_id = i;
      event->profile_event->start_time = random() % 1000;
      event->profile_event->end_time = event->profile_event->start_time + random() % 1000;
      run->events.push_back(std::move(event));
    }
    dump.run_data.push_back(std::move(run));
  }
  return PackDump(dump);
}

void ExpectSame(const Trace& trace, const Trace& expected) {
  EXPECT_EQ(trace.start, expected.start);
  EXPECT_EQ(trace.end, expected.end);
  EXPECT_EQ(trace.layouts, expected.layouts);
  ASSERT_EQ(trace.names.size(), expected.names.size());
  for (NameId id = 0; id < expected.names.size(); ++id)
    EXPECT_EQ(trace.names.Text(id), expected.names.Text(id));
  ASSERT_EQ(trace.blocks.size(), expected.blocks.size());
  for (std::size_t block = 0; block < expected.blocks.size(); ++block) {
    EXPECT_EQ(trace.blocks[block].name, expected.blocks[block].name);
    EXPECT_EQ(trace.blocks[block].layout, expected.blocks[block].layout);
    EXPECT_EQ(trace.blocks[block].first_event, expected.blocks[block].first_event);
    EXPECT_EQ(trace.blocks[block].event_count, expected.blocks[block].event_count);
    EXPECT_EQ(trace.blocks[block].bundled_input_index, expected.blocks[block].bundled_input_index);
  }
  ASSERT_EQ(trace.health.entries().size(), expected.health.entries().size());
  for (std::size_t i = 0; i < expected.health.entries().size(); ++i) {
    EXPECT_EQ(trace.health.entries()[i].name, expected.health.entries()[i].name);
    EXPECT_EQ(trace.health.entries()[i].count, expected.health.entries()[i].count);
    EXPECT_EQ(trace.health.entries()[i].first_place, expected.health.entries()[i].first_place);
  }
}

TEST(ReadEtdump, IsIndependentOfTheNumberOfThreads) {
  const std::vector<std::byte> bytes = MakeMixedDump(40);
  const Trace single_threaded = ReadEtdump(bytes, "x.etdump", {.threads = 1});
  const auto* dump = flatbuffers::GetSizePrefixedRoot<::etdump::ETDump>(bytes.data());
  std::size_t event = 0;
  std::int64_t allocations = 0;
  for (std::size_t block = 0; block < single_threaded.blocks.size(); ++block) {
    EXPECT_EQ(single_threaded.blocks[block].first_event, event);
    const Trace::Layout& layout = single_threaded.GetLayout(single_threaded.blocks[block]);
    ASSERT_EQ(layout.size(), single_threaded.blocks[block].event_count);
    std::size_t i = 0;
    for (const auto* expected : *dump->run_data()->Get(static_cast<unsigned>(block))->events()) {
      allocations += expected->allocation_event() != nullptr ? 1 : 0;
      if (expected->profile_event() == nullptr) continue;
      EXPECT_EQ(single_threaded.GetName(layout, i), expected->profile_event()->name()->str());
      EXPECT_EQ(layout.instruction[i], expected->profile_event()->instruction_id());
      EXPECT_EQ(single_threaded.start[event],
                static_cast<Nanoseconds>(expected->profile_event()->start_time()));
      EXPECT_EQ(single_threaded.end[event], static_cast<Nanoseconds>(expected->profile_event()->end_time()));
      ++i;
      ++event;
    }
    EXPECT_EQ(i, layout.size());
  }
  EXPECT_EQ(single_threaded.event_count(), event);
  EXPECT_LT(single_threaded.layouts.size(), single_threaded.blocks.size());
  ASSERT_EQ(single_threaded.allocations.size(), 1U);
  EXPECT_EQ(single_threaded.allocations[0].allocator, "planned");
  EXPECT_EQ(single_threaded.allocations[0].events, allocations);
  EXPECT_EQ(single_threaded.allocations[0].bytes, 10 * allocations);

  for (const std::size_t threads : {2U, 3U, 7U, 100U}) {
    const Trace parallel = ReadEtdump(bytes, "x.etdump", {.threads = threads});
    ExpectSame(parallel, single_threaded);
    EXPECT_EQ(parallel.allocations[0].bytes, single_threaded.allocations[0].bytes);
  }
}

// With as many threads as blocks, no block is read by the pattern of an earlier block.
void ExpectSameAsSeparateBlocks(ByteView bytes, const std::string& trace_name) {
  SCOPED_TRACE(trace_name);
  constexpr std::size_t kBlocks = 100;
  const auto read = [&](std::size_t threads) -> std::variant<Trace, std::string> {
    try {
      return ReadEtdump(bytes, "x.etdump", {.threads = threads});
    } catch (const Error& error) {
      return error.Message();
    }
  };
  const auto by_pattern = read(1), separate = read(kBlocks);
  ASSERT_EQ(by_pattern.index(), separate.index());
  if (const auto* trace = std::get_if<Trace>(&by_pattern)) {
    ExpectSame(*trace, std::get<Trace>(separate));
  } else {
    EXPECT_EQ(std::get<std::string>(by_pattern), std::get<std::string>(separate));
  }
}

// Damages every byte of two blocks and of the shared vtables in several ways.
TEST(ReadEtdump, ReadsRepeatedBlocksLikeSeparateOnes) {
  const std::vector<std::byte> whole = ReadBytes(kTraces + "/toy_cnn.t1.etdump");
  const auto* blocks = flatbuffers::GetSizePrefixedRoot<::etdump::ETDump>(whole.data())->run_data();
  const auto block_offset = [&](unsigned block) {
    return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(blocks->Get(block)) - whole.data());
  };
  // The runner writes from the end of the file to its beginning.
  ASSERT_LT(block_offset(3), block_offset(1));
  for (const auto& [first, end] :
       {std::pair(block_offset(3), block_offset(1)), std::pair(block_offset(0), whole.size())}) {
    for (std::size_t offset = first; offset < end; offset += 7) {
      for (const int damaged : {0, 4, 0xff}) {
        std::vector<std::byte> bytes = whole;
        bytes[offset] = static_cast<std::byte>(damaged);
        ExpectSameAsSeparateBlocks(bytes, fmt::format("byte {} is {}", offset, damaged));
        if (HasFailure()) return;
      }
    }
  }
}

// A vtable may place a time where an offset is: then changing the time changes the offset.
TEST(ReadEtdump, FollowsATimeThatIsAlsoAnOffsetInEveryBlock) {
  std::vector<std::byte> bytes = ReadBytes(kTraces + "/toy_cnn.t1.etdump");
  const auto* blocks = flatbuffers::GetSizePrefixedRoot<::etdump::ETDump>(bytes.data())->run_data();
  const auto* event = blocks->Get(2)->events()->Get(0)->profile_event();
  const auto* table = reinterpret_cast<const std::byte*>(event);
  flatbuffers::soffset_t to_vtable = 0;
  std::memcpy(&to_vtable, table, sizeof to_vtable);
  auto* vtable = const_cast<std::byte*>(table - to_vtable);
  using Event = ::etdump::ProfileEvent;
  std::memcpy(vtable + Event::VT_START_TIME, vtable + Event::VT_DELEGATE_DEBUG_ID_STR, 2);
  ExpectSameAsSeparateBlocks(bytes, "all names are times");
  auto* name = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(event)) +
               flatbuffers::ReadScalar<flatbuffers::voffset_t>(vtable + Event::VT_DELEGATE_DEBUG_ID_STR);
  const std::uint32_t far = 0x7fffffff;
  std::memcpy(name, &far, sizeof far);
  ExpectSameAsSeparateBlocks(bytes, "one leads out of the file");
  ExpectGolden("format/etdump_time_as_offset", MessageWithoutOffset(bytes) + "\n");
}

TEST(ReadEtdump, TruncatesVeryLongNames) {
  ::etdump::ProfileEventT event;
  event.name = std::string(10'000, 'x');
  const Trace trace = ReadEtdump(MakeDump({event}), "x.etdump");
  EXPECT_EQ(trace.GetName(trace.layouts[0], 0).size(), 4096U);
  EXPECT_EQ(trace.health.GetCount("name_cut"), 1);
}

TEST(ReadEtdump, NotesBackwardEventsAndTimesOutOfRange) {
  ::etdump::ProfileEventT backwards;
  backwards.name = "Method::execute";
  backwards.start_time = 200;
  backwards.end_time = 100;
  ::etdump::ProfileEventT far;
  far.name = "far";
  far.start_time = 1;
  far.end_time = ~std::uint64_t{0};
  const Trace trace = ReadEtdump(MakeDump({backwards, far}), "x.etdump");
  ASSERT_EQ(trace.event_count(), 2U);
  EXPECT_EQ(trace.health.GetCount("event_backwards"), 2);  // `far` ends at 0, before it starts
  EXPECT_EQ(trace.health.GetCount("time_out_of_range"), 1);
  EXPECT_TRUE(trace.health.entries()[0].first_offset.has_value());
}

// An operator's time that is out of range counts as 0, but an inference of 0 ns would make all results wrong.
TEST(ReadEtdump, RefusesAnInferenceOutOfRange) {
  ::etdump::ProfileEventT inference;
  inference.name = "Method::execute";
  inference.start_time = 1'000'000;
  inference.end_time = 1'000'000 + (std::uint64_t{1} << 44);
  EXPECT_EQ(MessageFrom(MakeDump({inference})), "no error");
  ++inference.end_time;
  CaseMessages problems = {{"4.9 hours", MessageWithoutOffset(MakeDump({inference}))}};
  inference.end_time = ~std::uint64_t{0};
  inference.start_time = inference.end_time - 1000;  // both ends would count as 0
  problems.emplace_back("centuries after 0", MessageWithoutOffset(MakeDump({inference})));
  ExpectGoldenMessages("format/etdump_inference_out_of_range", problems);
  // A delegate's event named Method::execute is not an inference.
  inference.delegate_debug_id_str = inference.name;
  EXPECT_EQ(MessageFrom(MakeDump({inference})), "no error");
}

TEST(ReadEtdump, LimitsTimesSoThatSumsFit) {
  ::etdump::ProfileEventT hours;
  hours.name = "op";
  hours.end_time = std::uint64_t{1} << 43;  // 2.4 hours
  const Trace trace = ReadEtdump(MakeDump({hours}), "x.etdump");
  EXPECT_EQ(trace.end[0], Nanoseconds{1} << 43);
  EXPECT_TRUE(trace.health.entries().empty());
  hours.end_time *= 4;
  const Trace longer = ReadEtdump(MakeDump({hours}), "x.etdump");
  EXPECT_EQ(longer.end[0], 0);
  EXPECT_EQ(longer.health.GetCount("time_out_of_range"), 1);
  hours.end_time = std::uint64_t{1} << 43;
  EXPECT_EQ(MessageFrom(MakeDump(std::vector<::etdump::ProfileEventT>(128, hours))), "no error");
  const std::vector<std::byte> two_weeks = MakeDump(std::vector<::etdump::ProfileEventT>(129, hours));
  ExpectGoldenMessages("format/etdump_sum_out_of_range", {{"129 events", MessageWithoutOffset(two_weeks)}});
}

TEST(ReadEtdump, NamesTheProblemOfAFile) {
  const std::string text = "this is no ETDump at all", noise(64, '\x01');
  // A thousand blocks that are all the same table of a thousand events: a small file with a million events.
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString("op");
  std::vector<flatbuffers::Offset<::etdump::Event>> events(1000);
  for (auto& event : events)
    event = ::etdump::CreateEvent(builder, ::etdump::CreateProfileEvent(builder, name));
  const auto run = ::etdump::CreateRunData(builder, name, -1, 0, builder.CreateVector(events));
  const std::vector<flatbuffers::Offset<::etdump::RunData>> runs(1000, run);
  ::etdump::FinishETDumpBuffer(builder, ::etdump::CreateETDump(builder, 0, builder.CreateVector(runs)));
  const std::span shared(builder.GetBufferPointer(), builder.GetSize());
  ExpectGoldenMessages("format/etdump_problems",
                       {{"no bytes", MessageFrom({})},
                        {"text", MessageFrom(std::as_bytes(std::span(text)))},
                        {"64 times 1", MessageFrom(std::as_bytes(std::span(noise)))},
                        {"a million shared events", MessageWithoutOffset(std::as_bytes(shared))}});
}

TEST(ReadEtdump, NamesDelegateEventsByStringOrNumber) {
  ::etdump::ProfileEventT by_text;
  by_text.delegate_debug_id_str = "Add (ND) #1";
  ::etdump::ProfileEventT by_number;
  by_number.delegate_debug_id_int = 7;
  const Trace trace = ReadEtdump(MakeDump({by_text, by_number}), "x.etdump");
  EXPECT_EQ(trace.GetName(trace.layouts[0], 0), "Add (ND) #1");
  EXPECT_EQ(trace.GetName(trace.layouts[0], 1), "7");
  EXPECT_EQ(trace.layouts[0].source[0], Trace::Source::kDelegate);
  EXPECT_EQ(trace.layouts[0].source[1], Trace::Source::kDelegate);
}

TEST(ReadEtdump, ReportsTrailingZerosAsTruncated) {
  const std::string whole = ReadTextFile(ETPROF_TEST_DATA "/toy_cnn.t1.etdump");
  for (const std::size_t kept_bytes : {whole.size() - 100, whole.size() * 3 / 4, whole.size() / 2,
                                       std::size_t{4096}, std::size_t{100}, std::size_t{0}}) {
    std::string zeroed = whole;
    std::fill(zeroed.begin() + static_cast<std::ptrdiff_t>(kept_bytes), zeroed.end(), '\0');
    try {
      ReadEtdump(std::as_bytes(std::span(zeroed)), "lost.etdump");
      ADD_FAILURE() << kept_bytes << " bytes: no error";
    } catch (const Error& error) {
      EXPECT_NE(error.Message().find("lost.etdump, byte"), std::string::npos);
      EXPECT_NE(error.Message().find("is truncated: its last"), std::string::npos) << error.Message();
    }
  }
}

}  // namespace
}  // namespace etprof
