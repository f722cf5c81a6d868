#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/units.h"
#include "core/views.h"
#include "show/subjects/run/report.h"
#include "show/subjects/run/report_parts.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

constexpr std::size_t kMaxNamedPairs = 3;
constexpr double kMinDisturbedShare = 0.02;  // share of the runs

// "±1.0% (avx512 on), ±5.5% (avx2 on)": each pair has its own interval.
std::string WidthsText(const Report& report) {
  std::vector<const ReportComparison*> pairs;
  for (const ReportComparison& pair : report.comparisons) {
    if (pair.half_width) pairs.push_back(&pair);
  }
  if (pairs.empty()) return "";
  const auto width = [](const ReportComparison* pair) {
    return *pair->half_width > 1 ? "over ±100%" : "±" + RelativeText(*pair->half_width);
  };
  if (report.comparisons.size() == 1) return width(pairs.front());
  // A pair is named by its candidate, or by both variants if the candidate is in several pairs.
  const auto name = [&](const ReportComparison* pair) {
    const std::string& candidate = pair->comparison.candidate_label;
    const auto is_candidate = [&](const ReportComparison& other) {
      return other.comparison.candidate_label == candidate;
    };
    return std::ranges::count_if(report.comparisons, is_candidate) == 1
               ? candidate
               : fmt::format("{} compared with {}", candidate, pair->comparison.baseline_label);
  };
  std::vector<std::string> widths;
  if (pairs.size() <= kMaxNamedPairs) {
    for (const ReportComparison* const pair : pairs)
      widths.push_back(fmt::format("{} ({})", width(pair), name(pair)));
    return fmt::format("{}", fmt::join(widths, ", "));
  }
  const auto [narrowest, widest] =
      std::ranges::minmax_element(pairs, {}, [](const ReportComparison* pair) { return *pair->half_width; });
  return fmt::format("{} at best, {} at worst ({})", width(*narrowest), width(*widest), name(*widest));
}

std::string PrecisionText(const Report& report) {
  std::string text;
  if (report.noise_floor) {
    text = fmt::format("noise floor on this machine: {} (A/A).", RelativeText(*report.noise_floor));
  } else if (!report.comparisons.empty() && !report.emulated) {
    if (const std::string widths = WidthsText(report); !widths.empty())
      text = widths + " (half-width of the 95% CI): smaller differences are not resolved.";
  } else if (report.experiments.size() == 1 && report.experiments.front().latency.cv) {
    const stats::Distribution& latency = report.experiments.front().latency;
    text = fmt::format("runs vary by {} (coefficient of variation); {} of {} are outliers (Tukey).",
                       RelativeText(*latency.cv), latency.outliers, latency.n);
  }
  std::int64_t bursts = 0, disturbed = 0;
  for (const ReportExperiment& experiment : report.experiments) {
    bursts += static_cast<std::int64_t>(experiment.bursts.size());
    disturbed += experiment.disturbed_bursts;
  }
  if (disturbed > 0) {
    text +=
        fmt::format("{}{} of {} bursts ({}) {} disturbed and included.", text.empty() ? "" : " ", disturbed,
                    bursts, PercentText(static_cast<double>(disturbed) / static_cast<double>(bursts)),
                    disturbed == 1 ? "was" : "were");
  }
  return text;
}

