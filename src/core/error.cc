#include "core/error.h"

#include <fmt/format.h>

#include <filesystem>

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
  message_.clear();
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      message_ += fmt::format("\\x{:02x}", byte);
    } else {
      message_ += c;
    }
  }
  return *this;
}

Error AsError(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) return *error;
  if (const auto* error = dynamic_cast<const std::filesystem::filesystem_error*>(&exception)) {
    return Error(ExitCode::kBadInput, error->code().message())
        .InFile(error->path1().string())
        .Remedy("check the path and its permissions");
  }
  return {ExitCode::kDeviceFailed,
          fmt::format("{} (this is a defect of etprof: please report it)", exception.what())};
}

}  // namespace etprof
