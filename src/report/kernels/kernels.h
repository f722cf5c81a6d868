#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "format/xnnpack/kernel_usage.h"
#include "measure/store/run_data.h"
#include "profile/analysis/profile.h"
#include "report/kernels/watched.h"

namespace etprof {

// The microkernels in the log of a kernel-log run.
struct KernelView {
  std::string model_id;  // empty: not known
  std::string label;     // label of the experiment; for a single log the file name
  std::filesystem::path log;
  std::size_t lines = 0, xnnpack_lines = 0, truncated_lines = 0;  // as in xnnpack::KernelLog
  std::vector<std::string> graphs;  // names of the operators of all graphs in order, including skipped ones
  xnnpack::KernelUsage usage;
  // True if the ETDump of the same run has the same operators in the same order; absent: no ETDump.
  std::optional<bool> etdump_agrees;

  std::size_t Count(xnnpack::KernelStatus status) const {
    return static_cast<std::size_t>(
        std::ranges::count(usage.kernels, status, &xnnpack::LoggedKernel::status));
  }

  static constexpr const char* kSchemaName = "log";
  static void Describe(auto& v) {
    v("label", &KernelView::label, {.meaning = "of its experiment; of a bare log the file's name"});
    v("model_id", &KernelView::model_id,
      {.meaning = "file name without .pte; null: not known", .or_null = true});
    v("log", &KernelView::log, {.meaning = "its path"});
    v("lines", &KernelView::lines, {.meaning = "of the log"});
    v("xnnpack_lines", &KernelView::xnnpack_lines, {.meaning = "of these, XNNPACK's"});
    v("cut_lines", &KernelView::truncated_lines,
      {.meaning = "of XNNPACK's, those that end before they should"});
    v("etdump_agrees", &KernelView::etdump_agrees,
      {.meaning = "the ETDump of the run has the same operators in the same order; null: there is none"});
    v("kernels", [](const KernelView& view) -> const auto& { return view.usage.kernels; },
      {.meaning = "microkernels, in the order of the log"});
    v("operators", [](const KernelView& view) -> const auto& { return view.usage.operators; },
      {.meaning = "that ran, in the order of the log"});
  }
};

// A comparison of two logs.
struct KernelComparison {
  std::string baseline_label, candidate_label;
  struct Row {
    std::string kernel;
    std::optional<xnnpack::Microkernel> parsed;
    std::optional<xnnpack::KernelStatus> baseline, candidate;  // absent: not in the log

    static void Describe(auto& v) {
      v("name", &Row::kernel, {.meaning = "microkernel"});
      v("baseline", &Row::baseline, {.meaning = "null: the log does not name it"});
      v("candidate", &Row::candidate, {.meaning = "null: the log does not name it"});
      v("sme", [](const Row& row) { return row.parsed && row.parsed->HasSme(); },
        {.meaning = "its name says that it has SME or SME2 instructions"});
      v("sme2", [](const Row& row) { return row.parsed && row.parsed->HasSme2(); },
        {.meaning = "its name says that it has SME2 instructions"});
    }
  };
  std::vector<Row> kernels;
  std::vector<Row> unchanged;  // kernels with equal status
  struct OperatorRow {
    std::string baseline, candidate;                // names
    std::string baseline_kernel, candidate_kernel;  // kernels that are proven to have run; empty: not proven

    static void Describe(auto& v) {
      v("baseline", &OperatorRow::baseline, {.meaning = "name of the operator"});
      v("candidate", &OperatorRow::candidate, {.meaning = "name of the operator"});
      v("baseline_kernel", &OperatorRow::baseline_kernel,
        {.meaning = "that it is proven to have run; null: none is", .or_null = true});
      v("candidate_kernel", &OperatorRow::candidate_kernel,
        {.meaning = "that it is proven to have run; null: none is", .or_null = true});
    }
  };
  std::vector<OperatorRow> operators;

  static constexpr const char* kSchemaName = "comparison";
  static void Describe(auto& v) {
    using K = KernelComparison;
    v("baseline", &K::baseline_label, {.meaning = "label of the log that the other is compared with"});
    v("candidate", &K::candidate_label, {.meaning = "label of the log that is compared with the baseline"});
    v("alike", [](const K& comparison) { return comparison.unchanged.size(); },
      {.meaning = "microkernels with the same status in both"});
    v("kernels", &K::kernels, {.meaning = "that differ: in one log alone, or with another status"});
    v("operators", &K::operators, {.meaning = "that match one to one, in order; empty: they do not"});
  }
};

// Operators of two experiments of one model whose names imply different microkernels: evidence that needs no
// kernel-log build. Times are not compared.
struct OperatorEvidence {
  std::string baseline_label, candidate_label;
  struct Row {
    std::string baseline, candidate;  // names; empty: the variant has no such operator
    bool baseline_kleidiai = false, candidate_kleidiai = false;  // xnnpack::RunsOnKleidiai
    bool baseline_sme = false, candidate_sme = false;  // xnnpack::NeedsSme, and not only for packing

