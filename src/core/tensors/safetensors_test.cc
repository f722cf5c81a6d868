#include "core/tensors/safetensors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <limits>

#include "core/error.h"
#include "core/golden_testing.h"

namespace etprof {
namespace {

class SafetensorsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "etprof_safetensors_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Makes a file with this header text, this header length (which may be wrong), and `data` bytes of tensors.
  std::filesystem::path MakeFile(const std::string& header, std::size_t data, std::uint64_t length) {
    const auto path = folder_ / "t.safetensors";
    std::string contents(8, '\0');
    for (unsigned i = 0; i < 8; ++i) contents[i] = static_cast<char>(length >> (8 * i) & 0xff);
    WriteFileAtomically(path, contents + header + std::string(data, 'x'));
    return path;
  }
  std::string HeaderProblem(const std::string& header, std::size_t data) {
    return ReadProblem(MakeFile(header, data, header.size()));
  }
  static std::string ReadProblem(const std::filesystem::path& path) {
    try {
      ReadSafetensors(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kBadInput);
      EXPECT_EQ(error.file(), path.string());
      return ReplaceAll(error.Message(), path.string(), "t.safetensors");
    }
    return "no error";
  }

  std::filesystem::path folder_;
};

TEST_F(SafetensorsTest, ReadsBackWrittenTensors) {
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  const auto path = folder_ / "a.safetensors";
  WriteSafetensors(path,
                   {{"forward/0", {"F32", {2, 3}, std::as_bytes(std::span(numbers))}},
                    {"forward/1", {"F32", {0}, {}}},
                    {"forward/2", {"F32", {}, std::as_bytes(std::span(numbers).first(1))}}},
                   {{"format", "etprof-inputs-1"}, {"forward/3", R"({"type":"int","value":3})"}});
  const Safetensors read = ReadSafetensors(path);
  EXPECT_EQ(read.metadata.at("format"), "etprof-inputs-1");
  EXPECT_EQ(read.metadata.size(), 2U);
  ASSERT_EQ(read.tensors.size(), 3U);
  EXPECT_EQ(read.tensors.at("forward/0").shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(read.tensors.at("forward/0").bytes.data(), numbers.data(), 24), 0);
  EXPECT_TRUE(read.tensors.at("forward/1").bytes.empty());
  EXPECT_EQ(read.tensors.at("forward/2").bytes.size(), 4U);
}

TEST_F(SafetensorsTest, ReportsOneProblemOfAnInvalidFile) {
  CaseMessages problems = {
      {"header of 2^64 - 1 bytes", ReadProblem(MakeFile("{}", 0, std::numeric_limits<std::uint64_t>::max()))},
      {"header of 3 bytes, of which 2 are there", ReadProblem(MakeFile("{}", 0, 3))},
      {"header of 100000 brackets", HeaderProblem(std::string(100000, '['), 0)}};
  const auto add = [&](const std::string& header, std::size_t data) {
    problems.emplace_back(fmt::format("{} and {} bytes", header, data), HeaderProblem(header, data));
  };
  add("[]", 0);
  add("{", 0);
  add(R"({"a":1})", 0);
  add(R"({"__metadata__":{"k":1}})", 0);
  add(R"({"a":{"dtype":"F32","shape":[1]}})", 4);
  add(R"({"a":{"dtype":1,"shape":[1],"data_offsets":[0,4]}})", 4);
  add(R"({"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", 4);
  add(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4);
  add(R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", 4);
  add(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", 4);
  add(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 8);
  add(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[18446744073709551615,3]}})", 4);
  add(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4);
  add(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4);
  add(R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4);
  add(R"({"a":{"dtype":"F32","shape":[2147483647,2147483647,2147483647],"data_offsets":[0,4]}})", 4);
  add(R"({"a":{"dtype":"F32","shape":[9223372036854775807],"data_offsets":[0,4]}})", 4);
  add(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
      8);
  ExpectGoldenMessages("core/safetensors_problems", problems);
}

TEST_F(SafetensorsTest, RefusesEveryTruncation) {
  const std::vector<float> numbers(4);
  const auto path = folder_ / "whole";
  WriteSafetensors(path, {{"a", {"F32", {4}, std::as_bytes(std::span(numbers))}}}, {});
  const std::string whole = ReadTextFile(path);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    WriteFileAtomically(folder_ / "cut", whole.substr(0, length));
    EXPECT_NE(ReadProblem(folder_ / "cut"), "no error") << length;
  }
}

}  // namespace
}  // namespace etprof
