#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile.h"
#include "compare/match_nodes.h"
#include "compare/program_change.h"
#include "core/json/describe.h"
#include "core/units.h"
#include "stats/ratio/launches.h"
#include "stats/ratio/unpaired.h"
#include "stats/ratio/verdict.h"

namespace etprof {

// One side of a comparison: an experiment's profile and, where it was measured by etprof, its untraced
// latencies.
struct UntracedBurst {
  int launch = 0;
  int round = 0;
  std::vector<Nanoseconds> latency;  // the clean ones of the recorded runs, in order
  std::int64_t runs = 0;             // recorded, clean or not
};
// The least number of launches in which both sides have clean runs for an interval, where other launches lack
// them: with fewer the verdict is "contended". (With five, an interval is twice as wide as with ten.)
inline constexpr int kLeastCleanLaunches = 6;

// A busy machine's clean runs are not quite those of a quiet one: whoever ran in between leaves caches and
// clocks in another state, and of times that vary the short ones stay clean, in every launch alike, so that
// an interval of the launches does not show it. Where both sides do the same work in the same way, it
// concerns both alike, and their ratio is that of a quiet machine: beside loops and compilers, a model
// against itself, and against one with 12 or 19% more work, is off by less than what launches explain, while
// the ratio of an extension off and on is off by up to 23% where the threads waited for half of the time
// (bench/results/statistics/waiting.md). So the largest such error of a ratio's logarithm is this, for the
// share of the time that the threads of the side that waited more had to wait (Side::waited_share), and for
// the share of the time in which the sides differ (Comparer::DifferingShare in compare.cc).
inline constexpr double kErrorOfWaiting = 0.5;

// The estimate of sides that waited for these shares of their time, and differ in this share of it.
inline stats::RatioEstimate WithErrorOfWaiting(const stats::RatioEstimate& estimate, double baseline_waited,
                                               double candidate_waited, double differing) {
  const double error = kErrorOfWaiting * std::max(baseline_waited, candidate_waited) * differing;
  return error > 0 ? stats::WithSystematicError(estimate, error) : estimate;
}

struct Side {
  std::string label;                  // "sme2 off"
  const Profile* profile = nullptr;   // may be null: no trace (a foreign runner without one)
  std::vector<UntracedBurst> bursts;  // empty: compare by the traces' Method::execute, and say so
  bool emulated = false;
  bool trace_enabled = false;  // the kit's "trace-enabled" run: evidence of kernels, its times are refused
  bool mixed = false;          // its traced runs do different work: no one time stands for them
  std::string settings = {};   // how it ran: sides of other ones do nothing in the same way
  double waited_share = 0;     // of the bursts' time: for which the threads wanted a processor and had none
};

// The smallest difference between two mean self times that can be called faster or slower. Smaller ones are
// unresolved (stats::Unresolved). The self time of a framework span contains the recording of its children,
// and every self time contains a reading of the clock. What that costs depends on where things lie in memory.
// Measured on a two-core x86-64 machine, MobileNetV3-Small: recording costs 385 ns for each event (traced
// less untraced latency; median of 20 launches, which range from 241 to 755 ns). Between 20 layouts of
// memory, the median self time of the same OPERATOR_CALL (150 ns) differs by 95 ns for the median one of 18,
// and by up to 239 ns. etprof-runner draws the layout (runner/timing/layout.h). Other runners do not, and
// names of different lengths remain a systematic difference.
inline constexpr Nanoseconds kLeastDifference = 250;

struct CompareOptions {
  double confidence = 0.95;
  // The level the headline's interval is taken at so that it covers `confidence` although a stop rule looked
  // several times (stats/ratio/stop_rule.h); 0: there was no looking, `confidence` itself.
  double look_confidence = 0;
  double margin = 0.01;  // "same" lies within +-margin
  double false_discovery = 0.05;
  // Of sides that were not measured interleaved (stats::WithDrift).
  double drift = stats::kDriftBetweenMeasurements;
  std::uint64_t seed = 1;  // of the bootstrap where there are no rounds
  // Which operators belong together, where the caller knows, as MatchOperators; null: that.
  const std::vector<NodePair>* matches = nullptr;
};

enum class Pairing {
  kLaunches,  // interleaved launches of etprof: the paired estimate
  kUnpaired,  // measured apart: launches of each side, or the runs of files without any; with usual drift
  kNone,      // too few runs on a side for any interval
};
template <>
inline constexpr NamedValue<Pairing> kNames<Pairing>[] = {
    {Pairing::kLaunches, "launches"}, {Pairing::kUnpaired, "unpaired"}, {Pairing::kNone, "none"}};

struct Quantity {  // a time of one side against the other; ratio = baseline / candidate, > 1: the candidate
                   // is faster
  std::optional<double> baseline_ns,
      candidate_ns;  // see the place where it stands: median latency or mean self time
  std::optional<stats::RatioEstimate>
      estimate;  // absent where a side has no time or there are too few launches
  stats::Verdict verdict = stats::Verdict::kInconclusive;
  bool too_short = false;  // for the clock: of whole microseconds its times have no part that is sure

