#include "core/tensors/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <limits>

#include "core/error.h"

namespace etprof {
namespace {

using ::testing::HasSubstr;

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
      return error.Message();
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
  const auto tensor = [](const std::string& fields) { return R"({"a":{)" + fields + "}}"; };
  EXPECT_THAT(ReadProblem(MakeFile("{}", 0, std::numeric_limits<std::uint64_t>::max())),
              HasSubstr("cut short"));
  EXPECT_THAT(ReadProblem(MakeFile("{}", 0, 3)), HasSubstr("cut short"));
  EXPECT_THAT(HeaderProblem("[]", 0), HasSubstr("not a JSON object. Copy it again, or give a file that"));
  EXPECT_THAT(HeaderProblem("{", 0), HasSubstr("not a JSON object"));
  EXPECT_THAT(HeaderProblem(std::string(100000, '['), 0), HasSubstr("not a JSON object"));
  EXPECT_THAT(HeaderProblem(R"({"a":1})", 0), HasSubstr("tensor 'a'"));
  EXPECT_THAT(HeaderProblem(tensor(R"("dtype":"F32","shape":[1])"), 4), HasSubstr("data_offsets"));
  EXPECT_THAT(HeaderProblem(tensor(R"("dtype":"F31","shape":[1],"data_offsets":[0,4])"), 4),
              HasSubstr("unknown dtype 'F31'"));
  EXPECT_THAT(HeaderProblem(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,8])"), 4),
              HasSubstr("not within"));
  EXPECT_THAT(HeaderProblem(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"), 8),
              HasSubstr("not within"));
  EXPECT_THAT(HeaderProblem(tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), 4),
              HasSubstr("need 8"));
  EXPECT_THAT(HeaderProblem(tensor(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), 4),
              HasSubstr("not a count"));
  EXPECT_THAT(HeaderProblem(tensor(R"("dtype":"F32","shape":[1.5],"data_offsets":[0,4])"), 4),
              HasSubstr("not a count"));
  EXPECT_THAT(
      HeaderProblem(
          tensor(R"("dtype":"F32","shape":[2147483647,2147483647,2147483647],"data_offsets":[0,4])"), 4),
      HasSubstr("too large"));
  EXPECT_THAT(HeaderProblem(tensor(R"("dtype":"F32","shape":[9223372036854775807],"data_offsets":[0,4])"), 4),
              HasSubstr("too large"));
  EXPECT_THAT(
      HeaderProblem(tensor(R"("dtype":"F32","shape":[1],"data_offsets":[18446744073709551615,3])"), 4),
      HasSubstr("not within"));
  EXPECT_THAT(HeaderProblem(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                            R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                            8),
              HasSubstr("'a' and 'b' overlap"));
  EXPECT_THAT(HeaderProblem(R"({"__metadata__":{"k":1}})", 0), HasSubstr("__metadata__"));
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
