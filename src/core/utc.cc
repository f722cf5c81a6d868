#include "core/utc.h"

#include <array>
#include <ctime>

namespace etprof {
namespace {

std::string Now(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 40> text{};
  std::strftime(text.data(), text.size(), format, &utc);
  return text.data();
}

}  // namespace

std::string UtcNow() { return Now("%Y-%m-%dT%H:%M:%SZ"); }
std::string UtcNowForFileName() { return Now("%Y-%m-%dT%H%M%SZ"); }

}  // namespace etprof
