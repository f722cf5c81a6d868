#pragma once

#include <string>
#include <vector>

namespace etprof {

// One thing that commands need.
struct DoctorCheck {
  enum class State {
    kOk,
    kWarning,  // what is asked for works without it, or works less well
    kMissing,
  };
  std::string name;
  State state = State::kOk;
  std::string found;   // its version and where it is, or what is wrong; one line
  std::string remedy;  // empty where there is nothing to do
};

struct DoctorGroup {
  std::string name;   // for programs: "measure"
  std::string title;  // for people: the commands
  std::vector<DoctorCheck> checks;
  bool Ready() const;  // nothing is missing
};

// Looks at this machine; the first group is what measuring on it needs. Starts the tools for their versions,
// changes nothing and reaches no device and no network.
std::vector<DoctorGroup> ExamineThisMachine();
// What `etprof export` needs alone.
DoctorGroup ExportNeeds();

}  // namespace etprof
