// Damages small real files in every place. Each is refused with one clear Error, or gives a valid result.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "check_profile.h"
#include "core/golden_testing.h"
#include "core/sanitizer.h"
#include "etdump_schema_flatcc_generated.h"
#include "format/etdump/reader.h"
#include "format/program/read/program_reader.h"
#include "fuzz.h"
#include "measure/config/config.h"
#include "measure/store/latency_csv.h"
#include "measure/store/run_data.h"
#include "mutate_program.h"

namespace etprof {
namespace {

const std::filesystem::path kData = ETPROF_TEST_DATA;
const std::filesystem::path kCorpus = ETPROF_FUZZ_CORPUS;

std::vector<std::byte> ReadBytes(const std::filesystem::path& path) {
  const MappedFile file = MappedFile::Open(path);
  return {file.bytes().begin(), file.bytes().end()};
}

// The lengths to which a text is truncated: all lengths up to its own. Sanitizer builds skip lengths after
// the second or a later character of a word, a number, or blanks, at which the reader is in the same state as
// after the first one.
std::vector<std::size_t> TruncationLengths(std::string_view text) {
  const auto kind = [&](std::size_t at) {
    const auto c = static_cast<unsigned char>(text[at]);
    return std::isalnum(c) != 0 || c == '_' ? 'a' : std::isspace(c) != 0 ? ' ' : '.';
  };
  std::vector<std::size_t> found;
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const bool same_state =
        length > 1 && length < text.size() && kind(length - 1) != '.' && kind(length - 2) == kind(length - 1);
    if (!kHasAddressSanitizer || !same_state) found.push_back(length);
  }
  return found;
}

std::vector<std::filesystem::path> FindFixtures() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kData)) {
    if (entry.path().extension() == ".etdump" && entry.file_size() <= 32768) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool AcceptsEtdump(ByteView bytes) {
  return fuzz::Accepts({ExitCode::kBadInput}, [&] { fuzz::CheckSums(ReadEtdump(bytes, "x.etdump")); });
}

template <typename Integer>
Integer Load(const std::vector<std::byte>& bytes, std::size_t at) {
  Integer value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <typename Integer>
void Store(std::vector<std::byte>& bytes, std::size_t at, Integer value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// The offsets of the element counts of all lists, and of the lengths of all texts, in an ETDump. In
// FlatBuffers, this is the first word of the object.
std::vector<std::size_t> CountFields(const std::vector<std::byte>& bytes) {
  std::vector<std::size_t> found;
  const auto add = [&](const auto* object) {
    if (object == nullptr) return;
    found.push_back(static_cast<std::size_t>(reinterpret_cast<const std::byte*>(object) - bytes.data()));
  };
  const ::etdump::ETDump& dump = *::etdump::GetSizePrefixedETDump(bytes.data());
  add(dump.run_data());
  for (const auto* run : *dump.run_data()) {
    add(run->name());
    add(run->events());
    add(run->allocators());
    for (const auto* event : *run->events()) {
      const auto* profile = event->profile_event();
      if (profile == nullptr) continue;
      add(profile->name());
      add(profile->delegate_debug_id_str());
      add(profile->delegate_debug_metadata());
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

class DamagedEtdump : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(DamagedEtdump, RejectsTruncation) {
  const std::vector<std::byte> whole = ReadBytes(GetParam());
  ASSERT_TRUE(AcceptsEtdump(whole));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    SCOPED_TRACE(length);
    ASSERT_FALSE(AcceptsEtdump(ByteView(whole).first(length)));
  }
}

// Rewrites an ETDump without the size prefix. Erasing the prefix from the file would break the alignment.
std::vector<std::byte> RemoveSizePrefix(const std::vector<std::byte>& whole) {
  std::unique_ptr<::etdump::ETDumpT> dump(::etdump::GetSizePrefixedETDump(whole.data())->UnPack());
  flatbuffers::FlatBufferBuilder builder;
  ::etdump::FinishETDumpBuffer(builder, ::etdump::ETDump::Pack(builder, dump.get()));
  const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  return {bytes.begin(), bytes.end()};
}

// Only offsets in such a file show that it is truncated.
TEST_P(DamagedEtdump, ToleratesTruncationWithoutSizePrefix) {
  const std::vector<std::byte> whole = RemoveSizePrefix(ReadBytes(GetParam()));
  ASSERT_TRUE(AcceptsEtdump(whole));
  std::size_t refused = 0;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    SCOPED_TRACE(length);
    if (!AcceptsEtdump(ByteView(whole).first(length))) ++refused;
  }
  // Only the last bytes of a FlatBuffer may be padding.
  EXPECT_GE(refused + 16, whole.size());
}

TEST_P(DamagedEtdump, RejectsCountsBeyondTheFile) {
  const std::vector<std::byte> whole = ReadBytes(GetParam());
  const std::vector<std::size_t> fields = CountFields(whole);
  ASSERT_GT(fields.size(), 20U);
  for (const std::size_t at : fields) {
    SCOPED_TRACE(at);
    std::vector<std::byte> damaged = whole;
    const auto size = static_cast<std::uint32_t>(whole.size());
    for (const std::uint32_t count : {size, size + 1, 0x3fffffffU, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
      Store(damaged, at, count);
      ASSERT_FALSE(AcceptsEtdump(damaged)) << count;
    }
    const auto count = Load<std::uint32_t>(whole, at);
    for (const std::uint32_t adjacent : {0U, count - 1, count + 1}) {
      Store(damaged, at, adjacent);
      AcceptsEtdump(damaged);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    FindFixtures, DamagedEtdump, testing::ValuesIn(FindFixtures()), [](const auto& fixture) {
      std::string name = fixture.param.stem().string();
      std::replace_if(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

// Counts, offsets, lengths, and entries of tables are aligned words or half-words, so this test changes each
// of them whatever the schema is.
TEST(DamagedEtdump, ToleratesEachCorruptWord) {
  const std::vector<std::byte> whole = ReadBytes(kData / "sme2_emulated" / "toy_q8.sme2_on.etdump");
  std::size_t accepted = 0, refused = 0;
  const auto corrupt = [&](std::size_t at, auto value) {
    std::vector<std::byte> damaged = whole;
    Store(damaged, at, value);
    ++(AcceptsEtdump(damaged) ? accepted : refused);
  };
  const auto size = static_cast<std::uint32_t>(whole.size());
  for (std::size_t at = 0; at + 4 <= whole.size(); at += 4) {
    SCOPED_TRACE(at);
    const auto word = Load<std::uint32_t>(whole, at);
    for (const std::uint32_t value : {0U, word - 4, word + 4, size, 0x7fffffffU, 0x80000000U, 0xffffffffU})
      corrupt(at, value);
  }
  for (std::size_t at = 0; at + 2 <= whole.size(); at += 2) {
    SCOPED_TRACE(at);
    for (const int value : {0, 4, 0x7fff, 0xffff}) corrupt(at, static_cast<std::uint16_t>(value));
  }
  EXPECT_GT(refused, whole.size() / 4);  // structure
  EXPECT_GT(accepted, 0U);               // times and numbers
}

// The tests use small .pte files, which are mostly structure, not weights.
bool AcceptsProgram(ByteView bytes) {
  return fuzz::Accepts({ExitCode::kBadInput}, [&] { ReadProgram(bytes, "x.pte"); });
}

class DamagedProgram : public testing::TestWithParam<const char*> {
 protected:
  const std::vector<std::byte> whole = ReadBytes(kCorpus / "program" / GetParam());
};

TEST_P(DamagedProgram, RejectsTruncation) {
  ASSERT_TRUE(AcceptsProgram(whole));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    SCOPED_TRACE(length);
    ASSERT_FALSE(AcceptsProgram(ByteView(whole).first(length)));
  }
}

TEST_P(DamagedProgram, ToleratesEachCorruptWord) {
  std::size_t accepted = 0, refused = 0;
  const auto size = static_cast<std::uint32_t>(whole.size());
  std::vector<std::byte> damaged = whole;
  for (std::size_t at = 0; at + 4 <= whole.size(); at += 4) {
    SCOPED_TRACE(at);
    const auto word = Load<std::uint32_t>(whole, at);
    for (const std::uint32_t value : {0U, word - 4, word + 1, size, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
      Store(damaged, at, value);
      ++(AcceptsProgram(damaged) ? accepted : refused);
    }
    Store(damaged, at, word);
  }
  EXPECT_GT(refused, whole.size() / 8);
  EXPECT_GT(accepted, 0U);
}

INSTANTIATE_TEST_SUITE_P(Corpus, DamagedProgram,
                         testing::Values("mixed_delegates.pte", "int8.pte", "portable.pte"),
                         [](const auto& name) {
                           const std::string file = name.param;
                           return file.substr(0, file.find('.'));
                         });

TEST(DamagedProgram, ToleratesMutatedFields) {
  const fuzz::Target target = fuzz::FindTarget("program");
  for (const auto& entry : std::filesystem::directory_iterator(kCorpus / "program")) {
    const std::vector<std::byte> whole = ReadBytes(entry.path());
    for (unsigned seed = 0; seed < (kHasAddressSanitizer ? 100U : 1000U); ++seed) {
      SCOPED_TRACE(entry.path().string() + fmt::format(", seed {}", seed));
      if (const auto changed = fuzz::MutateProgram(whole, seed)) target(changed->data(), changed->size());
    }
  }
}

TEST(DamagedConfiguration, RejectsTruncationWithLineNumber) {
  ConfigContext context;
  context.default_runner = "/bin/runner";
  for (const auto& entry : std::filesystem::directory_iterator(kCorpus / "config")) {
    const std::string whole = ReadTextFile(entry.path());
    const std::size_t end = whole.find_last_of('}');
    const auto read = [&](std::size_t length) { ParseConfig(whole.substr(0, length), "c.json", context); };
    if (!fuzz::Accepts({ExitCode::kBadInput}, [&] { read(whole.size()); })) continue;  // a reproducer
    for (const std::size_t length : TruncationLengths(whole)) {
      SCOPED_TRACE(entry.path().string() + " cut at " + std::to_string(length));
      try {
        read(length);
        ASSERT_GT(length, end);
      } catch (const Error& error) {
        ASSERT_LE(length, end);
        ASSERT_EQ(error.exit_code(), ExitCode::kBadInput);
        ASSERT_THAT(error.Message(), testing::StartsWith("c.json, line "));
      }
    }
  }
}

class DamagedRun : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  const std::filesystem::path folder = fuzz::ScratchFolder() / "damaged";
};

TEST_F(DamagedRun, RejectsTruncatedManifest) {
  const std::string whole = ReadTextFile(kCorpus / "manifest" / "killed.json");
  const std::size_t end = whole.find_last_of('}');
  std::set<std::string> messages;
  for (const std::size_t length : TruncationLengths(whole)) {
    SCOPED_TRACE(length);
    fuzz::ScratchFile("damaged/manifest.json", std::as_bytes(std::span(whole.data(), length)));
    try {
      ASSERT_EQ(LoadRunDirectory(folder).experiments.size(), 1U);
      ASSERT_GT(length, end);
    } catch (const Error& error) {
      ASSERT_LE(length, end);
      ASSERT_EQ(error.exit_code(), ExitCode::kBadInput);
      messages.insert(ReplaceAll(error.Message(), folder.string(), "FOLDER"));
    }
  }
  ExpectGolden("fuzz/truncated_manifest", std::vector<std::string>(messages.begin(), messages.end()));
}

TEST_F(DamagedRun, ReadsEtdumpsWithoutManifest) {
  const std::string whole = ReadTextFile(kCorpus / "manifest" / "run.json");
  std::filesystem::create_directories(folder / "on");
  std::filesystem::copy_file(kData / "toy_cnn.t1.etdump", folder / "on/toy_cnn_on_t1.etdump");
  std::set<std::string> problems;
  for (const std::size_t length : {std::size_t{0}, whole.size() / 2, whole.size() - 3}) {
    fuzz::ScratchFile("damaged/manifest.json", std::as_bytes(std::span(whole.data(), length)));
    const RunData run = LoadRunDirectory(folder);
    ASSERT_EQ(run.experiments.size(), 1U);
    EXPECT_EQ(run.experiments[0].name, "on");
    problems.insert(run.problems.begin(), run.problems.end());
  }
  ExpectGolden("fuzz/etdumps_with_truncated_manifest",
               std::vector<std::string>(problems.begin(), problems.end()));
}

TEST_F(DamagedRun, KeepsCompleteRowsOfTruncatedLatencyCsv) {
  const std::string whole = ReadTextFile(kCorpus / "latency" / "run.csv");
  for (const std::size_t length : TruncationLengths(whole)) {
    SCOPED_TRACE(length);
    const std::string text = whole.substr(0, length);
    const auto path = fuzz::ScratchFile("damaged/latency.csv", std::as_bytes(std::span(text)));
    std::vector<Launch> launches(2);
    for (int i = 0; i < 2; ++i) {
      launches[static_cast<std::size_t>(i)].index = i;
      for (int round = 0; round < 2; ++round)
        launches[static_cast<std::size_t>(i)].bursts.emplace_back().round = round;
    }
    std::vector<std::string> problems;
    ReadLatencies(path, launches, problems);
    std::string rewritten = LatencyHeader();
    for (const Launch& launch : launches) rewritten += LatencyRows(launch, false);
    const auto lines = std::count(text.begin(), text.end(), '\n');
    ASSERT_EQ(std::count(rewritten.begin(), rewritten.end(), '\n'), std::max<std::ptrdiff_t>(1, lines));
    ASSERT_EQ(problems.size(), lines == 0 ? 1U : 0U);
  }
}

}  // namespace
}  // namespace etprof
