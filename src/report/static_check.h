#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/file/file.h"
#include "core/json/describe.h"
#include "format/program/program.h"
#include "format/program/source/source_map.h"
#include "format/program/static_facts.h"
#include "profile/compare/gate.h"

namespace etprof {

// A program and the bytes of its file. `sources` may be null.
struct StaticCheckInput {
  const Program* program = nullptr;
  const SourceMap* sources = nullptr;
  std::string file;
  ByteView bytes;
};

// A fact that is compared with its limit or with the baseline.
struct StaticItem {
  std::string fact;    // FactInfo::key; "methods": the methods of the baseline
  std::string name;    // "delegated operators"
  std::string method;  // "": the whole file
  FactInfo::Unit unit = FactInfo::Unit::kCount;
  bool is_minimum = false;            // `allowed` is a minimum, else a maximum
  std::optional<FactRange> baseline;  // absent: compared with a limit
  FactRange candidate;
  double allowed = 0;  // for an uncertain baseline, the bound that is certainly allowed
  GateDecision decision = GateDecision::kPass;
  std::string reason;  // one clause: reason why a value is not known, or fails regardless of its number

  std::string Subject() const { return method.empty() ? name : method + ": " + name; }

  static constexpr const char* kSchemaName = "static_check";
  static void Describe(auto& v) {
    using I = StaticItem;
    v("check", [](const I& item) { return item.baseline ? "change" : "limit"; },
      {.meaning = "against the baseline, or a limit", .choices = "change|limit"});
    v("fact", &I::fact,
      {.meaning = "what is counted, as in a file of limits; `methods`: of the baseline's methods"});
    v("method", &I::method, {.meaning = "null: of the whole file", .or_null = true});
    v("unit", &I::unit, {.meaning = "of the numbers"});
    v("baseline_low",
      [](const I& item) { return item.baseline ? std::optional(item.baseline->low) : std::nullopt; },
      {.meaning = "at least; null: a limit is checked", .min = 0});
    v("baseline_high",
      [](const I& item) { return item.baseline ? std::optional(item.baseline->high) : std::nullopt; },
      {.meaning = "at most; equal where the number is certain", .min = 0});
    v("low", [](const I& item) { return item.candidate.low; }, {.meaning = "at least", .min = 0});
    v("high", [](const I& item) { return item.candidate.high; },
      {.meaning = "at most; equal where the number is certain", .min = 0});
    v("allowed", &I::allowed,
      {.meaning = "the limit, or the baseline's number with its tolerance", .min = 0});
    v("allowed_is", [](const I& item) { return item.is_minimum ? "least" : "most"; },
      {.meaning = "which end of what is allowed", .choices = "least|most"});
    v("result", &I::decision, {.meaning = "`inconclusive`: the bounds do not decide it"});
    v("why", &I::reason, {.meaning = "why it is not decided by its number", .or_null = true});
  }
};
template <>
inline constexpr const char* kNames<FactInfo::Unit>[] = {"share", "count", "bytes"};

// An operator that explains a result.
struct StaticOperator {
  std::string method;
  std::string text;    // "layer1.2 Conv2d 8→8 3x3"; for changes ProgramChange::Text()
  std::string source;  // "model.py:12"; "": not known
  std::string reason;  // one clause: why it is not delegated or has no SME2 kernel; "": not known

  static constexpr const char* kSchemaName = "static_operator";
  static void Describe(auto& v) {
    v("method", &StaticOperator::method, {.meaning = "that has it"});
    v("operator", &StaticOperator::text, {.meaning = "in words, with its module where that is known"});
    v("source", &StaticOperator::source, {.meaning = "line of the model", .or_null = true});
    v("why", &StaticOperator::reason,
      {.meaning = "why it is not delegated, or has no SME2 kernel", .or_null = true});
  }
};

struct StaticCheck {
  std::string baseline;  // file; "": only limits are checked
  std::string candidate;
  bool require_conclusive = false;
  GateDecision decision = GateDecision::kPass;  // fail before inconclusive before pass
  std::vector<StaticItem> items;
  std::vector<StaticOperator> changes;        // changes from the baseline to the candidate
  std::vector<StaticOperator> not_delegated;  // operators of the candidate, if a limit on delegation fails
  std::vector<StaticOperator> without_sme2;   // operators of the candidate, if the SME2 limit fails
  std::vector<std::string> notes;

  static void Describe(auto& v) {
    using C = StaticCheck;
    DescribeSchemaVersion(v);
    v("result", &C::decision, {.meaning = "of all checks"});
    v("baseline", &C::baseline, {.meaning = "null: limits of one program are checked", .or_null = true});
    v("candidate", &C::candidate, {.meaning = "its file"});
    v("require_conclusive", &C::require_conclusive, {.meaning = "what cannot be decided counts as failed"});
    v("checks", &C::items, {.meaning = "one for each fact of each method"});
    v("changes", &C::changes, {.meaning = "operators that differ from the baseline's"});
    v("not_delegated", &C::not_delegated, {.meaning = "operators, where a limit of what is delegated fails"});
    v("without_sme2", &C::without_sme2,
      {.meaning = "operators that multiply matrices, where their limit fails"});
    v("notes", &C::notes, {.meaning = "what one has to know to trust it"});
  }
};

// Compares a program with its limits. A limit that cannot be decided fails, with a reason.
StaticCheck CheckStatic(const StaticCheckInput& input, const StaticLimits& limits);

// Also reports facts that are worse than the baseline's. A fact that depends on an unreadable payload is
// inconclusive, unless both programs have the same payloads.
StaticCheck CheckStatic(const StaticCheckInput& baseline, const StaticCheckInput& candidate,
                        const StaticLimits& limits, bool require_conclusive);

}  // namespace etprof
