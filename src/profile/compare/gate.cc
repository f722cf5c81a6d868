#include "profile/compare/gate.h"

#include <algorithm>
#include <cmath>

#include "stats/ratio/multiple.h"
#include "stats/ratio/student_t.h"

namespace etprof {
namespace {

// P(T >= t) for Student's t.
double UpperTail(double t, double degrees_of_freedom) {
  const double half_p = stats::TwoSidedP(t, degrees_of_freedom) / 2;
  return t >= 0 ? half_p : 1 - half_p;
}

// P(growth at least as large as measured | true growth = limit, systematic error = `error`). Small values
// show that the candidate is beyond the limit.
double BeyondLimitPValue(const GateClaim& claim, double error) {
  const stats::RatioEstimate& estimate = *claim.estimate;
  const double excess = -estimate.log_ratio - std::log1p(claim.limit) - error;
  if (estimate.standard_error == 0) return excess > 0 ? 0 : 1;
  return UpperTail(excess / estimate.standard_error, estimate.degrees_of_freedom);
}

// The distance of the one-sided bound at `confidence` from the estimate.
double OneSidedHalfWidth(const stats::RatioEstimate& estimate, double confidence) {
  if (estimate.standard_error == 0) return estimate.systematic_error;
  const double level = 1 - confidence;
  return estimate.systematic_error +
         stats::CriticalValue(1 - 2 * level, estimate.degrees_of_freedom) * estimate.standard_error;
}

}  // namespace

bool MoreLaunchesMayDecideClaim(const GateClaim& claim, const GateVerdict& verdict, double launches) {
  if (verdict.decision != GateDecision::kInconclusive || !claim.estimate || !verdict.high) return false;
  const stats::RatioEstimate& estimate = *claim.estimate;
  const double noise = std::log1p(*verdict.high) + estimate.log_ratio - estimate.systematic_error;
  const double distance_from_limit = std::abs(-estimate.log_ratio - std::log1p(claim.limit));
  const double measured_share = std::min(1.0, estimate.launches / std::max(1.0, launches));
  return distance_from_limit + noise * std::sqrt(1 - measured_share) >
         estimate.systematic_error + noise * std::sqrt(measured_share);
}

std::vector<GateVerdict> DecideClaims(std::span<const GateClaim> claims, const GateOptions& options) {
  std::vector<double> fail_p;
  std::vector<double> pass_p;
  for (const GateClaim& claim : claims) {
    const double error = claim.estimate ? claim.estimate->systematic_error : 0;
    const bool resolved = claim.estimate && claim.estimate->resolved;
    fail_p.push_back(resolved ? BeyondLimitPValue(claim, error) : 1);
    pass_p.push_back(claim.estimate ? 1 - BeyondLimitPValue(claim, -error) : 1);
  }
  const double q = options.false_discovery_rate * options.interim_share;
  const stats::JointRejection fail_rejection = stats::RejectJointly(fail_p, q);
  const stats::JointRejection pass_rejection = stats::RejectJointly(pass_p, q);
  std::vector<GateVerdict> verdicts;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    GateVerdict verdict;
    verdict.fail_p = fail_rejection.adjusted[i];
    verdict.pass_p = pass_rejection.adjusted[i];
    if (claims[i].estimate) {
      const stats::RatioEstimate& estimate = *claims[i].estimate;
      verdict.growth = std::expm1(0 - estimate.log_ratio);  // no growth is 0, not -0
      verdict.low =
          std::expm1(0 - estimate.log_ratio - OneSidedHalfWidth(estimate, fail_rejection.confidence));
      if (!estimate.resolved) verdict.low = std::min({*verdict.low, 0.0, claims[i].limit});
      verdict.high =
          std::expm1(0 - estimate.log_ratio + OneSidedHalfWidth(estimate, pass_rejection.confidence));
      if (verdict.fail_p <= q) {
        verdict.decision = GateDecision::kFail;
      } else if (verdict.pass_p <= q) {
        verdict.decision = GateDecision::kPass;
      }
    }
    verdicts.push_back(verdict);
  }
  return verdicts;
}

}  // namespace etprof
