#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"

namespace etprof {

enum class SuiteCellStatus {
  kPending,  // not measured yet
  kMeasured,
  kFailed,   // the measurement failed; earlier results of the cell are kept
  kSkipped,  // the suite's time limit was reached before the cell
};
template <>
inline constexpr const char* kNames<SuiteCellStatus>[] = {"pending", "measured", "failed", "skipped"};

// A suite's name for one of its programs: "net int8". An empty `dtype` means that the model has only one
// program.
inline std::string SuiteProgramName(const std::string& model, const std::string& dtype) {
  return dtype.empty() ? model : model + " " + dtype;
}

// The contents of suite_state.json in a suite's folder: the state that is not in the suite's results
// directories.
struct SuiteState {
  struct Cell {
    std::string model, dtype, device;
    std::vector<std::string> variants;
    std::filesystem::path folder;
    SuiteCellStatus status = SuiteCellStatus::kPending;
    std::string reason;
    double seconds = 0;

    static constexpr const char* kSchemaName = "cell";
    static void Describe(auto& v) {
      v("model", &Cell::model, {.meaning = "its name in the suite"});
      v("dtype", &Cell::dtype, {.meaning = "null: the model is one program", .or_null = true});
      v("device", &Cell::device, {.meaning = "as `--device` takes it"});
      v("variants", &Cell::variants, {.meaning = "as the suite has them"});
      v("run_directory", &Cell::folder, {.meaning = "relative to the suite's folder", .relative = true});
      v("status", &Cell::status, {.meaning = "`skipped`: the suite's time was over before it"});
      v("reason", &Cell::reason, {.meaning = "why it failed or was skipped", .or_null = true});
      v("seconds", &Cell::seconds,
        {.meaning = "of the device, without waiting for it to be free or cool", .min = 0});
    }
  };
  std::string suite;  // file name of the suite
  std::vector<std::string> devices;
  std::optional<double> max_slowdown;
  std::vector<Cell> cells, confirmations;

  static void Describe(auto& v) {
    DescribeSchemaVersion(v);
    v("suite", &SuiteState::suite, {.meaning = "its file"});
    v("devices", &SuiteState::devices, {.meaning = "as `--device` takes them"});
    v("max_slowdown", &SuiteState::max_slowdown, {.meaning = "null: nothing fails for being slow"});
    v("cells", &SuiteState::cells, {.meaning = "each model in each data type on each device"});
    v("confirmations", &SuiteState::confirmations,
      {.meaning = "frontiers that were measured again, with the model as it is", .omit_if_empty = true});
  }
};

}  // namespace etprof
