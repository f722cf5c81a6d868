#pragma once

#include <string>

// How a number is shown whose unit stands behind it.
namespace etprof {

// Three significant digits for |value| < 1000, integers above; below 0.1 two decimals, and fewer digits.
std::string ThreeDigits(double value);

// "7.92", "0.051", "0.00002": as ThreeDigits from 0.1 on, and below as many decimals as it takes that what is
// not 0 does not look like it.
std::string FormatNumber(double value);

}  // namespace etprof
