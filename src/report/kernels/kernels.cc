#include "report/kernels/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <regex>

#include "core/error.h"
#include "core/file/file.h"
#include "core/text/csv_reader.h"
#include "core/text/text.h"
#include "format/xnnpack/operator_name.h"
#include "measure/store/run_files.h"
#include "profile/compare/comparison.h"

namespace etprof {
namespace {

using xnnpack::KernelStatus;

std::string LogLabel(const std::filesystem::path& log) {
  std::string stem = log.stem().string();
  for (const std::string_view suffix : {"_xnntrace", "_latency", "_kernels"})
    if (stem.size() > suffix.size() && stem.ends_with(suffix)) stem.resize(stem.size() - suffix.size());
  return stem;
}

bool IsKernelCsv(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.find("kernel_name") != std::string_view::npos && line.find(',') != std::string_view::npos;
}

// The SME2 profiling kit's table has no status, since it counts registered kernels as used. They are
// "registered" here.
void ReadKernelCsv(std::string_view text, const std::string& file, KernelView& view) {
  CsvReader reader(text, file);
  std::vector<std::string_view> fields;
  std::map<std::string, std::size_t, std::less<>> columns;
  reader.Next(fields);
  for (std::size_t i = 0; i < fields.size(); ++i) columns.emplace(fields[i], i);
  const auto column = [&](std::string_view name) -> std::string_view {
    const auto found = columns.find(name);
    return found == columns.end() ? std::string_view() : fields[found->second];
  };
  while (reader.Next(fields)) {
    xnnpack::LoggedKernel kernel;
    kernel.name = column("kernel_name");
    kernel.parsed = xnnpack::ParseMicrokernel(kernel.name);
    const std::string_view count = column("count"), status = column("status");
    std::from_chars(count.data(), count.data() + count.size(), kernel.count);
    kernel.status = ParseEnum<KernelStatus>(status).value_or(kernel.status);
    kernel.superseded_by = column("superseded_by");
    if (view.model_id.empty()) view.model_id = column("model_id");
    view.usage.kernels.push_back(std::move(kernel));
  }
}

// "Transpose (ND, X32) Transpose" in a log is "Transpose (ND, X32)" in an ETDump, which omits kinds without
// information.
bool IsSameOperator(std::string_view in_log, std::string_view in_etdump) {
  if (!in_log.starts_with(in_etdump)) return false;
  const std::string_view kernel = in_log.substr(in_etdump.size());
  return kernel.empty() || kernel == " Default" || (kernel.starts_with(' ') && in_etdump.ends_with(')'));
}

std::vector<const Operator*> BackendOperators(const Profile& profile) {
  std::vector<const Operator*> operators;
  for (const Operator& op : profile.operators)
    if (op.key.kind == SpanKind::kBackend) operators.push_back(&op);
  std::ranges::stable_sort(operators, {},
                           [](const Operator* op) { return std::pair(op->call_index, op->key.ordinal); });
  return operators;
}

}  // namespace

KernelView ReadKernelView(const std::filesystem::path& log, std::string label, std::string model_id) {
  const MappedFile file = MappedFile::Open(log, kMaxTableBytes);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  KernelView view;
  view.label = label.empty() ? LogLabel(log) : std::move(label);
  view.model_id = std::move(model_id);
  view.log = log;
  if (IsKernelCsv(text)) {
    ReadKernelCsv(text, log.string(), view);
    return view;
  }
  const xnnpack::KernelLog parsed_log = xnnpack::ParseKernelLog(text);
  view.lines = parsed_log.lines;
  view.xnnpack_lines = parsed_log.xnnpack_lines;
  view.truncated_lines = parsed_log.truncated_lines;
  for (const xnnpack::LoggedGraph& graph : parsed_log.graphs)
    for (const xnnpack::LoggedOperator& op : graph.operators) view.graphs.push_back(op.name);
  view.usage = xnnpack::FindKernelUsage(parsed_log);
  return view;
}

std::filesystem::path KernelTablePath(const std::filesystem::path& log) {
  return log.parent_path() / (LogLabel(log) + kKernelsSuffix);
}

void CompareWithProfile(const Profile& profile, KernelView& view) {
  if (view.graphs.empty()) return;
  const std::vector<const Operator*> operators = BackendOperators(profile);
  view.etdump_agrees = operators.size() == view.graphs.size() &&
                       std::equal(operators.begin(), operators.end(), view.graphs.begin(),
                                  [](const Operator* op, const std::string& logged) {
                                    return IsSameOperator(logged, op->type);
                                  });
}

KernelComparison CompareKernels(const std::vector<KernelView>& views, std::size_t baseline,
                                std::size_t candidate) {
  KernelComparison comparison;
  comparison.baseline_label = views[baseline].label;
  comparison.candidate_label = views[candidate].label;
  const xnnpack::KernelUsage &a = views[baseline].usage, &b = views[candidate].usage;
  std::vector<KernelComparison::Row> rows;
  std::map<std::string, std::size_t> row_of_kernel;
  const auto add = [&](const xnnpack::LoggedKernel& kernel, bool is_baseline) {
    const auto [place, is_new] = row_of_kernel.try_emplace(kernel.name, rows.size());
    if (is_new) rows.push_back({kernel.name, kernel.parsed, std::nullopt, std::nullopt});
    (is_baseline ? rows[place->second].baseline : rows[place->second].candidate) = kernel.status;
  };
  for (const xnnpack::LoggedKernel& kernel : a.kernels) add(kernel, true);
  for (const xnnpack::LoggedKernel& kernel : b.kernels) add(kernel, false);
  for (KernelComparison::Row& row : rows) {
    const bool is_same = row.baseline == row.candidate;
    (is_same ? comparison.unchanged : comparison.kernels).push_back(std::move(row));
  }
  const auto type = [](const xnnpack::OperatorKernel& op) {
    const auto name = xnnpack::ParseOperatorName(op.name);
    return name ? name->type : op.name;
  };
  const bool same_operators =
      std::equal(a.operators.begin(), a.operators.end(), b.operators.begin(), b.operators.end(),
                 [&](const auto& x, const auto& y) { return type(x) == type(y); });
  for (std::size_t i = 0; same_operators && i < a.operators.size(); ++i) {
    comparison.operators.push_back(
        {a.operators[i].name, b.operators[i].name, a.operators[i].kernel, b.operators[i].kernel});
  }
  return comparison;
}

void CompareSme2OffWithOn(KernelReport& report) {
  if (report.views.size() != 2) return;
  // "convnext" is not "on".
  const auto has_word = [](const KernelView& view, const char* word) {
    return std::regex_search(
        view.label, std::regex(fmt::format("(^|[^A-Za-z]){}($|[^A-Za-z])", word), std::regex::icase));
  };
  for (const std::size_t off_view : {std::size_t{0}, std::size_t{1}}) {
    const KernelView &off = report.views[off_view], &on = report.views[1 - off_view];
    if (has_word(off, "off") && !has_word(on, "off") && has_word(on, "on"))
      report.comparison = CompareKernels(report.views, off_view, 1 - off_view);
  }
}

void MakeLabelsUnique(KernelReport& report) {
  if (report.views.size() != 2 || report.views[0].label != report.views[1].label) return;
  report.views[0].label += " off";
  report.views[1].label += " on";
}

OperatorEvidence CompareOperatorNames(const Profile& baseline, const Profile& candidate,
                                      const std::string& baseline_label, const std::string& candidate_label) {
  OperatorEvidence evidence;
  evidence.baseline_label = baseline_label;
  evidence.candidate_label = candidate_label;
  for (const NodePair& pair : MatchOperators(baseline, candidate)) {
    OperatorEvidence::Row row;
    const auto set_operator = [](const Profile& profile, std::optional<std::size_t> index, std::string& name,
                                 bool& kleidiai, bool& sme) -> std::string {
      if (!index || profile.operators[*index].key.kind != SpanKind::kBackend) return "";
      const Operator& op = profile.operators[*index];
      name = op.name;
      if (const auto parsed = xnnpack::ParseOperatorName(op.name)) {
        kleidiai = xnnpack::RunsOnKleidiai(*parsed);
        sme = kleidiai && xnnpack::NeedsSme(*parsed);
      }
      return op.type;
    };
    const std::string a =
        set_operator(baseline, pair.baseline, row.baseline, row.baseline_kleidiai, row.baseline_sme);
    const std::string b =
        set_operator(candidate, pair.candidate, row.candidate, row.candidate_kleidiai, row.candidate_sme);
    if (a.empty() && b.empty()) continue;
    (a == b ? evidence.unchanged : evidence.changed).push_back(std::move(row));
  }
  return evidence;
}

KernelReport MakeKernelReport(const RunData& run, const std::vector<std::optional<Profile>>& profiles) {
  KernelReport report;
  report.model_id = run.model_id;
  const auto label = [&](std::size_t i) { return run.experiments[i].LabelOrName(); };
  for (std::size_t i = 0; i < run.experiments.size(); ++i) {
    const ExperimentData& data = run.experiments[i];
    // A trace of several methods forms several experiments with one log.
    const bool is_listed = std::ranges::any_of(
        report.views, [&](const KernelView& view) { return view.log == data.xnntrace_log; });
    if (data.xnntrace_log.empty() || is_listed) continue;
    try {
      KernelView view = ReadKernelView(data.xnntrace_log, label(i),
                                       data.model.empty() ? run.model_id : data.model.stem().string());
      if (i < profiles.size() && profiles[i]) CompareWithProfile(*profiles[i], view);
      report.views.push_back(std::move(view));
    } catch (const Error& error) {
      report.notes.push_back(error.Message());
    }
  }
  report.watched = FindWatchedExperiments(run);
  CompareSme2OffWithOn(report);
  for (const ComparePair& pair : run.pairs) {
    if (pair.baseline >= profiles.size() || pair.candidate >= profiles.size() || !profiles[pair.baseline] ||
        !profiles[pair.candidate]) {
      continue;
    }
    report.evidence.push_back(
        CompareOperatorNames(*profiles[pair.baseline], *profiles[pair.candidate],
                             pair.baseline_label.empty() ? label(pair.baseline) : pair.baseline_label,
                             pair.candidate_label.empty() ? label(pair.candidate) : pair.candidate_label));
  }
  return report;
}

void FilterKernels(const std::string& operation, KernelReport& report) {
  const std::string lower_operation = Lower(operation);
  report.filter = operation;
  const auto has_operation = [&](std::string_view text) {
    return Lower(text).find(lower_operation) != std::string::npos;
  };
  const auto kernel_has = [&](const std::optional<xnnpack::Microkernel>& parsed, const std::string& name) {
    return parsed ? has_operation(parsed->op) || has_operation(xnnpack::FamilyName(parsed->family)) ||
                        has_operation(xnnpack::CategoryName(parsed->family))
                  : has_operation(name);
  };
  const auto operator_has = [&](const std::string& name) {
    const auto parsed = xnnpack::ParseOperatorName(name);
    return parsed && (has_operation(parsed->kind) || has_operation(parsed->type));
  };
  for (KernelView& view : report.views) {
    std::erase_if(view.usage.kernels,
                  [&](const auto& kernel) { return !kernel_has(kernel.parsed, kernel.name); });
    std::erase_if(view.usage.operators, [&](const auto& op) { return !operator_has(op.name); });
  }
  if (report.comparison) {
    for (std::vector<KernelComparison::Row>* rows :
         {&report.comparison->kernels, &report.comparison->unchanged})
      std::erase_if(*rows, [&](const auto& row) { return !kernel_has(row.parsed, row.kernel); });
    std::erase_if(report.comparison->operators, [&](const auto& row) {
      return !operator_has(row.baseline) && !operator_has(row.candidate);
    });
  }
  for (WatchedExperiment& watched : report.watched)
    std::erase_if(watched.rows, [&](const auto& row) { return !operator_has(row.name); });
  for (OperatorEvidence& evidence : report.evidence) {
    for (std::vector<OperatorEvidence::Row>* rows : {&evidence.changed, &evidence.unchanged}) {
      std::erase_if(*rows, [&](const auto& row) {
        return !operator_has(row.baseline) && !operator_has(row.candidate);
      });
    }
  }
  const bool is_empty =
      std::ranges::all_of(report.views,
                          [](const KernelView& view) {
                            return view.usage.kernels.empty() && view.usage.operators.empty();
                          }) &&
      std::ranges::all_of(report.watched, [](const auto& watched) { return watched.rows.empty(); }) &&
      std::ranges::all_of(report.evidence, [](const OperatorEvidence& evidence) {
        return evidence.changed.empty() && evidence.unchanged.empty();
      });
  if (is_empty) report.notes.push_back(fmt::format("no operation is called `{}` (--filter-op)", operation));
}

}  // namespace etprof
