#include "commands/measure/suite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "commands/analyze/analyze.h"
#include "commands/analyze/report.h"
#include "commands/gate/gate_options.h"
#include "commands/measure/suite_device.h"
#include "commands/terminal/show.h"
#include "commands/terminal/terminal.h"
#include "commands/terminal/terminal_progress.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/json/json.h"
#include "core/json/json_members.h"
#include "core/parallel.h"
#include "core/text/text.h"
#include "core/units.h"
#include "device/tool.h"
#include "format/program/source/export_notes.h"
#include "measure/config/device_groups.h"
#include "measure/schedule/forecast.h"
#include "measure/store/run_directory.h"
#include "measure/store/run_files.h"
#include "report/suite/frontier.h"
#include "show/formats.h"
#include "show/gates.h"

namespace etprof {

namespace {

namespace fs = std::filesystem;

constexpr const char* kStateFile = "suite_state.json";
// The share of max_minutes for finding the frontiers. The rest is for measuring them again.
constexpr double kSearchTimeShare = 0.75;

// --- programs --------------------------------------------------------------------------------------------

fs::path ArtifactsFolder(const SuiteConfig& suite, const SuiteModel& model) {
  return suite.output_root / "artifacts" / model.name;
}

// "int8" for "int8+keep", which leaves operators in float; empty for other data types.
std::string BaseDtype(const std::string& dtype) {
  return dtype.ends_with(kKeepSuffix) ? dtype.substr(0, dtype.size() - kKeepSuffix.size()) : "";
}

// The backend's part of the names of exported programs, as file_part() in python/etprof/backends.py makes it.
std::string BackendFilePart(const std::string& backend) {
  if (backend.empty()) return "xnnpack";
  std::string name = backend.substr(backend.find(':') + 1);
  constexpr std::string_view kPartitioner = "Partitioner";
  if (name.ends_with(kPartitioner)) name.resize(name.size() - kPartitioner.size());
  name = Lower(name);
  std::erase_if(name, [](char c) { return !IsDigit(c) && (c < 'a' || c > 'z'); });
  return name.empty() ? "custom" : name;
}

// Returns the exported program of a model in a folder, named "..._<backend>_<dtype>.pte" or
// "..._<backend>_<dtype>_keep.pte". Returns an empty path if there is no such program, or if it leaves other
// operators in float.
fs::path FindExported(const fs::path& folder, const std::string& backend, const SuiteModel& model,
                      const std::string& dtype) {
  const std::string base_dtype = BaseDtype(dtype);
  const std::string ending =
      fmt::format("_{}_{}.pte", BackendFilePart(backend), base_dtype.empty() ? dtype : base_dtype + "_keep");
  std::vector<fs::path> programs;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!entry.path().filename().string().ends_with(ending)) continue;
    if (base_dtype.empty() || ReadKeepPatterns(entry.path()) == model.keep) programs.push_back(entry.path());
  }
  return programs.empty() ? fs::path() : *std::ranges::min_element(programs);
}

// Returns the program of a cell; empty if it has to be exported.
fs::path FindCellProgram(const SuiteConfig& suite, const SuiteCell& cell) {
  const SuiteModel& model = suite.models[cell.model];
  const auto program = model.programs.find(cell.dtype);
  return program != model.programs.end()
             ? program->second
             : FindExported(ArtifactsFolder(suite, model), suite.backend, model, cell.dtype);
}

// Moves exported files to the model's folder, programs last, so that a program's other files exist whenever
// the program does.
void MoveExported(const fs::path& from, const fs::path& to) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(from)) files.push_back(entry.path());
  std::stable_partition(files.begin(), files.end(),
                        [](const fs::path& file) { return file.extension() != ".pte"; });
  for (const fs::path& file : files) fs::rename(file, to / file.filename());
}

