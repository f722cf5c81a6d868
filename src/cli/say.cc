#include "cli/say.h"

#include <atomic>
#include <cstdio>

namespace etprof {
namespace {

std::atomic<bool> g_lost = false;

}  // namespace

void SayText(std::string_view text) noexcept {
  if (std::fwrite(text.data(), 1, text.size(), stderr) == text.size() && std::fflush(stderr) == 0) return;
  g_lost = true;
  std::clearerr(stderr);
}

void SayError(const Error& error, std::string_view prefix) {
  Say("error: {}{}\n", prefix, error.Summary());
  if (!error.remedy().empty()) Say("hint: {}\n", error.Hint());
}

bool MessagesLost() noexcept { return g_lost; }

}  // namespace etprof
