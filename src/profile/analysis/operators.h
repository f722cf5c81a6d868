#pragma once

#include <string_view>

#include "format/delegates/delegate.h"
#include "profile/analysis/profile.h"

namespace etprof {

// A delegate call without child spans: all of its time is the delegate's.
inline bool IsOpaqueCall(const Operator& op) {
  return op.key.kind == SpanKind::kDelegateCall && op.category.group != OperatorGroup::kDelegateOverhead;
}

// The name of an operator if the trace has only its OPERATOR_CALL.
inline constexpr std::string_view kUnloggedKernel = "kernel that logs no event";

// An OPERATOR_CALL without child spans: all of its time is the kernel's.
inline bool IsUnloggedKernel(const Operator& op) {
  return op.key.kind == SpanKind::kOperatorCall && op.category.group != OperatorGroup::kFrameworkOverhead;
}

// Returns whether reports list the span as an operator: it computes, unlike the framework's spans around it.
inline bool IsOperator(const Operator& op) {
  return op.key.kind == SpanKind::kKernel || op.key.kind == SpanKind::kBackend || IsOpaqueCall(op) ||
         IsUnloggedKernel(op);
}

// An operator in an XNNPACK delegate.
inline bool RunsInXnnpack(const Operator& op) {
  return op.key.kind == SpanKind::kBackend && op.backend == delegates::kXnnpack.backend;
}

// Returns whether XNNPACK's own clock timed XNNPACK's operators. The clock has a resolution of 1 µs, which is
// coarse for operators that take 2 µs.
inline bool HasMicrosecondClock(const Profile& profile) {
  std::int64_t whole_microseconds = 0;
  for (std::size_t i = 0; i < profile.operators.size(); ++i) {
    if (!RunsInXnnpack(profile.operators[i])) continue;
    for (const Nanoseconds duration : profile.Duration(i)) {
      if (duration <= 0) continue;
      if (duration % 1000 != 0) return false;
      ++whole_microseconds;
    }
  }
  return whole_microseconds >= 3;  // the probability by chance is 10^-9
}

}  // namespace etprof
