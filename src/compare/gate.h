#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/json/describe.h"
#include "stats/ratio/launches.h"

namespace etprof {

// One claim that a gate tests: "the candidate does not lie above the baseline by more than `limit`".
struct GateClaim {
  std::optional<stats::RatioEstimate> estimate;  // of baseline / candidate; absent: there is nothing to test
  double limit = 0.02;                           // relative growth that is allowed: 0.02 for +2 %
};

enum class GateDecision {
  kPass,          // certainly within the limit
  kFail,          // certainly beyond it
  kInconclusive,  // the measurement cannot tell
};
template <>
inline constexpr NamedValue<GateDecision> kNames<GateDecision>[] = {
    {GateDecision::kPass, "pass"},
    {GateDecision::kFail, "fail"},
    {GateDecision::kInconclusive, "inconclusive"}};

// Of two that are one: fail before inconclusive before pass.
constexpr GateDecision Together(GateDecision a, GateDecision b) {
  if (a == GateDecision::kPass || b == GateDecision::kFail) return b;
  return a;
}

// With `require_conclusive`, what cannot be decided fails.
constexpr GateDecision Required(GateDecision decision, bool require_conclusive) {
  return require_conclusive && decision == GateDecision::kInconclusive ? GateDecision::kFail : decision;
}

// Whether a gate ends in an error. `error`: something could not be measured, which a failure outweighs.
constexpr bool IsError(GateDecision decision, bool error) { return error && decision != GateDecision::kFail; }

inline constexpr std::string_view kGateResults = "pass|fail|inconclusive|error";
constexpr std::string_view ResultName(GateDecision decision, bool error) {
  return IsError(decision, error) ? "error" : NameOf(decision);
}

struct GateVerdict {
  GateDecision decision = GateDecision::kInconclusive;
  // candidate / baseline - 1, and its interval: `low` is a lower bound for a claim of "fail", `high` an upper
  // bound for one of "pass". All absent without an estimate.
  std::optional<double> growth, low, high;
  double fail_p = 1, pass_p = 1;  // one-sided, Benjamini-Hochberg adjusted over all claims

  static void Describe(auto& v) {
    v("growth", &GateVerdict::growth, {.meaning = "candidate / baseline - 1"});
    v("growth_low", &GateVerdict::low, {.meaning = "null: unbounded, or nothing was tested"});
    v("growth_high", &GateVerdict::high, {.meaning = "null: unbounded, or nothing was tested"});
    v("fail_p_adjusted", &GateVerdict::fail_p,
      {.meaning = "p-value against growth within the limit, one-sided, adjusted over all checks "
                  "(Benjamini-Hochberg)",
       .least = 0,
       .most = 1});
    v("pass_p_adjusted", &GateVerdict::pass_p,
      {.meaning = "p-value against growth beyond the limit, likewise", .least = 0, .most = 1});
    v("result", &GateVerdict::decision,
      {.meaning = "`pass`: significantly within the limit; `fail`: significantly beyond it"});
  }
};

// Whether `launches` in all may decide a claim that those of its estimate leave open: if the launches to come
// move the estimate away from the limit by as much as is likely. Of n launches, a part k already there, the
// interval's half-width becomes sqrt(k) of what it is, and the estimate moves by up to sqrt(1 - k) of it.
// What the interval is longer by for an error that all launches share stays.
bool MayBeDecided(const GateClaim& claim, const GateVerdict& verdict, double launches);

struct GateOptions {
  double false_discovery = 0.05;  // q
  // The part of q that one look takes where a measurement is looked at several times and ends when all is
  // decided; 1: there is one look, at a number of launches that did not depend on the results.
  double look_share = 1;
};

// The part of q for each of the stop rule's looks (stats/ratio/stop_rule.h: at most nine, each at 1.4 times
// the launches of the last). Simulated with normal launch effects at the limit (bench/statistics/gate prints
// the table), the chance that one of nine looks decides falsely is 3.8 times a level of 0.05, 5.0 times one
// of 0.01 and up to 6.5 times smaller ones, so that 1 / 6.5 of q for each look keeps q for all. (Bonferroni's
// 1 / 9 is more than looks at growing parts of the same launches take.)
inline constexpr double kLookShare = 0.15;

// Judges all claims of one invocation together.
//
// The rule: a claim fails (passes) when Benjamini and Hochberg's procedure at q, over the one-sided t-tests
// of all claims, rejects that the growth is at most (at least) its limit. So the expected share of false
// failures among the failures is at most q, and likewise of false passes among the passes (Benjamini &
// Hochberg, JRSS B 57, 1995; under the positive dependence of Benjamini & Yekutieli, Annals of Statistics 29,
// 2001); where nothing is beyond its limit, that is the chance that anything fails at all. The two directions
// are held apart, since many certain passes must not buy room for a false failure.
//
// The bounds say the same: with R failures of m claims every `low` is a one-sided bound at 1 - max(R, 1) q /
// m, so that it exceeds the limit exactly for the failures (JudgeMany in stats/ratio/multiple.h has the
// argument; false coverage: Benjamini & Yekutieli, JASA 100, 2005), and `high` likewise for the passes. A
// claim without an estimate counts among the m, and so does one that is not resolved: its p-value of a
// failure is 1, and its `low` is no growth at most. Without any spread the estimate itself decides, and one
// at the limit passes.
std::vector<GateVerdict> JudgeClaims(std::span<const GateClaim> claims, const GateOptions& options = {});

}  // namespace etprof