// States which runs the median covers; "" if it covers all untraced runs.
std::string MedianRunsText(const ReportExperiment& experiment) {
  const stats::Distribution& all = experiment.latency_of_all;
  std::vector<std::string> parts;
  if (experiment.latency.n == 0) {
    parts.emplace_back(experiment.profile && experiment.traced_runs == 0
                           ? "no times: the trace has no complete run (Method::execute)"
                           : "no times");
  } else if (experiment.latency_from_trace && experiment.steady_runs == 0) {
    const bool only_first = experiment.first_runs == experiment.latency.n;
    if (experiment.latency.n == 1) {
      parts.push_back(
          fmt::format("1 traced run, {}", only_first ? "the first of its process" : "not a steady one"));
    } else {
      parts.push_back(fmt::format("median of all {} traced runs: none is steady{}", experiment.latency.n,
                                  only_first ? ", each is the first of its process" : ""));
    }
  } else if (!experiment.run_classes.empty()) {
    parts.push_back(
        fmt::format("{} do different work, so that no one median describes them; findings are of their mean; "
                    "tracing overhead included",
                    CountedText(experiment.latency.n, "traced steady run")));
  } else if (experiment.latency_from_trace) {
    parts.push_back(fmt::format("median of {}, tracing overhead included",
                                CountedText(experiment.latency.n, "traced steady run")));
    if (experiment.first_runs + experiment.warmup_runs > 0) {
      parts.push_back(fmt::format(
          "{} first{} excluded", experiment.first_runs,
          experiment.warmup_runs > 0 ? fmt::format(" and {} warmup", experiment.warmup_runs) : ""));
    }
  } else {
    if (experiment.clean_runs == 0) {
      parts.push_back(fmt::format("contended: none of {} is clean, median of all of them",
                                  CountedText(all.n, "untraced run")));
    } else if (experiment.clean_runs < all.n) {
      parts.push_back(fmt::format("median of {} of {}", CountedText(experiment.clean_runs, "clean run"),
                                  FormatCount(all.n)));
    }
    if (experiment.tracer_always_on) parts.emplace_back("tracing overhead included");
    if (experiment.period > 0) parts.push_back(PaceText(experiment));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

// The tail latency that users of the device see; empty if nearly all runs are clean.
Text AllRunsTailText(const Report& report) {
  std::vector<Text> tails;
  bool disturbed = false;
  for (const ReportExperiment& experiment : report.experiments) {
    const stats::Distribution& all = experiment.latency_of_all;
    const TailQuantile tail = HighestQuantile(all);
    if (all.n == 0 || !tail.value) return {};
    const double unclean_share =
        static_cast<double>(all.n - experiment.clean_runs) / static_cast<double>(all.n);
    disturbed = disturbed || unclean_share > kMinDisturbedShare;
    const bool several = report.experiments.size() > 1;
    tails.push_back(
        FormatText("{}{} {}", several ? experiment.label + ' ' : "", tail.name, Time{*tail.value}));
  }
  return disturbed ? FormatText("all untraced runs, clean or not: {}", JoinTexts(tails)) : Text();
}

void AddRunNotes(const Report& report, std::vector<Note>& notes) {
  const std::vector<std::string> texts = MapEach(report.experiments, MedianRunsText);
  // A text that is the same for all experiments appears once.
  const bool all_equal =
      std::ranges::all_of(texts, [&](const std::string& text) { return text == texts.front(); });
  for (std::size_t i = 0; i < texts.size() && (i == 0 || !all_equal); ++i) {
    if (!texts[i].empty())
      notes.push_back({all_equal ? texts[i] : report.experiments[i].label + ": " + texts[i], "runs"});
  }
  if (const Text tails = AllRunsTailText(report); !tails.empty()) notes.push_back({tails, "runs"});
  for (const ReportExperiment& experiment : report.experiments) {
    if (experiment.traced_runs == 0) continue;
    notes.push_back(
        {fmt::format("{}: {} traced: {} first, {} warmup, {} steady, of which {} within Tukey's fences{}",
                     experiment.label, experiment.traced_runs, experiment.first_runs, experiment.warmup_runs,
                     experiment.steady_runs, experiment.common_runs,
                     experiment.run_classes.empty() ? "" : " of their class"),
         "runs", Visibility::kPage});
  }
}

void AddDisturbedBurstNotes(const Report& report, std::vector<Note>& notes) {
  for (const ReportExperiment& experiment : report.experiments) {
    if (experiment.disturbed_bursts == 0) continue;
    notes.push_back({fmt::format("{}: {} of {} bursts {} disturbed (outside Tukey's fences, or never "
                                 "stabilized), included, and flagged",
                                 experiment.label, experiment.disturbed_bursts, experiment.bursts.size(),
                                 experiment.disturbed_bursts == 1 ? "was" : "were"),
                     "bursts", Visibility::kPage});
  }
}

void AddTraceWarnings(const Report& report, std::vector<Note>& notes) {
  std::set<std::string> known_warnings;
  for (const ReportExperiment& experiment : report.experiments) {
    if (!experiment.profile) continue;
    for (const HealthEntry& entry : experiment.profile->health.entries()) {
      const bool is_info = entry.severity == HealthEntry::Severity::kInfo;
      Text text =
          fmt::format("{}: {} x {}: {}", experiment.label, entry.count, entry.name, entry.explanation);
      if (entry.amount != 0) text += FormatText(", {}", Duration{static_cast<double>(entry.amount)});
      if (!entry.first_place.empty()) text += " (first: " + entry.first_place + ")";
      const bool is_repeated = !known_warnings.insert(experiment.label + entry.name).second;
      notes.push_back({text, "trace", is_info || is_repeated ? Visibility::kPage : Visibility::kDefault});
    }
  }
}

Table MakeExperimentsTable(const Report& report) {
  Table table{.id = "experiments",
              .columns = {Left("experiment").WithDifferenceKept(), Right("threads"),
                          Left("disabled_features", "disabled CPU features"),
                          Left("cpus", "CPUs").WithDropPriority(2), Left("runner").WithDropPriority(3),
                          Left("executorch", "ExecuTorch").WithDropPriority(1),
                          Left("operator_clock", "operator clock").WithDropPriority(4)}};
  bool has_conditions = false;
  for (const ReportExperiment& experiment : report.experiments) {
    const ExperimentData& data = experiment.Data(report);
    has_conditions =
        has_conditions || !data.runner.empty() || !data.isa.empty() || !data.executorch_version.empty();
    table.AddRow(experiment.label, OptionalCell<Count>(experiment.threads), KnownTextCell(data.isa),
                 KnownTextCell(data.cpus), KnownTextCell(data.runner.filename().string()),
                 KnownTextCell(data.executorch_version), KnownTextCell(data.operator_clock));
  }
  if (!has_conditions) table.rows.clear();
  return table;
}

// All conditions, including those without a column in MakeExperimentsTable: commands, runners, inputs.
Table MakeConditionsTable(const Report& report) {
  Table table{"experiment_conditions",
              "Conditions of each experiment",
              {Left("experiment").WithDifferenceKept(), Left("name", "condition"), Left("value", "")},
              {},
              Visibility::kFolded};
  if (report.from_bare_etdumps) return table;
  for (const ReportExperiment& experiment : report.experiments) {
    for (const Fact& fact : ExperimentFacts(report, experiment).facts)
      table.AddRow(experiment.label, fact.name, fact.value);
  }
  return table;
}

Table MakeMatrixKernelsTable(const ReportExperiment& experiment) {
  const std::vector<MatrixKernelRow>& rows = experiment.matrix_kernels;
  const double median = experiment.latency.p50.value_or(0);
  Table table{.id = "matrix_kernels", .time_range = TimeRange{median, median}};
  table.Fill<MatrixKernelRow>(
      {{Left("kernels"), [](const MatrixKernelRow& row) { return MatrixKernelsText(row.kernels); }},
       {Left("proven"), [](const MatrixKernelRow& row) { return KnownTextCell(row.observed_code); },
        std::ranges::any_of(rows, [](const MatrixKernelRow& row) { return !row.observed_code.empty(); })},
       {Right("operators").WithDropPriority(2),
        [](const MatrixKernelRow& row) { return Count{row.operators.size()}; }},
       {Right("mean", "self time"), [](const MatrixKernelRow& row) { return Time{row.mean_ns}; }},
       {Left("why", "why not KleidiAI's for SME2").WithMaxWidth(40), &MatrixKernelRow::reason},
       {Left("change", "to change at export").WithDropPriority(1), &MatrixKernelRow::change}},
      rows);
  return table;
}

void AddDevice(const DeviceProperties& device, Facts& facts) {
  facts.Add("Device", device.name);
  facts.Add("CPU", device.cpu_model);
  if (device.cores > 0)
    facts.Add("Cores",
              std::to_string(device.cores) + (device.topology.empty() ? "" : ", " + device.topology));
  if (!device.cpus.empty()) facts.Add("Governor", device.cpus.front().governor);
  if (device.memory_total) facts.Add("Memory", FormatBytes(static_cast<double>(*device.memory_total)));
  facts.Add("System",
            device.os + (device.kernel.empty() ? "" : (device.os.empty() ? "" : ", ") + device.kernel));
  facts.Add("Virtualization", device.virtualization);
  facts.Add("Power", device.power_mode);
}

}  // namespace

Facts RunFacts(const Report& report) {
  const RunData& run = report.run;
  Facts facts{"conditions", ""};
  if (report.from_bare_etdumps) {
    for (const ReportExperiment& experiment : report.experiments) facts.Add("ETDump", experiment.etdump_name);
  } else {
    facts.Add("Model", run.model.empty() ? report.model_id : run.model.filename().string());
  }
  facts.Add("Model's SHA-256", run.model_sha256);
  facts.Add("Method", NonDefaultMethod(report));
  facts.Add("Backend and data type", report.backend.empty() ? "" : report.backend + " " + report.dtype);
  facts.Add("Measured", run.generated_at);
  if (run.status != RunData::Status::kUnknown) facts.Add("Status", GetName(run.status));
  facts.Add("Platform", run.platform);
  if (run.device) AddDevice(*run.device, facts);
  if (run.power_mode) {
    std::string mode = run.power_mode->name;
    for (const PowerSetting& setting : run.power_mode->settings)
      mode += fmt::format(", {} {}", setting.key, setting.value);
    facts.Add("Power mode", mode);
  }
  facts.Add("ExecuTorch checkout",
            run.executorch_sha + (run.executorch_dirty.value_or(false) ? " (changed)" : ""));
  facts.Add("etprof", run.etprof_version);
  if (run.schedule.launches > 0) {
    facts.Add("Schedule",
              fmt::format("{} x {}, {}, {:.0f} s{}", CountedText(run.schedule.launches, "launch", "launches"),
                          CountedText(run.schedule.rounds, "round"),
                          run.schedule.interleaved ? "bursts of all experiments interleaved"
                                                   : "whole processes alternating",
                          run.schedule.seconds,
                          run.schedule.stop_reason.empty() ? "" : "; stopped: " + run.schedule.stop_reason));
  }
  return facts;
}

Facts ExperimentFacts(const Report& report, const ReportExperiment& experiment) {
  const ExperimentData& data = experiment.Data(report);
  Facts facts{"experiment_conditions", ""};
  if (experiment.threads) facts.Add("Threads", std::to_string(*experiment.threads));
  facts.Add("Disabled CPU features", data.isa);
  facts.Add("CPUs", data.cpus);
  facts.Add("Runner", data.runner.filename().string());
  facts.Add("Runner's SHA-256", data.runner_sha256);
  facts.Add("Command", fmt::format("{}", fmt::join(data.command_line, " ")));
  if (data.model != report.run.model) facts.Add("Model", data.model.filename().string());
  if (data.model_sha256 != report.run.model_sha256) facts.Add("Model's SHA-256", data.model_sha256);
  if (data.runner_built) {
    facts.Add("Compiler of the runner", data.runner_built->compiler);
    facts.Add("Preset of the runner", data.runner_built->preset);
    if (data.runner_built->sme) facts.Add("SME in the runner", *data.runner_built->sme ? "yes" : "no");
  }
  facts.Add("ExecuTorch of the runner", data.executorch_version);
  facts.Add("ExecuTorch of the export", data.export_executorch_version);
  facts.Add("Operator clock", data.operator_clock);
  facts.Add("Inputs", data.inputs_from);
  facts.Add("Backends", fmt::format("{}", fmt::join(data.backends, ", ")));
  if (data.emulated) facts.Add("Emulated", "timings are not meaningful");
  if (data.trace_enabled) facts.Add("Kernel-log run", "shows kernels, not times");
  if (data.tracer_always_on) facts.Add("Tracer", "always on: every latency includes tracing overhead");
  facts.Add("Failed", data.error);
  for (const std::string& warning : data.warnings) facts.Add("Warning", warning);
  return facts;
}

std::vector<Note> MakeQualityNotes(const Report& report) {
  std::vector<Note> notes;
  if (const std::string precision = PrecisionText(report); !precision.empty())
    notes.push_back({precision, "precision"});
  AddRunNotes(report, notes);
  AddDisturbedBurstNotes(report, notes);
  for (const std::string& warning : report.warnings)
    notes.push_back({warning, "warning", Visibility::kBrief});
  AddTraceWarnings(report, notes);
  return notes;
}

std::vector<Section> MakeConditionSections(const Report& report) {
  Section section{"Conditions", Visibility::kPage};
  section.AddUnlessEmpty(RunFacts(report));
  if (report.from_bare_etdumps) {
    section.AddText("Only the ETDump is known: no device, no schedule, no untraced latency.");
  }
  section.AddUnlessEmpty(MakeExperimentsTable(report));
  section.AddUnlessEmpty(MakeConditionsTable(report));
  if (section.parts.empty()) return {};
  return {std::move(section)};
}

std::vector<Section> MakeMatrixKernelSections(const Report& report) {
  Section section{"Kernels for matrices", Visibility::kPage};
  for (const ReportExperiment& experiment : report.experiments) {
    if (experiment.matrix_kernels.empty()) continue;
    if (section.parts.empty()) {
      section.AddText(
          "XNNPACK names an operator by packed data types (PF32, PF16, PQS8) when it computes it "
          "with KleidiAI's SME or SME2 kernels.");
    }
    section.AddText(experiment.label + ": " +
                    (experiment.kernel_evidence.empty()
                         ? "no operator of KleidiAI's SME kernels"
                         : fmt::format("{}", fmt::join(experiment.kernel_evidence, ", "))));
    section.parts.emplace_back(MakeMatrixKernelsTable(experiment));
  }
  if (section.parts.empty()) return {};
  return {std::move(section)};
}

}  // namespace etprof::show
