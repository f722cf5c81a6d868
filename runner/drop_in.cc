#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file/file.h"
#include "core/file/sha256.h"
#include "core/json/json.h"
#include "core/json/json_members.h"
#include "inference/model.h"
#include "inference/outputs.h"
#include "machine/conditions.h"
#include "modes.h"
#include "platform.h"
#include "timing/operator_clock.h"

namespace etprof::runner {
namespace {

// Prints a line in the format of ExecuTorch's log, which scripts for executor_runner parse: "I
// 00:00:00.053789 executorch:executor_runner.cpp:789] Model executed successfully ..."
void PrintLogLine(std::int64_t start_ns, const std::string& text) {
  const std::int64_t us = (MonotonicNow() - start_ns) / 1000;
  std::fputs(fmt::format("I {:02}:{:02}:{:02}.{:06} etprof-runner] {}\n", us / 3'600'000'000,
                         us / 60'000'000 % 60, us / 1'000'000 % 60, us % 1'000'000, text)
                 .c_str(),
             stdout);
}

}  // namespace

int RunAsExecutorRunner(const Options& options, const protocol::Ready& ready) {
  const std::int64_t start = MonotonicNow();
  Model model(options.model);
  const protocol::LoadReply& description = model.description();
  PrintLogLine(start, fmt::format("Model file {} is loaded.", options.model.model));
  PrintLogLine(start, fmt::format("Using method {}", model.method_name()));
  PrintLogLine(start,
               fmt::format("Model loaded in {:.6f} ms.", static_cast<double>(description.load_ns) * 1e-6));
  for (const std::string& warning : description.warnings)
    std::fprintf(stderr, "etprof-runner: warning: %s\n", warning.c_str());

  std::vector<std::int64_t> latencies;
  latencies.reserve(static_cast<std::size_t>(options.num_executions));
  {
    const CrashContext during("running '" + model.method_name() + "'");
    model.SetTracing(!options.etdump_path.empty());
    for (int i = 0; i < options.num_executions; ++i) {
      model.SetInputs();
      latencies.push_back(model.Run());
    }
    model.SetTracing(false);
  }
  std::int64_t total = 0;
  for (std::size_t i = 0; i < latencies.size(); ++i) {
    total += latencies[i];
    PrintLogLine(start, fmt::format("Iteration {} of {}: {:.6f} ms", i + 1, latencies.size(),
                                    static_cast<double>(latencies[i]) * 1e-6));
  }
  PrintLogLine(start, fmt::format("Model executed successfully {} time(s) in {:.6f} ms.", latencies.size(),
                                  static_cast<double>(total) * 1e-6));
  if (options.print_output != "none") {
    PrintLogLine(start, fmt::format("{} outputs: ", model.method().outputs_size()));
    PrintOutputs(model.method(), options.print_output == "all" ? std::size_t{1} << 40 : 100);
  }
  if (!options.output_file.empty()) WriteRawOutputs(model.method(), options.output_file);
  if (!options.save_outputs.empty()) SaveOutputs(model.method(), options.save_outputs);
  if (!options.etdump_path.empty()) {
    model.tracer().WriteAndClear(options.etdump_path);
    PrintLogLine(start, fmt::format("ETDump written to file '{}'.", options.etdump_path));
  }
  if (!options.report.empty()) {
    const nlohmann::json report = {{"ready", ready},
                                   {"load", description},
                                   {"model", options.model.model},
                                   {"model_sha256", Sha256HexOfFile(options.model.model)},
                                   {"method", model.method_name()},
                                   {"traced", !options.etdump_path.empty()},
                                   {"latency_ns", latencies},
                                   {"outputs", DigestOutputs(model.method())},
                                   {"peak_rss_bytes", PeakResidentBytes()}};
    WriteFileAtomically(options.report, JsonText(report, 2) + "\n");
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw Error(ExitCode::kDeviceFailed, "stdout cannot be written").Remedy("is the disk full?");
  }
  return 0;
}

}  // namespace etprof::runner
