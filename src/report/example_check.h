#pragma once

#include <string>

#include "report/check.h"

// A check with known numbers for the tests of report/ and show/.
namespace etprof::example {

inline CheckItem MakeItem(CheckItem::Kind kind, double growth, GateDecision decision) {
  CheckItem item;
  item.kind = kind;
  item.name = kind == CheckItem::Kind::kOperator ? "Softmax (NC, F32) #1" : std::string(GetName(kind));
  item.baseline = 1e6;
  item.candidate = 1e6 * (1 + growth);
  item.limit = 0.02;
  item.verdict = {decision, growth, growth - 0.01, growth + 0.01, 0.5, 0.5};
  return item;
}

inline CheckPair MakeCheckPair(const std::string& name, GateDecision decision, double growth) {
  CheckPair pair;
  pair.name = name;
  pair.pairing = Pairing::kLaunches;
  pair.launches = 10;
  pair.decision = decision;
  pair.items.push_back(MakeItem(CheckItem::Kind::kLatency, growth, decision));
  return pair;
}

// A check with one pair of each outcome.
inline CheckReport MakeCheck() {
  CheckReport check;
  check.model_id = "net <&\"> \x1b[31m \xff";
  check.generated_at = "2026-05-04T10:11:12Z";
  check.seconds = 8;
  check.decision = GateDecision::kFail;
  check.has_error = true;
  check.pairs = {MakeCheckPair("good", GateDecision::kPass, 0.001),
                 MakeCheckPair("slow | `one`", GateDecision::kFail, 0.1),
                 MakeCheckPair("open", GateDecision::kInconclusive, 0.02),
                 MakeCheckPair("broken", GateDecision::kInconclusive, 0)};
  check.pairs[3].error = "the worker died: \"<x>\"";
  CheckPair& slow = check.pairs[1];
  slow.items.push_back(MakeItem(CheckItem::Kind::kPeakMemory, 0.001, GateDecision::kPass));
  slow.items.push_back(MakeItem(CheckItem::Kind::kOperator, 0.001, GateDecision::kPass));
  slow.time_changes.push_back(
      {"Convolution (NHWC, F32) IGEMM #1", "forward/1/backend/0", {}, 1e6, 4e6, 3, 2.9, 3.1});
  slow.only_candidate = {"Copy #3 (0.100 ms)"};
  check.notes = {"two sessions"};
  return check;
}

}  // namespace etprof::example
