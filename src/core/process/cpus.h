#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace etprof {

// Parses a set of CPUs: a list ("0", "0-3,6") or a hexadecimal mask as taskset takes it ("0x80", "f0"). Text
// of digits alone is a list. Returns ascending numbers without duplicates. Throws Error (kUsage).
std::vector<int> ParseCpus(std::string_view text);

// Formats ascending CPU numbers as a list: "0-3,6".
std::string CpusText(const std::vector<int>& cpus);

}  // namespace etprof
