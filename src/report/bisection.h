#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace etprof {

// What `etprof bisect` found out, not yet worded.

struct BisectionStep {
  enum class Outcome {
    kGood,        // certainly nearer to the good version
    kBad,         // certainly nearer to the bad one
    kCannotTell,  // within the time of a step
    kNotBuilt,    // the command failed, or did not leave what it should
  };
  std::string commit, subject;
  Outcome outcome = Outcome::kCannotTell;
  bool measured = true;  // false: its files are those of a commit that was measured, or it was not built
  std::optional<double> growth, low, high;  // against the good version, as GateVerdict's
  double limit = 0;                         // growth from which on it is bad
  int launches = 0;
  std::string why;  // one clause: why it was not measured, or could not be
};

struct Bisection {
  enum class Result {
    kFound,
    kSeveral,     // the commits between the last good and the first bad one cannot be told apart
    kNotSlower,   // the bad version is certainly not slower than the good one
    kCannotTell,  // whether the bad version is slower
  };
  Result result = Result::kCannotTell;
  std::string good, bad, folder;
  std::size_t commits = 0;                  // that could be it
  std::vector<BisectionStep> steps;         // the first one is of the bad version
  std::vector<std::string> suspects;        // "1f0c83aa90e1 subject"; one where it was found
  std::optional<double> growth, low, high;  // of the bad version against the good one

  std::size_t Measured() const {
    return static_cast<std::size_t>(std::ranges::count(steps, true, &BisectionStep::measured));
  }
};

}  // namespace etprof
