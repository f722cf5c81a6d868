#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/file/file.h"

namespace etprof {

// The kind of a file, recognized by its first bytes.
struct FileKind {
  std::string_view name;    // with its article: "an HTML page"
  std::string_view remedy;  // what to do with such a file
};
// Absent if the file is not of a kind that etprof recognizes.
std::optional<FileKind> RecognizeFile(ByteView bytes);

// The error for a file that is not `expected` ("an ETDump"). If the first bytes show another kind, the error
// names that kind and its remedy. Otherwise it has `reason` ("no ED00 identifier"), the byte `offset` at
// which the identifier is missing, and `remedy`.
Error WrongFileKind(ByteView bytes, const std::string& file_name, std::string_view expected,
                    std::string_view reason, std::uint64_t offset, const std::string& remedy);

// The same error if the text is of a kind that has its own remedy, such as an HTML page or UTF-16 text.
std::optional<Error> OtherFileKind(std::string_view text, const std::string& file_name,
                                   std::string_view expected);

}  // namespace etprof
