#include "core/file/file_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

namespace etprof {
namespace {

using testing::HasSubstr;

std::string KindName(std::string_view text) {
  const auto kind = RecognizeFile(std::as_bytes(std::span(text)));
  return kind ? std::string(kind->name) : "";
}

TEST(RecognizeFile, NamesFilesThatPeopleConfuse) {
  EXPECT_THAT(KindName("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"), HasSubstr("Git LFS"));
  EXPECT_EQ(KindName("\n <!DOCTYPE HTML><title>404"), "an HTML page");
  EXPECT_EQ(KindName("\x1f\x8b\x08"), "compressed with gzip");
  EXPECT_THAT(KindName(std::string_view("PK\3\4\0\0", 6)), HasSubstr("a zip archive"));
  EXPECT_EQ(KindName(std::string_view("\0\0\0\0ED00", 8)), "an ETDump");
  EXPECT_EQ(KindName(std::string_view("\0\0\0\0\0\0\0\0ED00", 12)), "an ETDump");
  EXPECT_EQ(KindName(std::string_view("\0\0\0\0ET12", 8)), "an ExecuTorch program");
  EXPECT_THAT(KindName(std::string_view("\0\0\0\0BP08", 8)), HasSubstr("a bundled program"));
  EXPECT_THAT(KindName(std::string_view("\xff\xfeh\0i\0", 6)), HasSubstr("UTF-16"));
  EXPECT_EQ(KindName("{\"a\": 1}"), "a JSON file");
  EXPECT_EQ(KindName("weights go here\n"), "a text file");
}

TEST(RecognizeFile, LeavesOtherBytesUnnamed) {
  for (const std::string_view bytes : {std::string_view(""), std::string_view("\0\0\0", 3),
                                       std::string_view("\x01\x02"), std::string_view("\0\0\0\0ET13", 8)})
    EXPECT_EQ(KindName(bytes), "");
}

TEST(WrongFileKind, NamesTheKindOrTheMissingIdentifier) {
  const std::string_view page = "<html></html>";
  const Error error = WrongFileKind(std::as_bytes(std::span(page)), "a.etdump", "an ETDump",
                                    "no ED00 identifier", 4, "give an .etdump file");
  EXPECT_EQ(error.Summary(), "`a.etdump` is not an ETDump: it is an HTML page");
  EXPECT_THAT(error.Hint(), HasSubstr("ownload it again"));
  const std::string_view noise = "\x01\x02\x03\x04\x05\x06\x07\x08";
  const Error other = WrongFileKind(std::as_bytes(std::span(noise)), "a.etdump", "an ETDump",
                                    "no ED00 identifier", 4, "give an .etdump file");
  EXPECT_EQ(other.Summary(), "`a.etdump` is not an ETDump: no ED00 identifier (byte 4)");
}

}  // namespace
}  // namespace etprof
