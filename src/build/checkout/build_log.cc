#include "build/checkout/build_log.h"

#include <algorithm>

#include "core/text/text.h"

namespace etprof {
namespace {

// Messages of CMake's download modules, git, and curl, in lower case. Each is printed after a failure, not
// before an attempt.
constexpr std::string_view kDownloadFailures[] = {
    "failed to clone",
    "failed to checkout tag",
    "clone of '",  // "fatal: clone of '...' into submodule path '...' failed"
    "unable to access '",
    "could not read from remote repository",
    "could not resolve host",
    "couldn't resolve host",
    "failed to connect to",
    "connection reset by peer",
    "connection refused",
    "connection timed out",
    "operation timed out",
    "rpc failed",
    "early eof",
    "the remote end hung up unexpectedly",
    "each download failed",
    "error: downloading '",
    "file download hash mismatch",
    "returned error: 5",  // curl: "The requested URL returned error: 503"
};

}  // namespace

bool IsDownloadFailure(std::string_view output) {
  const std::string lower = Lower(output);
  return std::ranges::any_of(kDownloadFailures, [&lower](std::string_view pattern) {
    return lower.find(pattern) != std::string::npos;
  });
}

std::string LastLines(std::string_view text, std::size_t count) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::size_t start = text.size();
  for (std::size_t line = 0; line < count && start > 0; ++line) {
    const std::size_t newline = text.rfind('\n', start - 1);
    start = newline == std::string_view::npos ? 0 : newline;
  }
  if (start < text.size() && text[start] == '\n') ++start;
  return std::string(text.substr(start));
}

std::string ExtractFailure(std::string_view log, std::size_t count) {
  const std::size_t command = log.rfind("\n$ ");
  if (command != std::string_view::npos) log.remove_prefix(command + 1);
  std::string errors;
  std::size_t lines = 0;
  bool in_error = false;
  for (const std::string_view line : SplitAt(log, '\n')) {
    if (lines == count) break;
    // An error consists of "CMake Error at FILE:LINE (message):", indented text, "Call Stack ...:", and
    // indented locations.
    const bool starts_error = line.starts_with("CMake Error");
    in_error = starts_error ||
               (in_error && (line.empty() || line.starts_with(' ') || line.starts_with("Call Stack")));
    if (!in_error || (line.empty() && errors.ends_with("\n\n"))) continue;
    errors += line;
    errors += '\n';
    ++lines;
  }
  while (errors.ends_with('\n')) errors.pop_back();
  return errors.empty() ? LastLines(log, count) : errors;
}

std::optional<NinjaProgress> ParseNinjaProgress(std::string_view line) {
  if (!line.starts_with('[')) return std::nullopt;
  line.remove_prefix(1);
  const auto done = ConsumeNumber<int>(line);
  if (!done || !line.starts_with('/')) return std::nullopt;
  line.remove_prefix(1);
  const auto total = ConsumeNumber<int>(line);
  if (!total || !line.starts_with(']')) return std::nullopt;
  return NinjaProgress{*done, *total};
}

}  // namespace etprof