// Exports a model in these data types (without kKeepSuffix). With `keeps_operators`, the operators of
// model.keep stay in float.
void Export(const SuiteConfig& suite, const SuiteModel& model, const std::vector<std::string>& dtypes,
            bool keeps_operators, const WorkflowProgress& progress) {
  const fs::path folder = ArtifactsFolder(suite, model), partial_folder = folder / ".exporting";
  std::error_code ignored;
  fs::remove_all(partial_folder, ignored);  // files of an interrupted export
  fs::create_directories(partial_folder);
  std::vector<std::string> arguments = {"--model",  model.source,
                                        "--dtype",  fmt::format("{}", fmt::join(dtypes, ",")),
                                        "--outdir", partial_folder.string()};
  if (keeps_operators) arguments.push_back(fmt::format("--keep={}", fmt::join(model.keep, ",")));
  if (!suite.backend.empty()) arguments.insert(arguments.end(), {"--backend", suite.backend});
  const ToolResult result = RunExport(arguments, progress);
  // The export may have written some of the data types before it failed.
  MoveExported(partial_folder, folder);
  fs::remove_all(partial_folder, ignored);
  if (!result.Success()) throw Error(ExitCode::kDeviceFailed, ExportFailure(result));
}

// Identifies the programs that a single export writes: the model's index, and whether the programs leave
// operators in float.
using ExportKey = std::pair<std::size_t, bool>;
ExportKey MakeExportKey(const SuiteCell& cell) { return {cell.model, !BaseDtype(cell.dtype).empty()}; }

// Exports the missing programs before any measurement, since exporting keeps this machine busy. Returns the
// errors.
std::map<ExportKey, std::string> ExportMissing(const SuiteConfig& suite, const std::vector<SuiteCell>& cells,
                                               WorkflowProgress& progress) {
  std::map<ExportKey, std::vector<std::string>> missing;  // data types
  for (const SuiteCell& cell : cells) {
    const std::string base_dtype = BaseDtype(cell.dtype);
    if (FindCellProgram(suite, cell).empty())
      AppendUnique(base_dtype.empty() ? cell.dtype : base_dtype, missing[MakeExportKey(cell)]);
  }
  std::map<ExportKey, std::string> errors;
  int done = 0;
  for (const auto& [key, dtypes] : missing) {
    if (progress.Interrupted()) break;
    const SuiteModel& model = suite.models[key.first];
    progress.Step(fmt::format("exporting {} ({}{})", model.name, fmt::join(dtypes, ", "),
                              key.second ? fmt::format("; keeping {}", fmt::join(model.keep, ", ")) : ""),
                  ++done, static_cast<int>(missing.size()));
    try {
      Export(suite, model, dtypes, key.second, progress);
    } catch (const std::exception& error) {
      errors[key] = ToError(error).Message();
    }
  }
  return errors;
}

// --- state -----------------------------------------------------------------------------------------------

using CellStates = std::vector<SuiteState::Cell>;
// Calls a function that updates the suite's state, under the lock of the state, and saves the state.
using StateUpdater = std::function<void(const std::function<void()>&)>;

// Makes the states of cells. Cells that are in `old` keep their states.
CellStates MakeCellStates(const SuiteConfig& suite, const std::vector<SuiteCell>& cells,
                          const CellStates& old) {
  CellStates states;
  for (const SuiteCell& cell : cells) {
    SuiteState::Cell& cell_state = states.emplace_back();
    const auto stored = std::ranges::find(old, cell.folder, &SuiteState::Cell::folder);
    if (stored != old.end()) cell_state = *stored;
    cell_state.model = suite.models[cell.model].name;
    cell_state.dtype = cell.dtype;
    cell_state.device = cell.device;
    cell_state.variants = cell.variants;
    cell_state.folder = cell.folder;
  }
  return states;
}

// Makes the state of the suite's current cells. Cells that are no longer in the suite are dropped; their
// results stay on disk.
SuiteState MakeState(const SuiteConfig& suite, const std::vector<SuiteCell>& cells) {
  SuiteState old = ReadSuiteState(suite.output_root);
  SuiteState state;
  state.suite = suite.file.string();
  state.devices = suite.devices;
  state.max_slowdown = suite.max_slowdown;
  state.cells = MakeCellStates(suite, cells, old.cells);
  if (suite.confirm) state.confirmations = std::move(old.confirmations);
  return state;
}

// --- report ----------------------------------------------------------------------------------------------

