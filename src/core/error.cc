#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <span>
#include <string_view>

#include "core/text/escape.h"

namespace etprof {
namespace {

// If a problem begins with one of these verbs, the message is a sentence with the file as its subject.
constexpr std::string_view kVerbs[] = {
    "already", "answered", "arrived", "asks",  "begins", "calls", "cannot", "changed", "closed", "computes",
    "could",   "did",      "does",    "ended", "ends",   "gives", "had",    "has",     "have",   "holds",
    "is",      "knows",    "lacks",   "lies",  "must",   "names", "needs",  "plans",   "points", "printed",
    "refused", "said",     "says",    "takes", "took",   "was",   "were"};

// Program names stay lower-case at the beginning of a sentence.
constexpr std::string_view kPrograms[] = {"adb", "cmake", "etprof", "git", "script", "ssh"};

bool Contains(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

std::string_view FirstWord(std::string_view text) {
  return {text.begin(), std::ranges::find_if_not(text, [](char c) { return c >= 'a' && c <= 'z'; })};
}

std::string Capitalized(std::string text) {
  const std::string_view first = FirstWord(text);
  const bool is_word =
      !first.empty() && (first.size() == text.size() ||
                         std::string_view(" ,:'").find(text[first.size()]) != std::string_view::npos);
  if (is_word && !Contains(kPrograms, first)) text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string Sentence(const std::string& text) {
  if (text.empty()) return "";
  return Capitalized(text) + (std::string_view(".?!").find(text.back()) == std::string_view::npos ? "." : "");
}

}  // namespace

std::string Error::Summary() const {
  if (file_.empty()) return EscapeToOneLine(Capitalized(problem_));
  const std::string location = line_     ? fmt::format("line {}", *line_)
                               : offset_ ? fmt::format("byte {}", *offset_)
                                         : "";
  if (Contains(kVerbs, FirstWord(problem_)))
    return EscapeToOneLine(
        fmt::format("`{}` {}{}", file_, problem_, location.empty() ? "" : fmt::format(" ({})", location)));
  return EscapeToOneLine(fmt::format("`{}`{}: {}", file_, location.empty() ? "" : ", " + location, problem_));
}

std::string Error::Hint() const { return EscapeToOneLine(Sentence(remedy_)); }

Error& Error::Compose() {
  std::string text;
  if (!file_.empty()) {
    text += file_;
    if (line_) text += fmt::format(", line {}", *line_);
    if (offset_) text += fmt::format(", byte {}", *offset_);
    text += ": ";
  }
  text += problem_;
  if (!remedy_.empty()) text += ". " + Sentence(remedy_);
  message_ = EscapeToOneLine(text);
  return *this;
}

bool IsResourceLimit(const std::error_code& code) {
  return code == std::errc::not_enough_memory || code == std::errc::too_many_files_open ||
         code == std::errc::too_many_files_open_in_system;
}

Error ToError(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) {
    return Error(ExitCode::kDeviceFailed, "out of memory")
        .Remedy("free some, or raise its limit (`ulimit -v`)");
  }
  if (const auto* error = dynamic_cast<const std::filesystem::filesystem_error*>(&exception)) {
    const auto& code = error->code();
    const bool is_limit = IsResourceLimit(code);
    return Error(is_limit ? ExitCode::kDeviceFailed : ExitCode::kBadInput, code.message())
        .InFile(error->path1().string())
        .Remedy(is_limit ? kLimitsRemedy : "check the path and its permissions");
  }
  if (const auto* error = dynamic_cast<const std::system_error*>(
          &exception)) {  // thrown if a thread or a pipe cannot be created
    return Error(ExitCode::kDeviceFailed, "the system refused what etprof needs: " + error->code().message())
        .Remedy(kLimitsRemedy);
  }
  return Error(ExitCode::kDeviceFailed, fmt::format("internal error: {}", exception.what()))
      .Remedy("this is a bug of etprof. Report it with the command that you ran");
}

}  // namespace etprof
