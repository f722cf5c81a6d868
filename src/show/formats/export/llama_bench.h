#pragma once

#include <string>

namespace etprof {

struct GenerationReport;

// The tests in the output format of llama.cpp's llama-bench (tools/llama-bench/llama-bench.cpp): its keys,
// and one sample per launch. `format` is json, jsonl, csv, md, or sql. Fields that ExecuTorch lacks are
// empty, 0, or false.
std::string LlamaBenchText(const GenerationReport& generation, const std::string& format);

}  // namespace etprof