  // None of an emulated CPU, whose timings are not meaningful.
  std::optional<stats::RatioEstimate> Told() const {
    return verdict == stats::Verdict::kEmulated ? std::nullopt : estimate;
  }

  // Whether more launches may end an inconclusive verdict: none shorten what the interval is longer by for an
  // error that all launches share.
  bool MoreLaunchesMayDecide(double margin) const {
    if (!estimate) return true;
    const double error = estimate->systematic_error;
    return stats::Judge(estimate->log_ratio - error, estimate->log_ratio + error, margin) !=
           stats::Verdict::kInconclusive;
  }

  static void Describe(auto& v) {
    v("baseline_ms", &Quantity::baseline_ns, kMs.Means("median of a latency, else mean self time"));
    v("candidate_ms", &Quantity::candidate_ns, kMs.Means("median of a latency, else mean self time"));
    v("verdict", &Quantity::verdict,
      {.meaning = "of the interval, on the candidate; docs/concepts/statistics.md"});
    v.Flat(&Quantity::Told, {.or_null = true});
  }
};

// A quantity without its times.
struct Gain {
  const Quantity& quantity;

  static void Describe(auto& v) {
    v.Flat([](const Gain& gain) { return gain.quantity.Told(); }, {.or_null = true});
    v("verdict", [](const Gain& gain) { return gain.quantity.verdict; },
      {.meaning = "of the interval, on the candidate; docs/concepts/statistics.md"});
  }
};

// Exact sums over each side's common set of runs: mean = total / runs. The delta of a row is
// candidate_total * baseline_runs - baseline_total * candidate_runs over baseline_runs * candidate_runs.
struct DeltaRow {
  std::string name;
  Nanoseconds baseline_total = 0, candidate_total = 0;
  Quantity quantity;  // of mean self time
};

struct OperatorMatch {
  std::optional<std::size_t> baseline,
      candidate;  // indices into the profiles' operators; absent: only on the other side
  Nanoseconds baseline_total = 0, candidate_total = 0;
  Quantity quantity;  // of mean self time; verdicts are false-discovery controlled over all operators of the
                      // comparison
  double match_score = 0;               // of a pair: as in NodePair (match_nodes.h)
  std::uint16_t evidence = 0;           // likewise
  std::optional<ProgramChange> change;  // of the program; absent: none, or not known
};

// What a latency is measured on.
constexpr std::string_view LatencyFrom(bool from_trace) { return from_trace ? "trace" : "untraced"; }
inline constexpr About kLatencyFrom{.meaning = "`trace` where there are no untraced runs",
                                    .choices = "untraced|trace"};

struct Comparison {
  std::string baseline_label, candidate_label;
  Pairing pairing = Pairing::kNone;
  Quantity latency;  // of the headline: medians of untraced runs (or of traced, see latency_from_trace)
  bool latency_from_trace = false;
  int launches = 0, rounds = 0;
  // Untraced recorded runs: those whose threads had a processor whenever they wanted one, of all. Only the
  // clean ones are compared.
  struct CleanRuns {
    std::int64_t clean = 0, all = 0;
  };
  CleanRuns baseline_clean, candidate_clean;
  std::int64_t baseline_runs = 0, candidate_runs = 0;   // sizes of the two common sets
  Nanoseconds baseline_total = 0, candidate_total = 0;  // Method::execute over them
  std::vector<DeltaRow> groups;          // as ByGroup: they add up to the totals, and so do their deltas
  std::vector<DeltaRow> categories;      // as ByCategory, the union of both sides
  std::vector<OperatorMatch> operators;  // all operators of both sides, each once, plus nothing else
  Nanoseconds baseline_clipped = 0, candidate_clipped = 0;  // the row that completes `operators`
  std::vector<std::string> warnings;
};

Comparison Compare(const Side& baseline, const Side& candidate, const CompareOptions& options = {});

// Operators of both sides that are taken together, as those of a layer: indices into the profiles' operators.
struct OperatorSet {
  std::string name;
  std::vector<std::size_t> baseline, candidate;
};

// A row for each set, of the sum of its operators' self times; verdicts are false-discovery controlled over
// the sets, which may overlap. Empty where a side has no profile.
std::vector<DeltaRow> CompareSets(const Side& baseline, const Side& candidate,
                                  const std::vector<OperatorSet>& sets, const CompareOptions& options = {});

// Matching alone: one alignment of all operators (match_nodes.h), by their modules, lines, shapes, weights
// and dataflow where both sides' programs are known, else by what they do and in which order; then the calls
// that hold them. Running numbers of XNNPACK's say nothing. Pairs are of the profiles' operators.
std::vector<NodePair> MatchOperators(const Profile& baseline, const Profile& candidate);

}  // namespace etprof
