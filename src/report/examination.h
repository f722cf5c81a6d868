#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/json/describe.h"

namespace etprof {

// What `etprof doctor` finds: one thing that commands need.
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
  // Nothing is missing.
  bool Ready() const {
    return std::ranges::find(checks, DoctorCheck::State::kMissing, &DoctorCheck::state) == checks.end();
  }

  static void Describe(auto& v) {
    v("name", &DoctorGroup::name);
    v("title", &DoctorGroup::title);
    v("ready", &DoctorGroup::Ready, {.meaning = "nothing is missing"});
    v("checks", &DoctorGroup::checks);
  }
};

struct Examination {
  std::vector<DoctorGroup> groups;  // the first is what measuring on this machine needs
  bool Ready() const { return groups.front().Ready(); }

  static void Describe(auto& v) {
    v.Constant("schema_version", 1);
    v("ready", &Examination::Ready, {.meaning = "for measuring on this machine"});
    v("groups", &Examination::groups, {.some = true});
  }
};

}  // namespace etprof
