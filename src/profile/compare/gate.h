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
  std::optional<stats::RatioEstimate> estimate;  // baseline / candidate; absent: there is nothing to test
  double limit = 0.02;                           // relative growth that is allowed: 0.02 for +2 %
};

enum class GateDecision {
  kPass,          // significantly within the limit
  kFail,          // significantly beyond the limit
  kInconclusive,  // neither of the two is significant
};
template <>
inline constexpr const char* kNames<GateDecision>[] = {"pass", "fail", "inconclusive"};

// Combines two decisions: kFail if one of them is kFail, else kInconclusive if one is, else kPass.
constexpr GateDecision CombineDecisions(GateDecision a, GateDecision b) {
  if (a == GateDecision::kPass || b == GateDecision::kFail) return b;
  return a;
}

// With `require_conclusive`, an inconclusive decision counts as a failure.
constexpr GateDecision RequireConclusive(GateDecision decision, bool require_conclusive) {
  return require_conclusive && decision == GateDecision::kInconclusive ? GateDecision::kFail : decision;
}

// Returns whether the gate's result is an error. `has_error` is true if a claim could not be measured. A
// failure has priority over an error.
constexpr bool IsGateError(GateDecision decision, bool has_error) {
  return has_error && decision != GateDecision::kFail;
}

inline constexpr std::string_view kGateResults = "pass|fail|inconclusive|error";
constexpr std::string_view ResultName(GateDecision decision, bool has_error) {
  return IsGateError(decision, has_error) ? "error" : GetName(decision);
}

struct GateVerdict {
  GateDecision decision = GateDecision::kInconclusive;
  // candidate / baseline - 1, and its interval. A claim of "fail" has the lower bound `low`, a claim of
  // "pass" the upper bound `high`. All are absent without an estimate.
  std::optional<double> growth, low, high;
  double fail_p = 1, pass_p = 1;  // one-sided, Benjamini-Hochberg adjusted over all claims

  static void Describe(auto& v) {
    v("growth", &GateVerdict::growth, {.meaning = "candidate / baseline - 1"});
    v("growth_low", &GateVerdict::low, {.meaning = "null: unbounded, or nothing was tested"});
    v("growth_high", &GateVerdict::high, {.meaning = "null: unbounded, or nothing was tested"});
    v("fail_p_adjusted", &GateVerdict::fail_p,
      {.meaning = "p-value against growth within the limit, one-sided, adjusted over all checks "
                  "(Benjamini-Hochberg)",
       .min = 0,
       .max = 1});
    v("pass_p_adjusted", &GateVerdict::pass_p,
      {.meaning = "p-value against growth beyond the limit, likewise", .min = 0, .max = 1});
    v("result", &GateVerdict::decision,
      {.meaning = "`pass`: significantly within the limit; `fail`: significantly beyond it"});
  }
};

// Returns whether a total of `launches` launches may decide a claim that is still open, if the launches to
// come move the estimate away from the limit by as much as is likely. If a fraction k of the n launches is
// already measured, the interval's half-width shrinks to sqrt(k) of its current value, and the estimate moves
// by up to sqrt(1 - k) of it. The part of the interval for an error that all launches share remains.
bool MoreLaunchesMayDecideClaim(const GateClaim& claim, const GateVerdict& verdict, double launches);

struct GateOptions {
  double false_discovery_rate = 0.05;  // the rate q

  // The fraction of q that each interim analysis uses, if a measurement ends as soon as all claims are
  // decided. 1: there is one analysis, at a number of launches that did not depend on the results.
  double interim_share = 1;
};

// The fraction of q for each interim analysis of the stop rule (stats/ratio/stop_rule.h: at most nine, each
// at 1.4 times the launches of the last). Simulated with normal launch effects at the limit
// (bench/statistics/gate prints the table), the chance that one of nine analyses decides falsely is 3.8 times
// a level of 0.05, 5.0 times a level of 0.01, and up to 6.5 times smaller levels, so 1 / 6.5 of q for each
// analysis keeps q for all. (Bonferroni's 1 / 9 is stricter than needed, since the analyses share launches.)
inline constexpr double kInterimShare = 0.15;

// Decides all claims of one invocation together.
//
// The rule: a claim fails (passes) when Benjamini and Hochberg's procedure at q, over the one-sided t-tests
// of all claims, rejects that the growth is at most (at least) its limit. So the expected share of false
// failures among the failures is at most q, and so is the share of false passes among the passes (Benjamini &
// Hochberg, JRSS B 57, 1995; under the positive dependence of Benjamini & Yekutieli, Annals of Statistics 29,
// 2001). If nothing is beyond its limit, this share is the chance that anything fails at all. The two
// directions use separate procedures, since many certain passes must not make room for a false failure.
//
// The bounds agree with the decisions: with R failures of m claims every `low` is a one-sided bound at 1 -
// max(R, 1) q / m, so that it exceeds the limit exactly for the failures (DecideVerdicts in
// stats/ratio/multiple.h has the argument; false coverage: Benjamini & Yekutieli, JASA 100, 2005), and `high`
// has the same property for the passes. The m claims include those without an estimate and those that are not
// resolved; the p-value of a failure is 1 for an unresolved claim, and its `low` is at most 0 (no growth).
// Without any spread the estimate itself decides, and an estimate at the limit passes.
std::vector<GateVerdict> DecideClaims(std::span<const GateClaim> claims, const GateOptions& options = {});

}  // namespace etprof
