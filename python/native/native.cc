// etprof._native: the extension module behind python/etprof.
#include "native.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "commands/analyze/analyze.h"
#include "commands/analyze/compare.h"
#include "commands/analyze/kernels.h"
#include "commands/analyze/report.h"
#include "commands/analyze/trace.h"
#include "commands/gate/static_check.h"
#include "commands/models/diff.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/json/json.h"
#include "core/json/json_members.h"
#include "format/etdump/reader.h"
#include "format/etdump/trace.h"
#include "format/program/read/program_reader.h"
#include "profile/analysis/host_time.h"
#include "profile/analysis/profile.h"
#include "show/formats.h"
#include "show/formats/json/json.h"
#include "show/subjects.h"
#include "stats/ratio/launches.h"
#include "stats/ratio/multiple.h"
#include "stats/ratio/student_t.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace etprof {
namespace {

template <typename T>
using Vector = nb::ndarray<nb::numpy, const T, nb::ndim<1>, nb::c_contig>;
template <typename T>
using Matrix = nb::ndarray<nb::numpy, const T, nb::ndim<2>, nb::c_contig>;

// Makes an array that refers to memory of the object `owner`, and keeps that object alive.
template <typename T>
Vector<T> View(const T* data, std::size_t size, nb::handle owner) {
  return Vector<T>(data, {size}, owner);
}

// Makes an array that owns its memory.
template <typename T>
Vector<T> MakeArray(std::vector<T> values) {
  auto storage = std::make_unique<std::vector<T>>(std::move(values));
  const nb::capsule owner(storage.get(),
                          [](void* pointer) noexcept { delete static_cast<std::vector<T>*>(pointer); });
  const std::vector<T>& owned = *storage.release();
  return Vector<T>(owned.data(), {owned.size()}, owner);
}

// Reads an ETDump from a path or from bytes.
std::shared_ptr<Trace> ReadTrace(const std::variant<std::string, nb::bytes>& file,
                                 double nanoseconds_per_tick,
                                 std::optional<double> delegate_nanoseconds_per_tick) {
  const auto* const path = std::get_if<std::string>(&file);
  ByteView bytes;
  if (const auto* const contents = std::get_if<nb::bytes>(&file))
    bytes = {static_cast<const std::byte*>(contents->data()), contents->size()};
  const nb::gil_scoped_release gil_released;
  EtdumpOptions options;
  options.nanoseconds_per_tick = nanoseconds_per_tick;
  options.delegate_nanoseconds_per_tick = delegate_nanoseconds_per_tick;
  auto trace = std::make_shared<Trace>(path != nullptr ? ReadEtdumpFile(*path, options)
                                                       : ReadEtdump(bytes, "bytes", options));
  SeparateHostTime(*trace);
  return trace;
}

// Makes a getter of a column of the events. A trace stores these columns once per layout; the array has one
// element per event.
template <typename T>
auto EventArray(const auto& column) {
  return [column](const Trace& trace) {
    std::vector<T> values;
    {
      const nb::gil_scoped_release gil_released;
      values.resize(trace.event_count());
      for (const Trace::Block& block : trace.blocks) {
        std::ranges::transform(trace.GetLayout(block).*column,
                               values.begin() + static_cast<std::ptrdiff_t>(block.first_event),
                               [](auto value) { return static_cast<T>(value); });
      }
    }
    return MakeArray(std::move(values));
  };
}

// Makes a getter of an array with the result of `get` for each element of the object's list.
template <typename T, typename Object>
auto ElementArray(const auto& list, const auto& get) {
  return [list, get](const Object& object) {
    std::vector<T> values;
    for (const auto& element : object.*list) values.push_back(static_cast<T>(std::invoke(get, element)));
    return MakeArray(std::move(values));
  };
}

nb::list HealthList(const TraceHealth& health) {
  return MakeList(health.entries(), [](const HealthEntry& entry) {
    nb::dict dict;
    dict["name"] = Text(entry.name);
    dict["severity"] = Text(GetName(entry.severity));
    dict["explanation"] = Text(entry.explanation);
    dict["count"] = entry.count;
    dict["amount_ns"] = entry.amount;
    dict["first_place"] = Text(entry.first_place);
    return dict;
  });
}

nb::dict ReportedDict(const Trace::ReportedValues& reported) {
  nb::dict dict;
  dict["delegate"] = Text(reported.backend);
  dict["name"] = Text(reported.name);
  dict["kind"] = Text(GetName(reported.kind));
  dict["unit"] = Text(reported.unit);
  dict["instruction"] = reported.instruction;
  dict["run"] = MakeArray(std::vector<std::uint32_t>(reported.run));
  dict["value"] = MakeArray(std::vector<std::int64_t>(reported.value));
  return dict;
}

nb::dict OperatorDict(const Operator& op) {
  nb::dict dict;
  dict["key"] = Text(KeyText(op.key));
  dict["name"] = Text(op.name);
  dict["type"] = Text(op.type);
  dict["kind"] = Text(SpanKindName(op.key.kind));
  dict["category"] = Text(op.category.name);
  dict["group"] = Text(OperatorGroupName(op.category.group));
  dict["instruction"] = op.key.instruction;
  dict["parent"] = op.parent;
  dict["portable"] = op.portable;
  return dict;
}

std::vector<std::shared_ptr<Profile>> Attribute(const Trace& trace, const std::string& method, int warmup) {
  const nb::gil_scoped_release gil_released;
  AttributeOptions options;
  options.method = method;
  options.min_warmup = warmup;
  std::vector<std::shared_ptr<Profile>> profiles;
  for (Profile& profile : AttributeMethods(trace, options))
    profiles.push_back(std::make_shared<Profile>(std::move(profile)));
  return profiles;
}

// The getter of a column of times, which refers to the trace's memory.
auto TimesView(auto Trace::*times) {
  return [times](nb::handle self) {
    const auto& column = nb::cast<const Trace&>(self).*times;
    return View(column.data(), column.size(), self);
  };
}

void BindTrace(nb::module_& module) {
  nb::class_<Trace>(module, "Trace",
                    "An ETDump in columns. Times are whole nanoseconds of the device's clock.")
      .def_prop_ro("start_ns", TimesView(&Trace::start), "by event; not copied")
      .def_prop_ro("end_ns", TimesView(&Trace::end), "by event; not copied")
      .def_prop_ro(
          "names",
          [](const Trace& trace) {
            nb::list names;
            for (std::size_t i = 0; i < trace.names.size(); ++i)
              names.append(Text(trace.names.Text(static_cast<NameId>(i))));
            return names;
          },
          "the texts that `name` refers to")
      .def_prop_ro("name", EventArray<std::uint32_t>(&Trace::Layout::name), nb::rv_policy::automatic,
                   "by event: index into `names`")
      .def_prop_ro("delegated", EventArray<std::uint8_t>(&Trace::Layout::source), nb::rv_policy::automatic,
                   "by event: 1 where a delegate wrote it, 0 where the framework did")
      .def_prop_ro("chain", EventArray<std::int32_t>(&Trace::Layout::chain), nb::rv_policy::automatic,
                   "by event; -1 outside the instruction stream")
      .def_prop_ro("instruction", EventArray<std::int32_t>(&Trace::Layout::instruction),
                   nb::rv_policy::automatic, "by event, as in the file")
      .def_prop_ro("delegate_id", EventArray<std::int32_t>(&Trace::Layout::delegate_id),
                   nb::rv_policy::automatic,
                   "by event: the delegate's integer identifier; -1 where there is none")
      .def_prop_ro(
          "block_names",
          [](const Trace& trace) {
            return MakeList(trace.blocks, [](const Trace::Block& block) { return Text(block.name); });
          },
          "by block: \"Default\", \"Execute\"")
      .def_prop_ro("block_first_event",
                   ElementArray<std::int64_t, Trace>(&Trace::blocks, &Trace::Block::first_event),
                   nb::rv_policy::automatic, "by block: index of its first event")
      .def_prop_ro("block_event_count",
                   ElementArray<std::int64_t, Trace>(&Trace::blocks, &Trace::Block::event_count),
                   nb::rv_policy::automatic, "by block")
      .def_prop_ro("block_layout", ElementArray<std::int64_t, Trace>(&Trace::blocks, &Trace::Block::layout),
                   nb::rv_policy::automatic,
                   "by block: those of one layout differ in nothing but their times")
      .def_prop_ro("block_bundled_input",
                   ElementArray<std::int64_t, Trace>(&Trace::blocks, &Trace::Block::bundled_input_index),
                   nb::rv_policy::automatic, "by block: index of its bundled input; -1: none")
      .def_prop_ro(
          "reported", [](const Trace& trace) { return MakeList(trace.reported, ReportedDict); },
          nb::rv_policy::automatic,
          "what delegates report that is not host time, and so is no event of the trace")
      .def_prop_ro(
          "health", [](const Trace& trace) { return HealthList(trace.health); }, "what is odd in the file")
      .def("__len__", &Trace::event_count)
      .def("profiles", &Attribute, "method"_a = "forward", "warmup"_a = 0,
           "one Profile for each method that the file holds, in the order of their first runs");
}

void BindProfile(nb::module_& module) {
  nb::class_<Profile>(module, "Profile", "Where the time of one method goes. Times are whole nanoseconds.")
      .def_prop_ro(
          "operators", [](const Profile& profile) { return MakeList(profile.operators, OperatorDict); },
          "what ran, the framework's spans too")
      .def_prop_ro(
          "self_ns",
          [](nb::handle self) {
            const auto& profile = nb::cast<const Profile&>(self);
            return Matrix<Nanoseconds>(profile.self.data(), {profile.operators.size(), profile.runs.size()},
                                       self);
          },
          "operators x runs: time less that of the spans inside; -1 where an operator did not run. Not "
          "copied")
      .def(
          "duration_ns",
          [](nb::handle self, std::size_t op) {
            const auto& profile = nb::cast<const Profile&>(self);
            if (op >= profile.operators.size()) throw nb::index_error("there is no such operator");
            const auto row = profile.Duration(op);
            return View(row.data(), row.size(), self);
          },
          "operator"_a,
          "by run: an operator's time with that of the spans inside; -1 where it did not run. Not copied")
      .def_prop_ro("run_total_ns", ElementArray<std::int64_t, Profile>(&Profile::runs, &ProfiledRun::total),
                   nb::rv_policy::automatic, "by run: Method::execute")
      .def_prop_ro(
          "run_phase",
          [](const Profile& profile) {
            return MakeList(profile.runs,
                            [](const ProfiledRun& run) { return Text(GetName(run.label.phase)); });
          },
          "by run: \"first\", \"warmup\", \"steady\"")
      .def_prop_ro("run_launch",
                   ElementArray<std::int32_t, Profile>(
                       &Profile::runs, [](const ProfiledRun& run) { return run.label.launch; }),
                   nb::rv_policy::automatic, "by run: which process, counted from 0; of a bare ETDump 0")
      .def_prop_ro(
          "run_clipped_ns", ElementArray<std::int64_t, Profile>(&Profile::runs, &ProfiledRun::clipped),
          nb::rv_policy::automatic,
          "by run: at most 0, what spans claimed outside of their parent or twice; with the self times "
          "it adds up to the run's total")
      .def_prop_ro("run_in_common_set",
                   ElementArray<std::uint8_t, Profile>(&Profile::runs, &ProfiledRun::in_common_set),
                   nb::rv_policy::automatic, "by run: 1 for those that tables which must add up are made of")
      .def_prop_ro(
          "health", [](const Profile& profile) { return HealthList(profile.health); },
          "what is odd in the trace");
}

// Returns the JSON of a workflow's result, as its command prints it with --json.
template <typename Render>
std::string RenderJson(Render render) {
  const nb::gil_scoped_release gil_released;
  return RenderToString(render);
}

// Returns the experiments of a results directory, in its order, for a fleet's tables. Writes nothing.
nb::list RunExperiments(const std::string& path) {
  RunData run;
  std::vector<std::optional<Profile>> profiles;
  {
    const nb::gil_scoped_release gil_released;
    if (!IsFolder(path)) throw Error(ExitCode::kUsage, "is not a results directory").InFile(path);
    run = OpenRunDirectory(path);
    profiles = ProfileRun(run, {.tolerant = false, .join = false, .etdump = {}, .etrecord = {}});
  }
  nb::list experiments;
  for (std::size_t i = 0; i < run.experiments.size(); ++i) {
    const ExperimentData& data = run.experiments[i];
    std::vector<std::int32_t> launch;
    std::vector<std::int64_t> latency;
    for (const UntracedBurst& burst : data.Bursts()) {
      latency.insert(latency.end(), burst.latency.begin(), burst.latency.end());
      launch.resize(latency.size(), burst.launch);
    }
    nb::dict dict;
    dict["experiment"] = Text(data.name);
    dict["launch"] = MakeArray(std::move(launch));
    dict["latency_ns"] = MakeArray(std::move(latency));
    dict["profile"] = profiles[i] ? nb::cast(std::make_shared<Profile>(*std::move(profiles[i]))) : nb::none();
    experiments.append(dict);
  }
  return experiments;
}

// Throws ValueError for a manifest with an invalid value. Readers of results directories ignore such values,
// but values that are added up over many runs must be valid.
void CheckManifest(const nb::bytes& contents) {
  try {
    RunData run;
    FromJson(ParseJson({contents.c_str(), contents.size()}), run);
  } catch (const std::invalid_argument& problem) {
    throw nb::value_error(problem.what());
  }
}

// Decides several comparisons together, which controls the false discovery rate. The effects of a comparison
// are the log(baseline / candidate) of its units.
nb::list DecideUnits(const std::vector<std::vector<double>>& effects, double q, double margin) {
  std::vector<stats::RatioEstimate> estimates;
  std::vector<std::size_t> result_index;
  nb::list result;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    result.append(nb::none());
    if (const auto estimate = stats::EstimateRatio(effects[i], 0.95)) {
      estimates.push_back(*estimate);
      result_index.push_back(i);
    }
  }
  const auto verdicts = stats::DecideVerdicts(estimates, q, margin);
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const stats::OperatorVerdict& verdict = verdicts[i];
    nb::dict dict;
    dict["ratio"] = verdict.estimate.ratio();
    dict["ratio_low"] = verdict.estimate.low();
    dict["ratio_high"] = verdict.estimate.high();
    dict["confidence"] = verdict.estimate.confidence;
    dict["standard_error"] = verdict.estimate.standard_error;
    dict["p_value"] = verdict.estimate.p_value;
    dict["adjusted_p"] = verdict.adjusted_p;
    dict["verdict"] = Text(GetName(verdict.verdict));
    result[result_index[i]] = dict;
  }
  return result;
}