bool IsAnalyzed(const fs::path& run) {
  const auto analysis_time = LastWriteTime(run / kAnalysisFile),
             manifest_time = LastWriteTime(run / kManifestFile);
  return analysis_time && manifest_time && *analysis_time >= *manifest_time;
}

// Makes the report of a suite. With `write`, runs that were measured since their last analysis are analyzed
// again.
SuiteReport MakeSuiteReport(const SuiteState& state, const fs::path& folder, bool write,
                            const SuiteOptions& options, WorkflowProgress& progress) {
  SuiteReport suite;
  suite.name = fs::path(state.suite).stem().string();
  suite.folder = folder.string();
  suite.devices = state.devices;
  suite.limit = options.max_slowdown ? options.max_slowdown : state.max_slowdown;
  suite.require_conclusive = options.require_conclusive;
  int done = 0;
  const auto make_cell = [&](const SuiteState::Cell& stored) {
    progress.StopWhenInterrupted();
    SuiteCellReport cell;
    cell.model = stored.model;
    cell.dtype = stored.dtype;
    cell.device = stored.device;
    cell.folder = stored.folder.lexically_relative(folder).string();
    cell.status = stored.status;
    cell.reason = stored.reason;
    if (Exists(stored.folder / kManifestFile)) {
      progress.Step("analyzing", ++done, static_cast<int>(state.cells.size() + state.confirmations.size()));
      try {
        const Report report = write && !IsAnalyzed(stored.folder)
                                  ? AnalyzeRunDirectory(stored.folder)
                                  : MakeReportFromPath(stored.folder.string());
        FillSuiteCell(report, stored.variants, cell);
      } catch (const std::exception& error) {
        cell.status = SuiteCellStatus::kFailed;
        cell.reason = ToError(error).Message();
      }
    }
    return cell;
  };
  for (const SuiteState::Cell& stored : state.cells) suite.cells.push_back(make_cell(stored));
  for (const SuiteState::Cell& stored : state.confirmations)
    suite.confirmations.push_back({.cell = make_cell(stored)});
  DecideSuite(suite);
  return suite;
}

// --- measuring -------------------------------------------------------------------------------------------

// Measures the tasks, those of each device in their order and in a thread of their own. Throws Error if the
// state cannot be written.
void MeasureTasks(const SuiteConfig& suite, const SuiteOptions& options,
                  const std::vector<std::string>& devices, const std::vector<SuiteTask>& tasks,
                  const StateUpdater& change, WorkflowProgress& progress) {
  ThreadGroup threads;
  std::mutex error_mutex;
  std::optional<Error> failed;
  for (std::size_t i = 0; i < devices.size() && !progress.Interrupted(); ++i) {
    std::vector<SuiteTask> device_tasks;
    std::ranges::copy_if(tasks, std::back_inserter(device_tasks),
                         [&](const SuiteTask& task) { return task.cell->device == devices[i]; });
    if (device_tasks.empty()) continue;
    const auto measure = [&, i, device_tasks] {
      try {
        SuiteDevice(suite, options, i, device_tasks, change, progress).Run();
      } catch (const std::exception& error) {
        const std::lock_guard lock(error_mutex);
        failed = ToError(error);
      }
    };
    if (!threads.Start(measure)) measure();
  }
  threads.Join();
  if (failed && !progress.Interrupted()) throw Error(*failed);
}

// Returns the suite with its time limit multiplied by `share`.
SuiteConfig ScaleTimeLimit(SuiteConfig suite, double share) {
  if (suite.max_minutes) *suite.max_minutes *= share;
  return suite;
}

