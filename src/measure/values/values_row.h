#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/json/describe.h"

namespace etprof {

// The comparison of a value that an operator wrote in two variants: a row of `values.csv`
// (docs/guides/values.md).
struct ValuesRow {
  std::string baseline, candidate;          // names of the experiments
  std::string key;                          // as KeyText of the baseline's operator in the analysis
  std::string name;                         // of the baseline's operator
  std::string candidate_name;               // of the candidate's operator; empty: the same
  std::string state;                        // kIdentical, kDifferent, kNotRead
  std::optional<double> sqnr_db;            // 10 log10(mean of squares of the baseline / of the differences)
  std::optional<double> largest;            // largest difference of two elements
  std::int64_t elements = 0, compared = 0;  // `compared`: elements that `sqnr_db` and `largest` are of
  std::string note;                         // why it was not read, or why it has no decibels

  static constexpr const char* kIdentical = "identical";
  static constexpr const char* kDifferent = "different";
  static constexpr const char* kNotRead = "not read";

  static void Describe(auto& v) {
    using R = ValuesRow;
    v("baseline", &R::baseline, {.meaning = "the experiment that the other is compared with"});
    v("candidate", &R::candidate, {.meaning = "the other one"});
    v("key", &R::key, {.meaning = "as `node_id` of timelines, of the baseline"});
    v("name", &R::name, {.meaning = "as in traces, of the baseline"});
    v("candidate_name", &R::candidate_name, {.meaning = "of the candidate's operator; empty: the same"});
    v("state", &R::state,
      {.meaning = "whether all bytes are equal", .choices = "identical|different|not read"});
    v("sqnr_db", &R::sqnr_db,
      {.meaning =
           "the baseline's power over that of the difference; empty: nothing differs, or it is not known",
       .least = kAnyNumber});
    v("largest_difference", &R::largest, {.meaning = "of two elements; empty: as `sqnr_db`", .least = 0});
    v("elements", &R::elements, {.meaning = "of the value"});
    v("compared", &R::compared, {.meaning = "elements of which the two numbers are, evenly spread"});
    v("note", &R::note, {.meaning = "why it was not read, or has no numbers"});
  }
};

}  // namespace etprof
