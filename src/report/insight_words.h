#pragma once

#include <string>

namespace etprof {

// Numbers as findings say them.

// "1.234 ms"; below 10 µs in its own unit, since 0.0000 ms says nothing.
std::string Ms(double ns);
// "4.2 %", "51 %", "<0.1 %".
std::string Percent(double share);

}  // namespace etprof
