#include "core/file/file_kind.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text/text.h"

namespace etprof {
namespace {

constexpr std::string_view kDownloadAgain =
    "download it again. The server may have answered with an error or a sign-in page";

// A kind of file, and the bytes at a fixed offset that identify it.
struct FileSignature : FileKind {
  std::size_t offset;
  std::string_view bytes;
};
constexpr std::string_view kUseProgram = "use `etprof inspect FILE` or `etprof profile FILE`";
constexpr FileKind kEtdump = {"an ETDump", "use `etprof analyze FILE`"};
constexpr FileKind kUtf16 = {"UTF-16 text, as PowerShell's `>` writes it",
                             "convert it with `iconv -f UTF-16 -t UTF-8`"};
constexpr FileSignature kFileSignatures[] = {
    {{"a Git LFS pointer, which stands for a file that was not fetched",
      "run `git lfs pull` in its repository"},
     0,
     "version https://git-lfs.github.com/spec/"},
    {{"an ExecuTorch program", kUseProgram}, 4, "ET12"},
    {{"a bundled program (.bpte): an ExecuTorch program with test cases", kUseProgram}, 4, "BP08"},
    {{"an ExecuTorch data file (.ptd)", "give it with `--data`, next to its program"}, 4, "FT01"},
    {kEtdump, 4, "ED00"},
    {kEtdump, 8, "ED00"},
    {{"a zip archive, such as an ETRecord (.etrecord) or a PyTorch file (.pt, .pt2)",
      "give an ETRecord with `--etrecord`, export a PyTorch model with `etprof export`, or unpack the "
      "archive"},
     0,
     std::string_view("PK\3\4", 4)},
    {{"compressed with gzip", "decompress it with `gunzip`"}, 0, "\x1f\x8b"},
    {{"compressed with zstd", "decompress it with `unzstd`"}, 0, "\x28\xb5\x2f\xfd"},
    {{"compressed with xz", "decompress it with `unxz`"},
     0,
     "\xfd"
     "7zXZ"},
    {{"an ELF program or library", "give a runner with `--runner` and a library with `--load`"},
     0,
     "\x7f"
     "ELF"},
    {{"an SQLite database", "give a history with `--history`"}, 0, "SQLite format 3"},
    {kUtf16, 0, "\xff\xfe"},
    {kUtf16, 0, "\xfe\xff"},
};

}  // namespace

std::optional<FileKind> RecognizeFile(ByteView bytes) {
  constexpr std::size_t kMaxInspectedBytes = 512;
  const std::string_view text = AsText(bytes).substr(0, kMaxInspectedBytes);
  for (const FileSignature& signature : kFileSignatures) {
    if (text.size() >= signature.offset && text.substr(signature.offset).starts_with(signature.bytes))
      return signature;
  }
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const std::string start = Lower(text.substr(begin, 16));
  if (start.starts_with("<!doctype html") || start.starts_with("<html"))
    return FileKind{"an HTML page", kDownloadAgain};
  const bool is_text = !text.empty() && std::ranges::all_of(text, [](char c) {
    return (static_cast<unsigned char>(c) >= ' ' && c != '\x7f') || c == '\n' || c == '\r' || c == '\t';
  });
  if (!is_text) return std::nullopt;
  if (start.starts_with('{')) return FileKind{"a JSON file", ""};
  return FileKind{"a text file", ""};
}

Error WrongFileKind(ByteView bytes, const std::string& file_name, std::string_view expected,
                    std::string_view reason, std::uint64_t offset, const std::string& remedy) {
  const std::optional<FileKind> kind = RecognizeFile(bytes);
  if (!kind) {
    return Error(ExitCode::kBadInput, fmt::format("is not {}: {}", expected, reason))
        .InFile(file_name)
        .AtOffset(offset)
        .Remedy(remedy);
  }
  return Error(ExitCode::kBadInput, fmt::format("is not {}: it is {}", expected, kind->name))
      .InFile(file_name)
      .Remedy(kind->remedy.empty() ? remedy : std::string(kind->remedy));
}

std::optional<Error> OtherFileKind(std::string_view text, const std::string& file_name,
                                   std::string_view expected) {
  const ByteView bytes(reinterpret_cast<const ByteView::value_type*>(text.data()), text.size());
  const std::optional<FileKind> kind = RecognizeFile(bytes);
  if (!kind || kind->remedy.empty()) return std::nullopt;
  return WrongFileKind(bytes, file_name, expected, "", 0, "");
}

}  // namespace etprof
