#include "profile/analysis/operators.h"

#include "format/delegates/delegate.h"

namespace etprof {

bool HasMicrosecondClock(const Profile& profile) {
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

bool RunsInXnnpack(const Operator& op) {
  return op.key.kind == SpanKind::kBackend && op.backend == delegates::kXnnpack.backend;
}

}  // namespace etprof
