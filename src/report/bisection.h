#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace etprof {

// The results of `etprof bisect` as data; show/ contains the texts.

struct BisectionStep {
  enum class Outcome {
    kGood,       // significantly closer to the good version
    kBad,        // significantly closer to the bad version
    kUndecided,  // not decided within the time of a step
    kNotBuilt,   // the build command failed, or did not create the expected files
  };
  std::string commit, subject;
  Outcome outcome = Outcome::kUndecided;
  bool measured = true;                     // false: not built, or the files equal those of a measured commit
  std::optional<double> growth, low, high;  // relative to the good version, as in GateVerdict
  double limit = 0;                         // growth above which the commit is bad
  int launches = 0;
  std::string reason;  // one clause: the reason why it was not measured
};

struct Bisection {
  enum class Result {
    kFound,
    kSeveral,    // several commits between the last good and the first bad one remain
    kNotSlower,  // the bad version is significantly not slower than the good one
    kUndecided,  // not decided whether the bad version is slower
  };
  Result result = Result::kUndecided;
  std::string good, bad, folder;
  std::size_t commits = 0;                  // number of candidate commits
  std::vector<BisectionStep> steps;         // the first step measures the bad version
  std::vector<std::string> suspects;        // "1f0c83aa90e1 subject"; one entry if kFound
  std::optional<double> growth, low, high;  // growth of the bad version relative to the good one

  std::size_t CountMeasured() const {
    return static_cast<std::size_t>(std::ranges::count(steps, true, &BisectionStep::measured));
  }

  // The probability of a wrong verdict that the next comparison may have. The probabilities of all
  // comparisons add up to at most `total`, however many commits stay undecided: the first `planned`
  // comparisons share half of `total`, and the k-th comparison after them has 1 / (k (k + 1)) of the other
  // half.
  double NextErrorProbability(double total, std::size_t planned) const {
    const std::size_t measured = CountMeasured();
    if (measured < planned) return total / 2 / static_cast<double>(planned);
    const auto k = static_cast<double>(measured - planned + 1);
    return total / 2 / (k * (k + 1));
  }
};

}  // namespace etprof
