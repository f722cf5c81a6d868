#pragma once

#include <optional>
#include <vector>

#include "core/describe.h"
#include "report/ladder/payoff.h"

// "isa_threads" of analysis_summary.json.
namespace etprof {

struct PayoffRowJson {
  const Payoff& payoff;
  const PayoffRow& row;

  static constexpr const char* kSchemaName = "isa_threads_row";
  static void Describe(auto& v) {
    using J = const PayoffRowJson&;
    v("name", [](J json) { return json.row.name; });
    v("gain", [](J json) {
      std::vector<std::optional<Gain>> gains;
      for (const auto& gain : json.row.gain) gains.push_back(MaybeGain(gain));
      return gains;
    });
    v("no_longer_from_threads",
      [](J json) -> std::optional<int> {
        if (!json.row.stops) return std::nullopt;
        return json.payoff.threads[*json.row.stops];
      },
      {.meaning = "from here on the verdict is same or slower, after it was faster", .least = 1});
    v("never", [](J json) { return json.row.never; },
      {.meaning = "same or slower at each number of threads"});
  }
};

struct PayoffJson {
  const Payoff& payoff;

  static constexpr const char* kSchemaName = "isa_threads";
  static void Describe(auto& v) {
    using J = const PayoffJson&;
    v("baseline", [](J json) { return json.payoff.baseline; });
    v("candidate", [](J json) { return json.payoff.candidate; });
    v("threads", [](J json) { return json.payoff.threads; }, {.least = 1, .some = true});
    v("interleaved", [](J json) { return json.payoff.interleaved; },
      {.meaning = "false: drift cannot be told from an effect"});
    v("latency", [](J json) { return PayoffRowJson{json.payoff, json.payoff.latency}; });
    v("operators", [](J json) {
      std::vector<PayoffRowJson> rows;
      for (const PayoffRow& row : json.payoff.operators) rows.push_back({json.payoff, row});
      return rows;
    });
  }
};

}  // namespace etprof