// Measures the fastest settings on the frontiers of `state`'s measured cells again, on `devices` only.
void MeasureConfirmations(const SuiteConfig& suite, const SuiteOptions& options,
                          const std::vector<SuiteCell>& cells, const std::vector<std::string>& devices,
                          SuiteState& state, const StateUpdater& change, WorkflowProgress& progress) {
  const SuiteReport report = MakeSuiteReport(state, suite.output_root, true, options, progress);
  const std::vector<SuiteCell> planned = PlanConfirmations(suite, cells, report);
  change([&] {
    CellStates states = MakeCellStates(suite, planned, state.confirmations);
    std::ranges::copy_if(state.confirmations, std::back_inserter(states), [&](const SuiteState::Cell& cell) {
      return std::ranges::find(devices, cell.device) == devices.end();
    });
    state.confirmations = std::move(states);
  });
  std::vector<SuiteTask> tasks;
  for (std::size_t i = 0; i < planned.size(); ++i)
    tasks.push_back({&planned[i], &state.confirmations[i], FindCellProgram(suite, planned[i])});
  MeasureTasks(suite, options, devices, tasks, change, progress);
}

}  // namespace

SuiteConfig LoadSuite(const SuiteOptions& options) {
  SuiteConfig suite = ReadSuite(options.path);
  if (!options.output_root.empty()) suite.output_root = fs::absolute(options.output_root).lexically_normal();
  if (options.max_minutes) suite.max_minutes = options.max_minutes;
  if (options.max_seconds) suite.max_seconds = options.max_seconds;
  if (options.max_slowdown) suite.max_slowdown = options.max_slowdown;
  if (!options.power_mode.empty()) suite.power_mode = options.power_mode;
  if (options.max_temp) suite.max_temp = options.max_temp;
  if (options.max_temp_wait) suite.max_temp_wait = options.max_temp_wait;
  if (options.wait_minutes) suite.wait_minutes = options.wait_minutes;
  SelectedDevices(suite, options);
  ListCells(suite);
  return suite;
}

std::vector<std::string> SelectedDevices(const SuiteConfig& suite, const SuiteOptions& options) {
  if (options.devices.empty()) return suite.devices;
  CheckDeviceNames(options.devices);
  for (const std::string& device : options.devices) {
    if (std::ranges::find(suite.devices, device) != suite.devices.end()) continue;
    throw Error(ExitCode::kUsage, fmt::format("the suite has no device {}", device))
        .Remedy(fmt::format("it has {}", fmt::join(suite.devices, ", ")));
  }
  return options.devices;
}

SuiteOutcome RunSuite(const SuiteConfig& suite, const SuiteOptions& options, WorkflowProgress& progress) {
  const std::vector<SuiteCell> cells = ListCells(suite);
  const std::vector<std::string> devices = SelectedDevices(suite, options);
  const auto is_selected = [&](const SuiteCell& cell) {
    return std::ranges::find(devices, cell.device) != devices.end();
  };
  const HistoryRecorder history(options.history);
  const RunDirectory folder = RunDirectory::Open(suite.output_root);  // holds the lock of the folder
  SuiteState state = MakeState(suite, cells);
  std::mutex mutex;
  const StateUpdater change = [&](const std::function<void()>& apply) {
    const std::lock_guard lock(mutex);
    apply();
    WriteFileAtomically(suite.output_root / kStateFile, JsonText(ToJson(state, suite.output_root), 1) + "\n");
  };
  change([] {});
  std::vector<SuiteCell> measured_cells;
  std::ranges::copy_if(cells, std::back_inserter(measured_cells), is_selected);
  const std::map<ExportKey, std::string> export_errors = ExportMissing(suite, measured_cells, progress);
  std::vector<SuiteTask> tasks;
  for (std::size_t i = 0; i < cells.size() && !progress.Interrupted(); ++i) {
    if (!is_selected(cells[i])) continue;
    const fs::path program = FindCellProgram(suite, cells[i]);
    if (program.empty()) {
      change([&] {
        state.cells[i].status = SuiteCellStatus::kFailed;
        const auto error = export_errors.find(MakeExportKey(cells[i]));
        state.cells[i].reason =
            "could not be exported: " +
            (error != export_errors.end() ? error->second : "the export did not write it");
      });
      continue;
    }
    tasks.push_back({&cells[i], &state.cells[i], program});
  }
  const double search_share = suite.confirm ? kSearchTimeShare : 1;
  MeasureTasks(ScaleTimeLimit(suite, search_share), options, devices, tasks, change, progress);
  if (suite.confirm && !progress.Interrupted())
    MeasureConfirmations(ScaleTimeLimit(suite, 1 - search_share), options, measured_cells, devices, state,
                         change, progress);
  if (progress.Interrupted()) return {{}, true, {}};
  SuiteOutcome outcome{MakeSuiteReport(state, suite.output_root, true, options, progress), false, {}};
  for (std::size_t i = 0; i < cells.size() && options.history.IsRequested(); ++i) {
    if (state.cells[i].status == SuiteCellStatus::kMeasured && is_selected(cells[i]))
      outcome.history_updates.push_back(
          history.Record(cells[i].folder, HistoryFile::CommitConflict::kKeepCommit));
  }
  WriteSuite(outcome.report, "");
  return outcome;
}

