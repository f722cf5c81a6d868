#pragma once

#include <string>
#include <vector>

#include "core/json/describe.h"

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

  static void Describe(auto& v) {
    v("name", &DoctorCheck::name);
    v("state", &DoctorCheck::state);
    v("found", &DoctorCheck::found, {.meaning = "its version and where it is, or what is wrong"});
    v("remedy", &DoctorCheck::remedy, {.meaning = "null: there is nothing to do", .or_null = true});
  }
};
template <>
inline constexpr NamedValue<DoctorCheck::State> kNames<DoctorCheck::State>[] = {
    {DoctorCheck::State::kOk, "ok"},
    {DoctorCheck::State::kWarning, "warning"},
    {DoctorCheck::State::kMissing, "missing"}};

struct DoctorGroup {
  std::string name;   // for programs: "measure"
  std::string title;  // for people: the commands
  std::vector<DoctorCheck> checks;
  bool Ready() const;  // nothing is missing

  static void Describe(auto& v) {
    v("name", &DoctorGroup::name);
    v("title", &DoctorGroup::title);
    v("ready", &DoctorGroup::Ready, {.meaning = "nothing is missing"});
    v("checks", &DoctorGroup::checks);
  }
};

struct Examination {
  std::vector<DoctorGroup> groups;

  static void Describe(auto& v) {
    v.Constant("schema_version", 1);
    v("ready", [](const Examination& json) { return json.groups.front().Ready(); },
      {.meaning = "for measuring on this machine"});
    v("groups", &Examination::groups, {.some = true});
  }
};

// Looks at this machine; the first group is what measuring on it needs. Starts the tools for their versions,
// changes nothing and reaches no device and no network.
Examination ExamineThisMachine();
// What `etprof export` needs alone.
DoctorGroup ExportNeeds();

}  // namespace etprof
