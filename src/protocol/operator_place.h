#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "core/json/describe.h"

namespace etprof::protocol {

// Identifies an operator of a method to the runner: OperatorKey (profile/analysis/profile.h) without the
// method.
struct OperatorPlace {
  std::int64_t chain = 0;
  std::int64_t instruction = 0;  // -1: the method itself
  std::string kind;
  std::int64_t ordinal = 0;
  std::int64_t occurrence = 0;
  auto operator<=>(const OperatorPlace&) const = default;

  // A short, stable key that is unique among a method's operators: "forward/3/backend/2".
  std::string KeyText(const std::string& method) const {
    std::string text =
        method + "/" + std::to_string(instruction) + "/" + kind + "/" + std::to_string(ordinal);
    if (chain > 0) text += "/chain" + std::to_string(chain);
    if (occurrence > 0) text += "/again" + std::to_string(occurrence);
    return text;
  }

  static void Describe(auto& v) {
    v("chain", &OperatorPlace::chain, {.meaning = "of the method's instructions"});
    v("instruction", &OperatorPlace::instruction,
      {.meaning = "in its chain; -1: the method itself", .min = -1});
    v("kind", &OperatorPlace::kind,
      {.meaning = "\"method\", \"operator_call\", \"delegate_call\", \"kernel\", \"backend\""});
    v("ordinal", &OperatorPlace::ordinal, {.meaning = "place within the call, from 0"});
    v("occurrence", &OperatorPlace::occurrence,
      {.meaning = "how often the instruction had run before in the same run"});
  }
};

}  // namespace etprof::protocol
