#pragma once

#include <string_view>

#include "analysis/profile.h"

namespace etprof {

// A delegate's call that has no spans of its own: all of its time is the delegate's.
inline bool IsOpaqueCall(const Operator& op) {
  return op.key.kind == SpanKind::kDelegateCall && op.category.group != Group::kDelegateOverhead;
}

// The name of an operator of which only the OPERATOR_CALL is in the trace.
inline constexpr std::string_view kUnloggedKernel = "kernel that logs no event";

// An OPERATOR_CALL without spans of its own: all of its time is the kernel's.
inline bool IsUnloggedKernel(const Operator& op) {
  return op.key.kind == SpanKind::kOperatorCall && op.category.group != Group::kFrameworkOverhead;
}

// What a report lists as an operator: what computes, not the framework's spans around it.
inline bool IsOperator(const Operator& op) {
  return op.key.kind == SpanKind::kKernel || op.key.kind == SpanKind::kBackend || IsOpaqueCall(op) ||
         IsUnloggedKernel(op);
}

// An operator within a delegate of XNNPACK.
bool IsOfXnnpack(const Operator& op);

// Whether XNNPACK's own clock timed its operators: it gives whole microseconds, which says little of an
// operator that takes two.
bool HasWholeMicroseconds(const Profile& profile);

}  // namespace etprof