    static void Describe(auto& v) {
      v("baseline", &Row::baseline,
        {.meaning = "name of the operator; null: the variant has no such one", .or_null = true});
      v("candidate", &Row::candidate,
        {.meaning = "name of the operator; null: the variant has no such one", .or_null = true});
      v("baseline_kleidiai", &Row::baseline_kleidiai,
        {.meaning = "its name says that it runs on KleidiAI's kernels"});
      v("candidate_kleidiai", &Row::candidate_kleidiai,
        {.meaning = "its name says that it runs on KleidiAI's kernels"});
      v("baseline_sme", &Row::baseline_sme, {.meaning = "its name says that it computes with SME"});
      v("candidate_sme", &Row::candidate_sme, {.meaning = "its name says that it computes with SME"});
    }
  };
  std::vector<Row> changed;
  std::vector<Row> unchanged;  // other delegated operators

  // Number of operators on KleidiAI's kernels, including those in `unchanged`.
  std::size_t CountKleidiai(bool Row::*on_kleidiai) const {
    return static_cast<std::size_t>(std::ranges::count(changed, true, on_kleidiai) +
                                    std::ranges::count(unchanged, true, on_kleidiai));
  }

  static constexpr const char* kSchemaName = "pair";
  static void Describe(auto& v) {
    v("baseline", &OperatorEvidence::baseline_label,
      {.meaning = "label of the variant that the other is compared with"});
    v("candidate", &OperatorEvidence::candidate_label,
      {.meaning = "label of the variant that is compared with the baseline"});
    using E = OperatorEvidence;
    v("unchanged", [](const E& evidence) { return evidence.unchanged.size(); },
      {.meaning = "delegated operators whose names are the same but for their number"});
    v("baseline_kleidiai", [](const E& evidence) { return evidence.CountKleidiai(&Row::baseline_kleidiai); },
      {.meaning = "operators on KleidiAI's kernels, by their names"});
    v("candidate_kleidiai",
      [](const E& evidence) { return evidence.CountKleidiai(&Row::candidate_kleidiai); },
      {.meaning = "operators on KleidiAI's kernels, by their names"});
    v("changed", &OperatorEvidence::changed,
      {.meaning = "the name without its number is another one, or one variant lacks it"});
  }
};

struct KernelReport {
  std::string title;  // empty: the default
  std::string model_id;
  std::string filter;  // as given; empty: no filter
  std::vector<KernelView> views;
  std::optional<KernelComparison> comparison;
  std::vector<OperatorEvidence> evidence;
  std::vector<WatchedExperiment> watched;
  std::vector<std::string> notes;

  static void Describe(auto& v) {
    using K = KernelReport;
    DescribeSchemaVersion(v);
    v("model_id", &K::model_id, {.meaning = "file name without .pte; null: not known", .or_null = true});
    v("filter", &K::filter, {.meaning = "as given by --filter-op; null: none", .or_null = true});
    v("logs", &K::views, {.meaning = "of kernel-log runs"});
    v("comparison", &K::comparison, {.meaning = "of two logs; null: nothing was compared"});
    v("pairs", &K::evidence, {.meaning = "the operators' names of experiments that are compared"});
    v("watched", &K::watched, {.meaning = "experiments of which the runner watched the calls (--watch)"});
    v("notes", &K::notes, {.meaning = "what one has to know to trust it"});
  }
};

// Reads a log, or a `<stem>_kernels.csv` of etprof or the profiling kit (which has no operators). Throws
// Error (kBadInput) for a file that cannot be read.
KernelView ReadKernelView(const std::filesystem::path& log, std::string label = {},
                          std::string model_id = {});

// The path of the table of a log's microkernels: "x/net_t1_kernels.csv" for "x/net_t1_xnntrace.log".
std::filesystem::path KernelTablePath(const std::filesystem::path& log);

// Sets etdump_agrees of `view` by comparison with the operators of one inference of `profile`.
void CompareWithProfile(const Profile& profile, KernelView& view);

// Compares two of the views, given by index.
KernelComparison CompareKernels(const std::vector<KernelView>& views, std::size_t baseline,
                                std::size_t candidate);

// Compares the views if there are exactly two, one labeled "... off" and the other "... on".
void CompareSme2OffWithOn(KernelReport& report);

// If two views have the same label, relabels them as SME2 off and SME2 on, in this order.
void MakeLabelsUnique(KernelReport& report);

OperatorEvidence CompareOperatorNames(const Profile& baseline, const Profile& candidate,
                                      const std::string& baseline_label, const std::string& candidate_label);

// Makes the views of the kernel-log experiments of a run, compares them if there are two, labeled "... off"
// and "... on", and adds the evidence of the run's pairs. Profiles are by experiment; without a profile, a
// log is not checked against an ETDump.
KernelReport MakeKernelReport(const RunData& run, const std::vector<std::optional<Profile>>& profiles);

// Keeps only kernels and operators of one operation ("GEMM", "igemm", "vadd"): kernels whose operation,
// family, or category contains the text, ignoring case, and operators by kind.
void FilterKernels(const std::string& operation, KernelReport& report);

}  // namespace etprof
