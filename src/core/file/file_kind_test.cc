#include "core/file/file_kind.h"

#include <gtest/gtest.h>

#include <span>

#include "core/golden_testing.h"

namespace etprof {
namespace {

std::string KindName(std::string_view text) {
  const auto kind = RecognizeFile(std::as_bytes(std::span(text)));
  return kind ? std::string(kind->name) : "";
}

TEST(RecognizeFile, NamesFilesThatPeopleConfuse) {
  ExpectGoldenMessages("core/file_kinds",
                       {{"Git LFS", KindName("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")},
                        {"HTML", KindName("\n <!DOCTYPE HTML><title>404")},
                        {"gzip", KindName("\x1f\x8b\x08")},
                        {"zip", KindName(std::string_view("PK\3\4\0\0", 6))},
                        {"ETDump with a size prefix", KindName(std::string_view("\0\0\0\0\0\0\0\0ED00", 12))},
                        {"ETDump without a size prefix", KindName(std::string_view("\0\0\0\0ED00", 8))},
                        {"program", KindName(std::string_view("\0\0\0\0ET12", 8))},
                        {"bundled program", KindName(std::string_view("\0\0\0\0BP08", 8))},
                        {"UTF-16", KindName(std::string_view("\xff\xfeh\0i\0", 6))},
                        {"JSON", KindName("{\"a\": 1}")},
                        {"text", KindName("weights go here\n")}});
}

TEST(RecognizeFile, LeavesOtherBytesUnnamed) {
  for (const std::string_view bytes : {std::string_view(""), std::string_view("\0\0\0", 3),
                                       std::string_view("\x01\x02"), std::string_view("\0\0\0\0ET13", 8)})
    EXPECT_EQ(KindName(bytes), "");
}

TEST(WrongFileKind, NamesTheKindOrTheMissingIdentifier) {
  const auto message = [](std::string_view text) {
    const Error error = WrongFileKind(std::as_bytes(std::span(text)), "a.etdump", "an ETDump",
                                      "no ED00 identifier", 4, "give an .etdump file");
    return error.Summary() + " | " + error.Hint();
  };
  ExpectGoldenMessages(
      "core/wrong_file_kinds",
      {{"HTML", message("<html></html>")}, {"unknown bytes", message("\x01\x02\x03\x04\x05\x06\x07\x08")}});
}

}  // namespace
}  // namespace etprof
