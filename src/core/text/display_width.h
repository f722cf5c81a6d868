#pragma once

#include <string>

namespace etprof {

// The number of terminal columns that a UTF-8 text takes: code points, with combining marks as 0 and the
// common wide East Asian ranges as 2. Invalid bytes count as 1.
int DisplayWidth(const std::string& text);

}  // namespace etprof
