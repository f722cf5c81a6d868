#pragma once

#include <cmath>
#include <vector>

#include "measure/store/run_warnings.h"
#include "report/suite/suite.h"

// A suite with known numbers for the tests of report/ and show/.
namespace etprof::example {

inline SuiteCellReport MakeSuiteCell(const char* model, const char* dtype, const char* device, double ratio) {
  SuiteCellReport cell;
  cell.model = model;
  cell.dtype = dtype;
  cell.device = device;
  cell.folder = "runs";
  cell.status = SuiteCellStatus::kMeasured;
  cell.experiment = "1 thread";
  cell.launches = 10;
  cell.margin = 0.01;
  SuitePair& pair = cell.pairs.emplace_back();
  pair.variant = "threads=2";
  pair.baseline_label = "1 thread";
  pair.candidate_label = "2 threads";
  pair.launches = 10;
  pair.latency.baseline_ns = 4e6;
  pair.latency.candidate_ns = 4e6 / ratio;
  std::vector<double> effects;
  for (int i = 0; i < 10; ++i) effects.push_back(std::log(ratio) + (i % 2 == 0 ? 0.003 : -0.003));
  pair.latency.estimate = stats::EstimateRatio(effects, 0.95);
  cell.settings = {{.label = "1 thread",
                    .latency_ns = 4e6,
                    .interval = LatencyInterval{3.9e6, 4.1e6, 0.95, 10},
                    .sqnr = {{"example", 36}, {"held-out 1", 34.5}},
                    .peak_memory = 30.6e6,
                    .load_ns = 2e6,
                    .load_interval = LatencyInterval{1.8e6, 2.2e6, 0.95, 10},
                    .program_sha256 = "a1"},
                   {.variant = "threads=2",
                    .label = "2 threads",
                    .latency_ns = 4e6 / ratio,
                    .load_ns = 2e6,
                    .program_sha256 = "a1"}};
  cell.setting_pairs = {{.first = 0, .second = 1, .latency = pair.latency, .memory = pair.latency.estimate}};
  cell.operators = {{"Convolution (NHWC, F32) IGEMM #1", 2e6, 0.5}, {"Softmax | <&\"> #1", 1e6, 0.25}};
  return cell;
}

// A suite with one cell of each outcome.
inline SuiteReport MakeSuite() {
  SuiteReport suite;
  suite.name = "nightly <&\"> | `x`";
  suite.folder = "/suite";
  suite.devices = {"local", "ssh:b"};
  suite.limit = 0.02;
  suite.cells = {MakeSuiteCell("first", "fp32", "local", 1.8), MakeSuiteCell("first", "fp32", "ssh:b", 1),
                 MakeSuiteCell("second", "fp32", "local", 0.9),
                 MakeSuiteCell("second", "fp32", "ssh:b", 1.5)};
  suite.cells[3].emulated = true;
  suite.cells[3].pairs[0].latency.verdict = stats::Verdict::kEmulated;
  suite.cells[3].pairs[0].inconclusive_reason = kEmulatedRemark;
  SuiteCellReport failed;
  failed.model = "second";
  failed.dtype = "int8";
  failed.device = "local";
  failed.folder = "runs/second/int8/local";
  failed.status = SuiteCellStatus::kFailed;
  failed.reason = "net.pte: is no program | <b>";
  suite.cells.push_back(failed);
  failed.device = "ssh:b";
  failed.status = SuiteCellStatus::kSkipped;
  failed.reason = "the time was over before it (max_minutes)";
  suite.cells.push_back(failed);
  suite.confirmations = {{.cell = MakeSuiteCell("first", "fp32", "local", 1.8)}};
  DecideSuite(suite);
  return suite;
}

}  // namespace etprof::example
