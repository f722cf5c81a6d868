#include "protocol/counters.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace etprof::protocol {
namespace {

using nlohmann::json;

template <typename T>
T Count(const json& object, const char* key, T fallback) {
  const T value = object.value(key, fallback);
  if (value < 0) throw std::invalid_argument(std::string(key) + " is negative");
  return value;
}

}  // namespace

void to_json(json& object, const CountersRequest& value) {
  object = {{"warmup", value.warmup}, {"runs", value.runs}};
}

void from_json(const json& object, CountersRequest& value) {
  value.warmup = Count(object, "warmup", value.warmup);
  value.runs = Count(object, "runs", value.runs);
}

void to_json(json& object, const CountersReply& value) {
  object = {
      {"runs", value.runs},        {"threads", value.threads}, {"unmatched_calls", value.unmatched_calls},
      {"counters", json::array()}, {"closed", json::array()},  {"operators", json::array()}};
  for (const OpenCounter& one : value.counters)
    object["counters"].push_back({{"name", one.name}, {"user_only", one.user_only}, {"share", one.share}});
  for (const ClosedCounter& one : value.closed)
    object["closed"].push_back({{"name", one.name}, {"why", one.why}});
  for (const OperatorCounts& one : value.operators) {
    object["operators"].push_back({{"chain", one.chain},
                                   {"instruction", one.instruction},
                                   {"kind", one.kind},
                                   {"ordinal", one.ordinal},
                                   {"occurrence", one.occurrence},
                                   {"name", one.name},
                                   {"runs", one.runs},
                                   {"means", one.means}});
  }
}

void from_json(const json& object, CountersReply& value) {
  value = {};
  value.runs = Count(object, "runs", 0);
  value.threads = Count(object, "threads", 0);
  value.unmatched_calls = Count<std::int64_t>(object, "unmatched_calls", 0);
  for (const json& one : object.at("counters")) {
    value.counters.push_back(
        {one.at("name").get<std::string>(), one.at("user_only").get<bool>(), one.at("share").get<double>()});
  }
  for (const json& one : object.at("closed"))
    value.closed.push_back({one.at("name").get<std::string>(), one.at("why").get<std::string>()});
  for (const json& one : object.at("operators")) {
    OperatorCounts counts;
    one.at("chain").get_to(counts.chain);
    one.at("instruction").get_to(counts.instruction);
    one.at("kind").get_to(counts.kind);
    one.at("ordinal").get_to(counts.ordinal);
    one.at("occurrence").get_to(counts.occurrence);
    one.at("name").get_to(counts.name);
    counts.runs = Count<std::int64_t>(one, "runs", 0);
    one.at("means").get_to(counts.means);
    if (counts.means.size() != value.counters.size())
      throw std::invalid_argument("an operator has not as many means as there are counters");
    for (const double mean : counts.means) {
      if (!std::isfinite(mean)) throw std::invalid_argument("a mean is no number");
    }
    value.operators.push_back(std::move(counts));
  }
}

}  // namespace etprof::protocol
