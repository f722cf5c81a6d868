#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace etprof {

// A set of CPUs as users write it: a list ("0", "0-3,6") or a mask as taskset takes it ("0x80", "f0").
// Ascending, each once. Digits alone are a list. Throws Error (kUsage) saying what is wrong.
std::vector<int> ParseCpus(std::string_view text);

// "0-3,6".
std::string CpusText(const std::vector<int>& cpus);

}  // namespace etprof
