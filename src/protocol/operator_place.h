#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "core/json/describe.h"

namespace etprof::protocol {

// Which operator of a method the runner speaks of: OperatorKey (analysis/profile.h) without the method.
struct OperatorPlace {
  std::int64_t chain = 0;
  std::int64_t instruction = 0;  // -1: the method
  std::string kind;              // "method", "operator_call", "delegate_call", "kernel", "backend"
  std::int64_t ordinal = 0;
  std::int64_t occurrence = 0;
  auto operator<=>(const OperatorPlace&) const = default;

  // "forward/3/backend/2": short, stable, unique within a method's operators.
  std::string KeyText(const std::string& method) const {
    std::string text =
        method + "/" + std::to_string(instruction) + "/" + kind + "/" + std::to_string(ordinal);
    if (chain > 0) text += "/chain" + std::to_string(chain);
    if (occurrence > 0) text += "/again" + std::to_string(occurrence);
    return text;
  }

  static void Describe(auto& v) {
    v("chain", &OperatorPlace::chain);
    v("instruction", &OperatorPlace::instruction, {.least = -1});
    v("kind", &OperatorPlace::kind);
    v("ordinal", &OperatorPlace::ordinal);
    v("occurrence", &OperatorPlace::occurrence);
  }
};

}  // namespace etprof::protocol
