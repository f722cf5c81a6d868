#pragma once

#include <string>

namespace etprof {

struct GenerateReport;

// The tests in the output format of llama.cpp's llama-bench (tools/llama-bench/llama-bench.cpp): its keys,
// and one sample per launch. `format` is json, jsonl, csv, md, or sql. Fields that ExecuTorch lacks are
// empty, 0, or false.
std::string LlamaBenchText(const GenerateReport& generate, const std::string& format);

}  // namespace etprof
