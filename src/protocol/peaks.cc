#include "protocol/peaks.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace etprof::protocol {
namespace {

using nlohmann::json;

// {"macs_per_s": best, "median_macs_per_s": ..., "worst_macs_per_s": ..., "tries": n}
void Write(json& object, const std::string& unit, const Rate& rate) {
  object[unit] = rate.best;
  object["median_" + unit] = rate.median;
  object["worst_" + unit] = rate.worst;
  object["tries"] = rate.tries;
}

double Positive(const json& object, const std::string& key) {
  const double value = object.at(key).get<double>();
  if (!std::isfinite(value) || value < 0) throw std::invalid_argument(key + " is no rate");
  return value;
}

Rate ReadRate(const json& object, const std::string& unit) {
  Rate rate{Positive(object, unit), Positive(object, "median_" + unit), Positive(object, "worst_" + unit),
            object.at("tries").get<int>()};
  if (rate.tries < 1) throw std::invalid_argument("tries is below 1");
  return rate;
}

std::int64_t Size(const json& value, const char* key) {
  const auto bytes = value.get<std::int64_t>();
  if (bytes < 1) throw std::invalid_argument(std::string(key) + " is below 1");
  return bytes;
}

}  // namespace

void to_json(json& object, const ComputePeak& value) {
  object = {{"level", value.level}, {"dtype", value.dtype}, {"instruction", value.instruction}};
  Write(object, "macs_per_s", value.macs);
}

void from_json(const json& object, ComputePeak& value) {
  object.at("level").get_to(value.level);
  object.at("dtype").get_to(value.dtype);
  object.at("instruction").get_to(value.instruction);
  value.macs = ReadRate(object, "macs_per_s");
}

void to_json(json& object, const MemoryPeak& value) {
  object = {{"level", value.level},
            {"access", value.access},
            {"working_set_bytes", value.working_set_bytes},
            {"capacity_bytes", value.capacity_bytes ? json(*value.capacity_bytes) : json()}};
  Write(object, "bytes_per_s", value.bytes);
}

void from_json(const json& object, MemoryPeak& value) {
  object.at("level").get_to(value.level);
  object.at("access").get_to(value.access);
  value.working_set_bytes = Size(object.at("working_set_bytes"), "working_set_bytes");
  const json& capacity = object.at("capacity_bytes");
  value.capacity_bytes.reset();
  if (!capacity.is_null()) value.capacity_bytes = Size(capacity, "capacity_bytes");
  value.bytes = ReadRate(object, "bytes_per_s");
}

void to_json(json& object, const Peaks& value) {
  object = {{"threads", value.threads},     {"cpus", value.cpus},         {"isa", value.isa},
            {"isa_state", value.isa_state}, {"clock_hz", value.clock_hz}, {"took_ns", value.took_ns},
            {"compute", value.compute},     {"memory", value.memory}};
}

void from_json(const json& object, Peaks& value) {
  object.at("threads").get_to(value.threads);
  if (value.threads < 1) throw std::invalid_argument("threads is below 1");
  object.at("cpus").get_to(value.cpus);
  object.at("isa").get_to(value.isa);
  object.at("isa_state").get_to(value.isa_state);
  value.clock_hz = Positive(object, "clock_hz");
  object.at("took_ns").get_to(value.took_ns);
  object.at("compute").get_to(value.compute);
  object.at("memory").get_to(value.memory);
}

}  // namespace etprof::protocol
