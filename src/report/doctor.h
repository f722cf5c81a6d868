#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/json/describe.h"

namespace etprof {

// A result of `etprof doctor`: the state of one requirement of the commands.
struct DoctorCheck {
  enum class State {
    kOk,
    kWarning,  // commands work without it, or work less well
    kMissing,
  };
  std::string name;
  State state = State::kOk;
  std::string found;   // one line: version and location, or the problem
  std::string remedy;  // empty: nothing to do

  static void Describe(auto& v) {
    v("name", &DoctorCheck::name, {.meaning = "of what commands need"});
    v("state", &DoctorCheck::state, {.meaning = "`warning`: commands work without it, or work less well"});
    v("found", &DoctorCheck::found, {.meaning = "its version and where it is, or what is wrong"});
    v("remedy", &DoctorCheck::remedy, {.meaning = "null: there is nothing to do", .or_null = true});
  }
};
template <>
inline constexpr const char* kNames<DoctorCheck::State>[] = {"ok", "warning", "missing"};

struct DoctorGroup {
  std::string name, title;
  std::vector<DoctorCheck> checks;
  // Returns whether nothing is missing.
  bool IsReady() const {
    return std::ranges::find(checks, DoctorCheck::State::kMissing, &DoctorCheck::state) == checks.end();
  }

  static void Describe(auto& v) {
    v("name", &DoctorGroup::name, {.meaning = "for programs: \"measure\""});
    v("title", &DoctorGroup::title, {.meaning = "for people: the commands"});
    v("ready", &DoctorGroup::IsReady, {.meaning = "nothing is missing"});
    v("checks", &DoctorGroup::checks, {.meaning = "one for each thing that they need"});
  }
};

struct DoctorReport {
  std::vector<DoctorGroup> groups;  // the first group contains the requirements for measuring on this machine
  bool IsReady() const { return groups.front().IsReady(); }

  static void Describe(auto& v) {
    DescribeSchemaVersion(v);
    v("ready", &DoctorReport::IsReady, {.meaning = "for measuring on this machine"});
    v("groups", &DoctorReport::groups, {.meaning = "of commands", .non_empty = true});
  }
};

}  // namespace etprof
