#include "build/checkout/runner/runner_binary.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "core/file/file.h"
#include "device/elf_testing.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(ParseCompilers, ReadsCompilerComments) {
  const auto compilers_in = [](std::initializer_list<std::string> texts) {
    std::string comment;
    for (const std::string& text : texts) comment += text + '\0';
    return ParseCompilers(comment);
  };
  EXPECT_EQ(compilers_in({"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"}), "GCC 12.2.0");
  EXPECT_EQ(compilers_in({"GCC: (GNU) 13.3.1 20240611 (Red Hat 13.3.1-2)"}), "GCC 13.3.1");
  EXPECT_EQ(compilers_in({"Linker: LLD 18.0.2",
                          "Android (12285214, +pgo, +bolt, +lto, based on r522817b) clang version 18.0.2 "
                          "(https://android.googlesource.com/toolchain/llvm-project d8003a456d14)"}),
            "Clang 18.0.2");
  EXPECT_EQ(compilers_in({"", "GCC: (Debian 12.2.0-14) 12.2.0", "Debian clang version 14.0.6",
                          "GCC: (Debian 12.2.0-14) 12.2.0"}),
            "Clang 14.0.6 and GCC 12.2.0");
  EXPECT_EQ(compilers_in({"rustc version 1.80.0", "GCC: no parentheses", "clang version x"}), "");
  EXPECT_EQ(ParseCompilers(""), "");
}

class RunnerBinaryTest : public testing::Test {
 protected:
  ~RunnerBinaryTest() override { fs::remove(path_); }
  RunnerBinary ReadFrom(const std::string& bytes) const {
    WriteFileAtomically(path_, bytes);
    return ReadRunnerBinary(path_);
  }
  fs::path path_ = fs::path(testing::TempDir()) / ("runner_binary_" + std::to_string(::getpid()));
};

// An ELF program with these instructions, and a data segment that contains an SMSTART instruction as data.
std::string MakeProgram(const std::vector<std::uint32_t>& code, std::uint64_t machine = 0xb7) {
  example::ElfStart elf;
  const auto put = [&elf](std::size_t at, std::uint64_t value, unsigned size) { elf.Put(at, value, size); };
  put(18, machine, 2);
  const std::size_t start = elf.file.size(), data = start + 4 * code.size();
  put(64, 1, 4);
  put(64 + 4, 5, 4);  // readable, executable
  put(64 + 8, start, 8);
  put(64 + 32, 4 * code.size(), 8);
  put(64 + 56, 1, 4);
  put(64 + 56 + 4, 6, 4);  // readable, writable
  put(64 + 56 + 8, data, 8);
  put(64 + 56 + 32, 4, 8);
  for (std::size_t i = 0; i < code.size(); ++i) put(start + 4 * i, code[i], 4);
  put(data, 0xd503477f, 4);
  return elf.file;
}

constexpr std::uint32_t kNop = 0xd503201f, kReturn = 0xd65f03c0;

TEST_F(RunnerBinaryTest, HasSmeIfItsCodeEntersStreamingMode) {
  EXPECT_EQ(ReadFrom(MakeProgram({kNop, 0xd503477f, kReturn})).sme, true);   // smstart
  EXPECT_EQ(ReadFrom(MakeProgram({kNop, 0xd503437f, kReturn})).sme, true);   // smstart sm
  EXPECT_EQ(ReadFrom(MakeProgram({kNop, 0xd503457f, kReturn})).sme, false);  // smstart za
  EXPECT_EQ(ReadFrom(MakeProgram({kNop, 0xd503467f, kReturn})).sme, false);  // smstop
  EXPECT_EQ(ReadFrom(MakeProgram({kNop, kReturn})).sme, false);  // only the data contains the instruction
}

TEST_F(RunnerBinaryTest, KnowsNothingOfOtherArchitecturesAndTruncatedFiles) {
  EXPECT_EQ(ReadFrom(MakeProgram({kNop, 0xd503477f}, 0x3e)).sme, std::nullopt);
  EXPECT_EQ(ReadFrom("#!/bin/sh\n").sme, std::nullopt);
  EXPECT_EQ(ReadRunnerBinary("/nowhere/runner").sme, std::nullopt);
  const std::string whole = MakeProgram({kNop, 0xd503477f, kReturn});
  for (std::size_t length = 0; length < whole.size(); ++length) ReadFrom(whole.substr(0, length));
}

TEST_F(RunnerBinaryTest, KnowsTheCompilerOfThisProgram) {
  if (!fs::exists("/proc/self/exe")) GTEST_SKIP() << "this system's programs are no ELF files";
#ifdef __clang__
  const std::string name = fmt::format("Clang {}.", __clang_major__);
#else
  const std::string name = fmt::format("GCC {}.", __GNUC__);
#endif
  EXPECT_THAT(ReadRunnerBinary("/proc/self/exe").compiler, HasSubstr(name));
}

}  // namespace
}  // namespace etprof
