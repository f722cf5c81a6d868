#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/text/csv_members.h"
#include "core/units.h"
#include "profile/analysis/profile.h"

namespace etprof {

// The properties of an event that are the same in every run.
struct TimelineEventInfo {
  std::string model_id, name, type, backend, key, block;
  std::optional<std::int32_t> instruction, chain;
  std::string category, group;
};
// The times of an event in one run, in ns of the device's clock.
struct TimelineTimes {
  Nanoseconds origin = 0, start = 0, end = 0;
  Nanoseconds execute_time = 0;          // Method::execute of the run; 0: the event is outside of runs
  std::optional<std::int64_t> run = {};  // absent: the event is outside of complete runs
  std::optional<Nanoseconds> self = {};  // absent: the event is outside of complete runs
  std::optional<Phase> phase = {};       // absent: the event is outside of complete runs

  Nanoseconds StartFromOrigin() const { return start - origin; }
  Nanoseconds EndFromOrigin() const { return end - origin; }
  Nanoseconds Duration() const { return end - start; }
  PercentShare Share() const { return {Duration(), execute_time}; }
};

struct TimelineRow : TimelineEventInfo, TimelineTimes {
  static void Describe(auto& v) {
    using P = TimelineEventInfo;
    using T = TimelineTimes;
    v("model_id", &P::model_id, {.meaning = "the model; of a bare ETDump the file's name"});
    v("name", &P::name, {.meaning = "what ExecuTorch's Inspector calls the event"});
    v("type", &P::type, {.meaning = "the name without XNNPACK's number and without `native_call_`"});
    v("delegate_backend", &P::backend,
      {.meaning = "the delegate that ran it; empty for the framework's spans and portable kernels",
       .or_null = true});
    v("start_us", &T::StartFromOrigin,
      {.meaning = "since the first event of the file (loading included), exact", .scale = 1e3});
    v("end_us", &T::EndFromOrigin, {.meaning = "since the same event, exact", .scale = 1e3});
    v("duration_ms", &T::Duration, {.meaning = "`end_us - start_us`, exact", .scale = 1e6});
    v("pct_total", &T::Share,
      {.meaning = "percent of the run's `Method::execute`. Spans are nested, so this does not add up; "
                  "`self_ms` does",
       .or_null = true});
    v("node_id", &P::key,
      {.meaning = "the operator, unique and the same in every run. `forward/3/backend/2` is method, "
                  "instruction, kind of span, place within the call",
       .or_null = true});
    v("run_index", &T::run, {.meaning = "counted from 0; empty for events of a run that was cut"});
    v("block", &P::block, {.meaning = "as in the file"});
    v("instruction", &P::instruction, {.meaning = "as in the file"});
    v("chain", &P::chain, {.meaning = "as in the file"});
    v("self_ms", &T::self,
      {.meaning = "self time; the rows of a run add up to its `Method::execute`, minus truncated spans",
       .scale = 1e6});
    v("category", &P::category,
      {.meaning = "what it computes, finer than `group`; empty for events of a run that was cut",
       .or_null = true});
    v("group", &P::group,
      {.meaning = "what it computes; empty for events of a run that was cut", .or_null = true});
    v("phase", &T::phase,
      {.meaning = "of the process's life; `disturbed`: steady, but threads had to wait for a processor; "
                  "empty for events of a run that was cut"});
  }
};

}  // namespace etprof