SuiteState ReadSuiteState(const fs::path& folder) {
  SuiteState state;
  const fs::path file = folder / kStateFile;
  if (!Exists(file)) return state;
  const nlohmann::json json = ParseJson(ReadTextFile(file));
  const auto require = [&](bool condition, std::string_view problem) {
    if (condition) return;
    throw Error(ExitCode::kBadInput, fmt::format("is damaged: {}", problem))
        .InFile(file.string())
        .Remedy("remove it, and repeat `etprof suite SUITE.json`: cells that were measured are kept");
  };
  require(json.is_object(), "it is not a JSON object");
  const std::int64_t invalid_values = ReadJsonTolerantly(json, state, folder);
  require(invalid_values == 0, fmt::format("wrong values: {}", invalid_values));
  const auto is_incomplete = [](const SuiteState::Cell& cell) {
    return cell.model.empty() || cell.folder.empty();
  };
  require(std::ranges::none_of(state.cells, is_incomplete) &&
              std::ranges::none_of(state.confirmations, is_incomplete),
          "a cell has no model or no results directory");
  return state;
}

bool IsSuiteFolder(const std::string& path) { return Exists(fs::path(path) / kStateFile); }

SuiteReport ReadSuiteFolder(const SuiteOptions& options, WorkflowProgress& progress) {
  const fs::path folder = fs::absolute(options.path).lexically_normal();
  if (!IsSuiteFolder(options.path)) {
    throw Error(ExitCode::kBadInput, "is not a suite's folder: it has no suite_state.json")
        .InFile(options.path)
        .Remedy("give the folder that `etprof suite SUITE.json` wrote, or the suite's file");
  }
  return MakeSuiteReport(ReadSuiteState(folder), folder, false, options, progress);
}

std::vector<fs::path> WriteSuite(const SuiteReport& suite, const std::string& out, const FileWriter& write) {
  std::vector<fs::path> files = {out};
  if (out.empty() || IsFolderPath(out)) {
    const fs::path folder = out.empty() ? fs::path(suite.folder) : fs::path(out);
    files = {folder / "suite_report.md", folder / "suite_report.html", folder / "suite_report.json"};
  }
  const show::Document document = show::MakeSuiteDocument(suite);
  for (const fs::path& file : files) {
    write(file, [&](std::ostream& stream) {
      if (file.extension() == ".json") return WriteJson(suite, 2, stream);
      IsHtmlFile(file) ? RenderDocumentHtml(document, stream) : RenderDocumentMarkdown(document, 1, stream);
    });
  }
  return files;
}

