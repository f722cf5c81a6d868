#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile.h"
#include "measure/run_data.h"
#include "xnnpack/kernel_use.h"

namespace etprof {

// What one trace-enabled run's log says of microkernels.
struct KernelView {
  std::string model_id;  // empty: not known
  std::string label;     // of its experiment; of a bare log the file's name
  std::filesystem::path log;
  std::size_t lines = 0, xnnpack_lines = 0, cut_lines = 0;  // as in xnnpack::KernelLog
  std::vector<std::string> graphs;  // the names of the operators of all graphs in order, the skipped ones too
  xnnpack::KernelUse use;
  // Whether the ETDump of the same run has the same operators in the same order; absent: there is none.
  std::optional<bool> etdump_agrees;

  std::size_t Count(xnnpack::KernelStatus status) const;
};

// Two logs held against each other.
struct KernelComparison {
  std::size_t baseline = 0, candidate = 0;  // indices into KernelReport::views
  struct Row {
    std::string kernel;
    std::optional<xnnpack::Microkernel> parsed;
    std::optional<xnnpack::KernelStatus> baseline, candidate;  // absent: the log does not name it
  };
  std::vector<Row> kernels;  // that differ: on one side alone, or with another status
  std::size_t alike = 0;     // the others
  struct OperatorRow {
    std::string baseline, candidate;                // names
    std::string baseline_kernel, candidate_kernel;  // proven; empty: not
  };
  std::vector<OperatorRow> operators;  // that match one to one, in order; empty: they do not
};

// The operators of two experiments of one model whose names say that they run on different microkernels:
// evidence that needs no trace-enabled build. Times play no part in it.
struct OperatorEvidence {
  std::string baseline_label, candidate_label;
  struct Row {
    std::string baseline, candidate;  // names; empty: the side has no such operator
    bool baseline_kleidiai = false, candidate_kleidiai = false;  // xnnpack::RunsOnKleidiai
    bool baseline_sme = false, candidate_sme = false;            // xnnpack::NeedsSme, and computes
  };
  std::vector<Row> changed;   // the name without its number is another one, or one side lacks it
  std::size_t unchanged = 0;  // delegated operators that have the same name on both sides
  std::size_t baseline_kleidiai = 0, candidate_kleidiai = 0;  // operators, the unchanged ones too
};

struct KernelReport {
  std::string title;  // empty: the default
  std::string model_id;
  std::string filter;  // as given; empty: none
  std::vector<KernelView> views;
  std::optional<KernelComparison> comparison;
  std::vector<OperatorEvidence> evidence;
  std::vector<std::string> notes;
};

// Reads the log, or `<stem>_kernels.csv` as etprof or the profiling kit writes it (which has no operators).
// Throws Error (kBadInput) for a file that cannot be read.
KernelView ReadKernelView(const std::filesystem::path& log, std::string label = {},
                          std::string model_id = {});

// Where the table of a log's microkernels lies: "x/net_t1_kernels.csv" of "x/net_t1_xnntrace.log".
std::filesystem::path KernelTableOf(const std::filesystem::path& log);

// Sets etdump_agrees of `view` by the operators of one inference of `profile`.
void HoldAgainst(const Profile& profile, KernelView& view);

// `baseline` against `candidate` of `views`.
KernelComparison CompareKernels(const std::vector<KernelView>& views, std::size_t baseline,
                                std::size_t candidate);

// Compares the only two views where one is called "... off" and the other "... on".
void CompareOffWithOn(KernelReport& report);

// Two views of one label get others, in the order with SME2 off, with SME2 on.
void TellApart(KernelReport& report);

OperatorEvidence CompareOperatorNames(const Profile& baseline, const Profile& candidate,
                                      const std::string& baseline_label, const std::string& candidate_label);

// The views of the trace-enabled experiments of a run (profiles by experiment; where none is, nothing is held
// against the log), compared where there are two, one called "... off" and the other "... on", and the
// evidence of the run's pairs.
KernelReport KernelsOfRun(const RunData& run, const std::vector<std::optional<Profile>>& profiles);

// Keeps what has to do with one operation ("GEMM", "igemm", "vadd"): of kernels by operation, family or
// category that contains it, in any case, of operators by kind.
void FilterKernels(const std::string& operation, KernelReport& report);

}  // namespace etprof
