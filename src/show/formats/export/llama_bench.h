#pragma once

#include <string>

namespace etprof {

struct GenerateReport;

// The tests as llama-bench of llama.cpp prints them (tools/llama-bench/llama-bench.cpp): its keys, a sample a
// launch. `format` is json, jsonl, csv, md, or sql. What ExecuTorch does not have is empty, 0, or false.
std::string LlamaBenchText(const GenerateReport& of, const std::string& format);

}  // namespace etprof
