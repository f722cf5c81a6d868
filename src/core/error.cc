#include "core/error.h"

#include <fmt/format.h>

#include <filesystem>
#include <new>
#include <system_error>

#include "core/escape.h"

namespace etprof {

Error& Error::Compose() {
  std::string text;
  if (!file_.empty()) {
    text += file_;
    if (line_) text += fmt::format(", line {}", *line_);
    if (offset_) text += fmt::format(", byte {}", *offset_);
    text += ": ";
  }
  text += problem_;
  if (!remedy_.empty()) text += "; " + remedy_;
  message_ = OneLine(text);
  return *this;
}

bool IsLimit(const std::error_code& code) {
  return code == std::errc::not_enough_memory || code == std::errc::too_many_files_open ||
         code == std::errc::too_many_files_open_in_system;
}

Error AsError(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) {
    return Error(ExitCode::kDeviceFailed, "out of memory")
        .Remedy("free some, or raise its limit (ulimit -v)");
  }
  if (const auto* error = dynamic_cast<const std::filesystem::filesystem_error*>(&exception)) {
    const auto& code = error->code();
    const bool is_limit = IsLimit(code);
    return Error(is_limit ? ExitCode::kDeviceFailed : ExitCode::kBadInput, code.message())
        .InFile(error->path1().string())
        .Remedy(is_limit ? kSeeLimits : "check the path and its permissions");
  }
  if (const auto* error = dynamic_cast<const std::system_error*>(&exception)) {  // a thread, a pipe
    return Error(ExitCode::kDeviceFailed, "the system refused what etprof needs: " + error->code().message())
        .Remedy(kSeeLimits);
  }
  return {ExitCode::kDeviceFailed,
          fmt::format("{} (this is a defect of etprof: please report it)", exception.what())};
}

}  // namespace etprof
