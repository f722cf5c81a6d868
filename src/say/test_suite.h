#pragma once

#include <string>
#include <utility>
#include <vector>

namespace etprof::say {

// What a gate found, as a suite of tests: what CI servers show.
struct TestSuite {
  enum class Outcome { kPassed, kFailure, kError, kSkipped };
  struct Case {
    std::string name;
    Outcome outcome = Outcome::kPassed;
    std::string type;     // of a failure or an error: one word for what went wrong
    std::string message;  // what decided, on one line
    std::string details;  // all of it, in lines
  };
  std::string command;                                          // of etprof: "check"
  std::string subject;                                          // the model; "": not known
  std::string timestamp;                                        // UTC, ISO 8601; "": not known
  double seconds = 0;                                           // that all cases took together
  std::vector<std::pair<std::string, std::string>> properties;  // those without a value are left out
  std::vector<Case> cases;
  std::vector<std::string> notes;
};

}  // namespace etprof::say