std::vector<std::string> WriteReportFiles(const std::string& path, const std::string& out) {
  const nb::gil_scoped_release gil_released;
  std::vector<std::string> files;
  for (const auto& file : WriteReport(MakeReportFromPath(path), path, out, false))
    files.push_back(file.string());
  return files;
}

void BindWorkflows(nb::module_& module) {
  module.def(
      "analyze",
      [](const std::string& path) {
        return RenderJson([&](std::ostream& out) {
          RenderAnalysisJson(IsFolder(path) ? AnalyzeRunDirectory(path) : AnalyzeTraces({path}), out);
        });
      },
      "path"_a);
  module.def(
      "compare",
      [](const std::string& baseline, const std::string& candidate) {
        return RenderJson([&](std::ostream& out) {
          CompareRunsOptions options;
          options.baseline = baseline;
          options.candidate = candidate;
          RenderAnalysisJson(CompareRuns(options), out);
        });
      },
      "baseline"_a, "candidate"_a);
  module.def("run_experiments", &RunExperiments, "path"_a,
             "by experiment of a results directory: its name, the launch and time of each clean run, its "
             "Profile or None");
  module.def("check_manifest", &CheckManifest, "contents"_a,
             "Raises ValueError for a manifest.json with a value that its schema does not allow.");
  module.def("judge_units", &DecideUnits, "effects"_a, "q"_a, "margin"_a,
             "of each comparison, from its units' log(baseline / candidate): ratio, interval, and verdict, "
             "with false "
             "discovery controlled at q over all; None for fewer than two units");
  module.def("critical_value", &stats::CriticalValue, "confidence"_a, "degrees_of_freedom"_a);
  module.def("report", &WriteReportFiles, "path"_a, "out"_a);
  module.def(
      "inspect",
      [](const std::string& model) {
        return RenderJson(
            [&](std::ostream& out) { RenderInspectJson(ReadProgramFile(model), model, nullptr, out); });
      },
      "model"_a);
  module.def(
      "check_programs",
      [](const std::string& baseline, const std::string& candidate, const std::string& thresholds) {
        return RenderJson([&](std::ostream& out) {
          WriteJson(CheckStaticFiles({baseline, candidate, thresholds, {}}), 2, out);
        });
      },
      "baseline"_a, "candidate"_a, "thresholds"_a);
  module.def(
      "diff",
      [](const std::string& baseline, const std::string& candidate, const std::vector<std::string>& runs) {
        return RenderJson([&](std::ostream& out) {
          const DiffResult result = DiffFiles({baseline, candidate, runs});
          RenderDocumentJson(show::MakeDiffDocument(result.diff, baseline, candidate, result.warnings), out);
        });
      },
      "baseline"_a, "candidate"_a, "runs"_a);
  module.def(
      "kernels",
      [](const std::vector<std::string>& paths, const std::string& filter) {
        return RenderJson([&](std::ostream& out) {
          KernelsOptions options;
          options.paths = paths;
          options.filter = filter;
          WriteJson(ReadAndWriteKernels(options).report, 1, out);
        });
      },
      "paths"_a, "filter_op"_a);
  module.def(
      "trace",
      [](const std::vector<std::string>& paths, const std::string& output, const std::string& model) {
        const nb::gil_scoped_release gil_released;
        TraceOptions options;
        options.paths = paths;
        options.output = output;
        options.model = model;
        WorkflowProgress silent;
        return WriteTrace(options, silent).file.string();
      },
      "paths"_a, "output"_a, "model"_a);
  module.def(
      "validate",
      [](const std::string& run) {
        return RenderJson([&](std::ostream& out) { out << JsonText(ToJson(ValidateRun(run))); });
      },
      "run"_a);
}

}  // namespace
}  // namespace etprof

NB_MODULE(_native, module) {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const etprof::Error& error) {
      PyErr_SetString(PyExc_ValueError, error.Message().c_str());
    }
  });
  etprof::BindTrace(module);
  etprof::BindProfile(module);
  etprof::BindWorkflows(module);
  etprof::BindMeasuring(module);
  etprof::BindArrow(module);
  etprof::BindHistory(module);
  module.def("read_etdump", &etprof::ReadTrace, "file"_a, "nanoseconds_per_tick"_a = 1.0,
             "delegate_nanoseconds_per_tick"_a = nb::none(),
             "Reads a whole ETDump, by its path or its bytes. Raises ValueError, with the offset, for what "
             "is not one, is cut or is malformed.");
}
