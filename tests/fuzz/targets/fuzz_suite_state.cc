// The input changes values of a suite's suite_state.json, or replaces it. The suite is read and shown in all
// formats.

#include <nlohmann/json.hpp>
#include <sstream>

#include "commands/measure/suite.h"
#include "fuzz.h"
#include "mutate_json.h"
#include "show/formats.h"
#include "show/formats/screen/terminal.h"
#include "show/gates.h"

namespace {

constexpr const char* kValidState = R"({
  "schema_version": 1, "suite": "suite.json", "devices": ["local", "ssh:pi"], "max_slowdown": 0.05,
  "cells": [
    {"model": "net", "dtype": "fp32", "device": "local", "variants": ["base", "sme2 off"],
     "run_directory": "net_fp32/runs/linux", "status": "measured", "reason": null, "seconds": 12.5},
    {"model": "net", "dtype": null, "device": "ssh:pi", "variants": ["base"],
     "run_directory": "net/runs/pi", "status": "failed", "reason": "no connection", "seconds": 0},
    {"model": "other", "dtype": "int8", "device": "local", "variants": ["base", "sme2 off"],
     "run_directory": "other_int8/runs/linux", "status": "skipped", "reason": null, "seconds": 0}],
  "confirmations": [
    {"model": "net", "dtype": "fp32", "device": "local", "variants": ["threads=2"],
     "run_directory": "confirmed/net/local", "status": "measured", "reason": null, "seconds": 3}]})";

}  // namespace

ETPROF_FUZZ_TARGET(suite_state) {
  using namespace etprof;
  const std::string text = fuzz::MutateJson(kValidState, data, size);
  fuzz::ScratchFile("suite/suite_state.json", std::as_bytes(std::span(text)));
  WorkflowProgress progress;
  SuiteOptions options;
  options.path = (fuzz::ScratchFolder() / "suite").string();
  fuzz::Accepts({ExitCode::kBadInput}, [&] {
    const show::Document document = show::MakeSuiteDocument(ReadSuiteFolder(options, progress));
    std::ostringstream out;
    TerminalOptions terminal;
    for (const bool all : {false, true}) {
      terminal.all = all;
      RenderDocumentTerminal(document, terminal, out);
    }
    for (const DocumentFormat& format : kDocumentFormats) format.render(document, out);
  });
  return 0;
}
