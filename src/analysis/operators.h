#pragma once

#include "analysis/profile.h"

namespace etprof {

// What a report lists as an operator: what computes, not the framework's spans around it.
inline bool IsOperator(const Operator& op) {
  return op.key.kind == SpanKind::kKernel || op.key.kind == SpanKind::kBackend;
}

}  // namespace etprof
