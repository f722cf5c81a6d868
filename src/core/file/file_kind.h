#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/file/file.h"

namespace etprof {

// What a file is, as its first bytes tell.
struct FileKind {
  std::string_view name;    // with its article: "an HTML page"
  std::string_view remedy;  // what to do with it
};
// Absent: none of the kinds that people mistake for another.
std::optional<FileKind> RecognizeFile(ByteView bytes);

// The error of a file that is not `expected` ("an ETDump"): what it is instead and what to do, where its
// first bytes tell; else `why` ("no ED00 identifier"), which was missed at byte `offset`, and `remedy`.
Error NotTheExpectedFile(ByteView bytes, const std::string& file_name, std::string_view expected,
                         std::string_view why, std::uint64_t offset, const std::string& remedy);

}  // namespace etprof
