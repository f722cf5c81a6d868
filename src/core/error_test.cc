#include "core/error.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "core/golden_testing.h"

namespace etprof {
namespace {

TEST(Error, NamesFilePositionProblemAndRemedy) {
  const Error error =
      Error(ExitCode::kBadInput, "is not an ETDump").InFile("a.etdump").AtOffset(4).Remedy("give one");
  EXPECT_EQ(error.Message(), "a.etdump, byte 4: is not an ETDump. Give one.");
  EXPECT_EQ(error.Summary(), "`a.etdump` is not an ETDump (byte 4)");
  EXPECT_EQ(error.Hint(), "Give one.");
  EXPECT_EQ(error.exit_code(), ExitCode::kBadInput);
  EXPECT_EQ(error.offset(), 4U);
}

TEST(Error, EscapesControlCharactersOfHostileNames) {
  const Error error = Error(ExitCode::kBadInput, "no such file").InFile("a\n\x1b[31mb").AtLine(3);
  EXPECT_EQ(error.Message(), "a\\x0a\\x1b[31mb, line 3: no such file");
  EXPECT_EQ(error.Summary(), "`a\\x0a\\x1b[31mb`, line 3: no such file");
}

TEST(Error, OmitsUnknownParts) {
  const Error error(ExitCode::kUsage, "no command");
  EXPECT_EQ(error.Message(), "no command");
  EXPECT_EQ(error.Summary(), "No command");
  EXPECT_EQ(error.Hint(), "");
}

TEST(Error, ProgramNamesAreNotCapitalized) {
  const auto summary = [](const char* problem) { return Error(ExitCode::kUsage, problem).Summary(); };
  EXPECT_EQ(summary("--period: no time"), "--period: no time");
  EXPECT_EQ(summary("adb is no serial number"), "adb is no serial number");
  EXPECT_EQ(summary("macos-arm64 is built on a Mac"), "macos-arm64 is built on a Mac");
  EXPECT_EQ(Error(ExitCode::kUsage, "x").Remedy("did you mean `y`?").Hint(), "Did you mean `y`?");
  EXPECT_EQ(Error(ExitCode::kUsage, "x").Remedy("run `y`").Hint(), "Run `y`.");
}

TEST(Error, ConvertsEveryException) {
  const Error original = Error(ExitCode::kUsage, "no command").InFile("here");
  EXPECT_EQ(ToError(original).Message(), "here: no command");
  EXPECT_EQ(ToError(original).exit_code(), ExitCode::kUsage);

  const std::filesystem::filesystem_error permission_denied(
      "status", "a/b", std::make_error_code(std::errc::permission_denied));
  EXPECT_EQ(ToError(permission_denied).exit_code(), ExitCode::kBadInput);

  const std::filesystem::filesystem_error too_many_files(
      "status", "a/b", std::make_error_code(std::errc::too_many_files_open));
  EXPECT_EQ(ToError(too_many_files).exit_code(), ExitCode::kDeviceFailed);
  EXPECT_EQ(ToError(std::bad_alloc()).exit_code(), ExitCode::kDeviceFailed);
  const Error system_error =
      ToError(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)));
  EXPECT_EQ(system_error.exit_code(), ExitCode::kDeviceFailed);

  const Error internal = ToError(std::out_of_range("at(7)"));
  EXPECT_EQ(internal.exit_code(), ExitCode::kDeviceFailed);

  ExpectGoldenMessages("core/converted_errors", {{"permission denied", ToError(permission_denied).Message()},
                                                 {"out of memory", ToError(std::bad_alloc()).Message()},
                                                 {"system error", system_error.Message()},
                                                 {"out of range", internal.Message()}});
}

}  // namespace
}  // namespace etprof