namespace {

// --- plan ------------------------------------------------------------------------------------------------

struct PlannedCell {
  const SuiteCell* cell = nullptr;
  std::string state;
  std::optional<double> min_seconds, max_seconds;
};

PlannedCell PlanCell(const SuiteConfig& suite, const SuiteCell& cell, Device& device,
                     const DeviceProperties& properties) {
  PlannedCell planned{&cell, "to be measured", {}, {}};
  fs::path program = FindCellProgram(suite, cell);
  const bool is_missing = program.empty();
  // Any name will do for a missing program, since the time does not depend on it.
  if (is_missing)
    program = ArtifactsFolder(suite, suite.models[cell.model]) / ("model_" + cell.dtype + ".pte");
  Config config = MakeCellConfig(suite, cell, program, device, properties);
  const Plan plan = MakePlan(config);
  if (!suite.launches || suite.max_seconds)
    config.max_seconds =
        suite.max_seconds.value_or(kSecondsPerPair) * double(std::max<std::size_t>(1, plan.pairs.size()));
  if (is_missing) {
    planned.state = "to be exported and measured";
  } else {
    CheckFiles(config);
    const StoredCell stored = ReadStoredCell(cell.folder);
    const bool is_same_config = stored.exists && stored.hash == ConfigHash(config);
    if (is_same_config && stored.complete) return {&cell, "measured", {}, {}};
    if (stored.exists)
      planned.state = is_same_config ? "to be resumed" : "to be measured again, since it changed";
  }
  const Forecast forecast = MakeForecast(config, plan, properties);
  planned.min_seconds = forecast.lower_bound_seconds;
  planned.max_seconds = forecast.upper_bound_seconds;
  return planned;
}

// A plan without cells, with all tables of a plan.
show::Document EmptyPlan() {
  show::Table table{.id = "planned_cells",
                    .columns = {show::Left("model"), show::Left("dtype", "type"), show::Left("device"),
                                show::Right("variants"), show::Left("state").NeverDropped().WithMaxWidth(38),
                                show::Right("at_least", "at least"), show::Right("at_most", "at most")}};
  show::Document document;
  document.title = "etprof suite --dry-run";
  document.sections = {{"", show::Visibility::kDefault, {show::Facts{"plan", ""}, std::move(table)}}};
  return document;
}

// Lists the cells and how long each will take; connects to every device to read its properties. Does not
// export, measure, or write files.
show::Document PlanSuite(const SuiteConfig& suite, const SuiteOptions& options, WorkflowProgress& progress) {
  const std::vector<SuiteCell> cells = ListCells(suite);
  show::Document document = EmptyPlan();
  std::vector<show::Part>& parts = document.sections.front().parts;
  auto& totals = std::get<show::Facts>(parts.front());
  auto& table = std::get<show::Table>(parts.back());
  double longest_seconds = 0;
  std::size_t total_unplanned = 0;
  std::vector<show::Paragraph> problems;
  for (const std::string& name : SelectedDevices(suite, options)) {
    progress.StopWhenInterrupted();
    std::unique_ptr<Device> device;
    DeviceProperties properties;
    try {
      device = Open(name, options, progress);
      properties = device->Properties();
    } catch (const Error& error) {
      if (error.exit_code() == ExitCode::kInterrupted) throw;
      device.reset();
      problems.push_back({error.Message()});
    }
    double device_seconds = 0;
    std::size_t count = 0, unplanned = 0;
    for (const SuiteCell& cell : cells) {
      if (cell.device != name) continue;
      ++count;
      PlannedCell planned{&cell, "the device cannot be reached", {}, {}};
      try {
        if (device) planned = PlanCell(suite, cell, *device, properties);
      } catch (const Error& error) {
        planned.state = error.Message();
        if (problems.empty() || ToText(problems.back().text, {}) != planned.state)
          problems.push_back({planned.state});
        ++unplanned;
      }
      if (!device) ++unplanned;
      device_seconds +=
          planned.max_seconds.value_or(planned.min_seconds ? std::numeric_limits<double>::infinity() : 0);
      const auto seconds = [](const std::optional<double>& value) {
        return value ? show::Cell(show::Duration{1e9 * *value}) : show::Cell();
      };
      table.rows.push_back({suite.models[cell.model].name, cell.dtype, name,
                            show::Count{static_cast<std::int64_t>(cell.variants.size())}, planned.state,
                            seconds(planned.min_seconds), seconds(planned.max_seconds)});
    }
    if (suite.max_minutes) device_seconds = std::min(device_seconds, 60 * *suite.max_minutes);
    longest_seconds = std::max(longest_seconds, device_seconds);
    total_unplanned += unplanned;
    const std::string cells_text = CountedText(count, "cell");
    const std::string bound = std::isfinite(device_seconds)
                                  ? "at most " + FormatEstimatedSeconds(device_seconds)
                                  : "no upper bound";
    totals.Add(name, unplanned == 0 ? fmt::format("{}, {}", cells_text, bound)
                     : unplanned == count
                         ? fmt::format("{}; how long they take is not known", cells_text)
                         : fmt::format("{}, {} for {} of them", cells_text, bound, count - unplanned));
  }
  document.facts = {suite.file.stem().string(), CountedText(cells.size(), "cell")};
  document.answers = {
      {std::isfinite(longest_seconds) ? fmt::format("At most {}", FormatEstimatedSeconds(longest_seconds))
                                      : std::string("No upper bound: launches were given, and no time"),
       total_unplanned == 0
           ? "the devices measure side by side"
           : fmt::format("without {} that cannot be planned", CountedText(total_unplanned, "cell"))}};
  if (suite.max_minutes) {
    totals.Add("time", fmt::format("{:g} min on each device; what cells leave goes to the "
                                   "least certain ones",
                                   *suite.max_minutes));
  }
  if (suite.confirm) totals.Add("then", "the fastest settings of each frontier are measured again");
  totals.Add("besides", "exports, waiting for a free, quiet, and cool device, starting, and analysis");
  totals.Add("into", ShortestPath(suite.output_root));
  parts.insert(std::prev(parts.end()), problems.begin(), problems.end());
  return document;
}

struct SuiteArguments {
  SuiteOptions options;
  View view;
  CheckOutputs files;
  bool dry_run = false;
};

int ShowSuiteResult(const SuiteReport& suite, const SuiteArguments& arguments, const CheckOutputs& files) {
  const show::Document document = show::MakeSuiteDocument(suite);
  files.Write(show::MakeTestSuite(suite), document);
  ShowSuite(suite, document, arguments.view);
  return static_cast<int>(GateExitCode(suite.decision, suite.require_conclusive, suite.has_error));
}

int RunSuiteCommand(const SuiteArguments& arguments) {
  const SuiteOptions& options = arguments.options;
  // Before hours of measuring, check that the result can be written.
  const CheckOutputs files = arguments.files.WithSummaryFile();
  RequireDocumentTable(arguments.dry_run ? EmptyPlan() : show::MakeSuiteDocument({}), arguments.view);
  if (IsFolder(options.path)) {
    if (arguments.dry_run || options.history.IsRequested()) {
      throw Error(ExitCode::kUsage, fmt::format("`{}` is for a suite's file, and this is a folder",
                                                arguments.dry_run ? "--dry-run" : "--history"))
          .Remedy("give the suite's file");
    }
    return ShowSuiteResult(WithProgress(ReadSuiteFolder, options), arguments, files);
  }
  const SuiteConfig suite = LoadSuite(options);
  if (arguments.dry_run) {
    ShowDocument(WithProgress(PlanSuite, suite, options), arguments.view, "");
    return static_cast<int>(ExitCode::kDone);
  }
  const SuiteOutcome outcome = [&] {
    TerminalProgress progress(SelectedDevices(suite, options));
    return RunSuite(suite, options, progress);
  }();
  if (!outcome.interrupted)
    return ReportHistoryUpdates(outcome.history_updates, options.history.file,
                                ShowSuiteResult(outcome.report, arguments, files));
  PrintMessage(
      "Interrupted. What was measured is in {}.\n  View:    etprof suite {}\n  Resume:  the same command\n",
      ShortestPath(suite.output_root), ShellQuoted(ShortestPath(suite.output_root)));
  return static_cast<int>(ExitCode::kInterrupted);
}

}  // namespace

std::function<int()> SuiteCommand(CLI::App& app) {
  const auto arguments = std::make_shared<SuiteArguments>();
  SuiteOptions& options = arguments->options;
  AddOption(app, "suite SUITE.json|DIR", options.path,
            "File of the suite (docs/guides/suites.md), or its folder, to show what was measured")
      ->required();
  app.add_flag("--dry-run", arguments->dry_run, "List the cells and their expected time without measuring");
  AddDescribedOptions(app, options);
  AddGateFileOptions(app, arguments->files);
  AddDocumentOptions(app, arguments->view, "Show the result as JSON",
                     {show::MakeSuiteDocument({}), EmptyPlan()});
  return [arguments] { return RunSuiteCommand(*arguments); };
}

}  // namespace etprof
