#include "protocol/messages.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <type_traits>

namespace etprof::protocol {
namespace {

using nlohmann::json;

constexpr std::int64_t kAnyInteger = std::numeric_limits<std::int64_t>::min();

[[noreturn]] void Complain(const char* key, std::string_view problem) {
  throw std::invalid_argument(fmt::format("\"{}\" {}", key, problem));
}

std::int64_t IntegerOf(const json& value, const char* key, std::int64_t least, std::int64_t most) {
  if (!value.is_number_integer()) Complain(key, "must be an integer");
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most)) {
    Complain(key, fmt::format("must be at most {}", most));
  }
  const auto number = value.get<std::int64_t>();
  if (number < least) Complain(key, fmt::format("must be at least {}", least));
  if (number > most) Complain(key, fmt::format("must be at most {}", most));
  return number;
}

// Reads the fields of one object. Keys that are missing leave the default; keys that nobody reads are a newer
// peer's.
class Fields {
 public:
  explicit Fields(const json& object) : object_(object) {
    if (!object.is_object()) throw std::invalid_argument("must be a JSON object");
  }

  // `least` is 0 for a count or a duration, -1 where -1 says "unknown".
  template <typename Integer>
  void Integers(const char* key, Integer& field, std::int64_t least = 0) const
    requires std::is_signed_v<Integer>
  {
    if (const json* value = Find(key)) {
      field = static_cast<Integer>(IntegerOf(*value, key, least, std::numeric_limits<Integer>::max()));
    }
  }
  void Unsigned(const char* key, std::uint64_t& field) const {
    if (const json* value = Find(key)) {
      if (!value->is_number_integer() || (!value->is_number_unsigned() && value->get<std::int64_t>() < 0)) {
        Complain(key, "must be an integer of at least 0");
      }
      field = value->get<std::uint64_t>();
    }
  }
  void Integers(const char* key, std::vector<std::int64_t>& field, std::int64_t least = 0) const {
    if (const json* value = Array(key)) {
      std::vector<std::int64_t> read;
      for (const json& element : *value) {
        read.push_back(IntegerOf(element, key, least, std::numeric_limits<std::int64_t>::max()));
      }
      field = std::move(read);
    }
  }
  void Text(const char* key, std::string& field) const {
    if (const json* value = Find(key)) {
      if (!value->is_string()) Complain(key, "must be a string");
      field = value->get<std::string>();
    }
  }
  void Texts(const char* key, std::vector<std::string>& field) const {
    if (const json* value = Array(key)) {
      std::vector<std::string> read;
      for (const json& element : *value) {
        if (!element.is_string()) Complain(key, "must hold strings only");
        read.push_back(element.get<std::string>());
      }
      field = std::move(read);
    }
  }
  void Flag(const char* key, bool& field) const {
    if (const json* value = Find(key)) {
      if (!value->is_boolean()) Complain(key, "must be true or false");
      field = value->get<bool>();
    }
  }
  void Number(const char* key, double& field) const {
    if (const json* value = Find(key)) {
      if (!value->is_number()) Complain(key, "must be a number");
      field = value->get<double>();
    }
  }
  void Number(const char* key, std::optional<double>& field) const {  // null is "absent"
    if (const json* value = Find(key)) {
      if (value->is_null()) {
        field.reset();
        return;
      }
      if (!value->is_number()) Complain(key, "must be a number or null");
      field = value->get<double>();
    }
  }
  template <typename Object>
  void Nested(const char* key, Object& field) const {
    if (const json* value = Find(key)) field = Within<Object>(*value, key);
  }
  template <typename Object>
  void Nested(const char* key, std::optional<Object>& field) const {
    if (const json* value = Find(key)) {
      field = value->is_null() ? std::nullopt : std::optional<Object>(Within<Object>(*value, key));
    }
  }
  template <typename Object>
  void Nested(const char* key, std::vector<Object>& field) const {
    if (const json* value = Array(key)) {
      std::vector<Object> read;
      for (const json& element : *value) read.push_back(Within<Object>(element, key));
      field = std::move(read);
    }
  }

 private:
  const json* Find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  const json* Array(const char* key) const {
    const json* value = Find(key);
    if (value != nullptr && !value->is_array()) Complain(key, "must be an array");
    return value;
  }
  template <typename Object>
  static Object Within(const json& value, const char* key) {
    try {
      Object object;
      from_json(value, object);
      return object;
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("in \"{}\": {}", key, error.what()));
    }
  }

  const json& object_;
};

json OrNull(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

}  // namespace

void to_json(json& j, const IsaState& v) {
  j = {{"detected", v.detected},
       {"masked", v.masked},
       {"enabled", v.enabled},
       {"can_mask", v.can_mask},
       {"why_not", v.why_not}};
}
void from_json(const json& j, IsaState& v) {
  const Fields fields(j);
  fields.Texts("detected", v.detected);
  fields.Texts("masked", v.masked);
  fields.Texts("enabled", v.enabled);
  fields.Flag("can_mask", v.can_mask);
  fields.Text("why_not", v.why_not);
}

void to_json(json& j, const Clocks& v) {
  j = {{"monotonic_ns", v.monotonic_ns}, {"boottime_ns", v.boottime_ns}, {"realtime_ns", v.realtime_ns}};
}
void from_json(const json& j, Clocks& v) {
  const Fields fields(j);
  fields.Integers("monotonic_ns", v.monotonic_ns);
  fields.Integers("boottime_ns", v.boottime_ns);
  fields.Integers("realtime_ns", v.realtime_ns, kAnyInteger);  // a board without a battery may be before 1970
}

void to_json(json& j, const Ready& v) {
  j = {{"protocol", v.protocol},
       {"runner_version", v.runner_version},
       {"executorch_version", v.executorch_version},
       {"operator_clock", v.operator_clock},
       {"wait_source", v.wait_source},
       {"threads", v.threads},
       {"pid", v.pid},
       {"isa", v.isa},
       {"clocks", v.clocks},
       {"cpu_model", v.cpu_model}};
}
void from_json(const json& j, Ready& v) {
  const Fields fields(j);
  fields.Integers("protocol", v.protocol);
  fields.Text("runner_version", v.runner_version);
  fields.Text("executorch_version", v.executorch_version);
  fields.Text("operator_clock", v.operator_clock);
  fields.Text("wait_source", v.wait_source);
  fields.Integers("threads", v.threads);
  fields.Integers("pid", v.pid);
  fields.Nested("isa", v.isa);
  fields.Nested("clocks", v.clocks);
  fields.Text("cpu_model", v.cpu_model);
}

void to_json(json& j, const InputSpec& v) { j = {{"kind", v.kind}, {"paths", v.paths}, {"seed", v.seed}}; }
void from_json(const json& j, InputSpec& v) {
  const Fields fields(j);
  fields.Text("kind", v.kind);
  fields.Texts("paths", v.paths);
  fields.Unsigned("seed", v.seed);
}

void to_json(json& j, const LoadRequest& v) {
  j = {{"model", v.model}, {"data", v.data}, {"method", v.method}};
  if (v.inputs) j["inputs"] = *v.inputs;
}
void from_json(const json& j, LoadRequest& v) {
  const Fields fields(j);
  fields.Text("model", v.model);
  fields.Text("data", v.data);
  fields.Text("method", v.method);
  fields.Nested("inputs", v.inputs);
}

void to_json(json& j, const TensorInfo& v) { j = {{"dtype", v.dtype}, {"shape", v.shape}}; }
void from_json(const json& j, TensorInfo& v) {
  const Fields fields(j);
  fields.Text("dtype", v.dtype);
  fields.Integers("shape", v.shape);
}

void to_json(json& j, const LoadReply& v) {
  j = {{"load_ns", v.load_ns},   {"load_wait_ns", v.load_wait_ns}, {"inputs", v.inputs},
       {"outputs", v.outputs},   {"backends", v.backends},         {"inputs_from", v.inputs_from},
       {"warnings", v.warnings}, {"rss_bytes", v.rss_bytes}};
}
void from_json(const json& j, LoadReply& v) {
  const Fields fields(j);
  fields.Integers("load_ns", v.load_ns);
  fields.Integers("load_wait_ns", v.load_wait_ns, -1);
  fields.Nested("inputs", v.inputs);
  fields.Nested("outputs", v.outputs);
  fields.Texts("backends", v.backends);
  fields.Text("inputs_from", v.inputs_from);
  fields.Texts("warnings", v.warnings);
  fields.Integers("rss_bytes", v.rss_bytes);
}

void to_json(json& j, const BurstRequest& v) {
  j = {{"min_opening", v.min_opening}, {"max_opening", v.max_opening}, {"min_runs", v.min_runs},
       {"target_ns", v.target_ns},     {"max_runs", v.max_runs},       {"traced_runs", v.traced_runs},
       {"period_ns", v.period_ns}};
}
void from_json(const json& j, BurstRequest& v) {
  const Fields fields(j);
  fields.Integers("min_opening", v.min_opening);
  fields.Integers("max_opening", v.max_opening);
  fields.Integers("min_runs", v.min_runs);
  fields.Integers("target_ns", v.target_ns);
  fields.Integers("max_runs", v.max_runs);
  fields.Integers("traced_runs", v.traced_runs);
  fields.Integers("period_ns", v.period_ns);
}

void to_json(json& j, const BurstReply& v) {
  j = {{"opening_ns", v.opening_ns},
       {"untraced_ns", v.untraced_ns},
       {"traced_ns", v.traced_ns},
       {"level", v.level},
       {"first_run_traced", v.first_run_traced},
       {"start_ns", v.start_ns},
       {"end_ns", v.end_ns},
       {"cpu_time_ns", v.cpu_time_ns},
       {"cpu_start", v.cpu_start},
       {"cpu_end", v.cpu_end},
       {"migrations", v.migrations},
       {"involuntary_switches", v.involuntary_switches},
       {"frequency_khz", v.frequency_khz},
       {"frequency_cap_khz", v.frequency_cap_khz},
       {"temperature_millidegrees", v.temperature_millidegrees},
       {"load_average", v.load_average},
       {"peak_rss_bytes", v.peak_rss_bytes},
       {"opening_wait_ns", v.opening_wait_ns},
       {"untraced_wait_ns", v.untraced_wait_ns},
       {"traced_wait_ns", v.traced_wait_ns},
       {"untraced_cpu_ns", v.untraced_cpu_ns},
       {"thread_cpu_ns", v.thread_cpu_ns},
       {"steal_ns", v.steal_ns},
       {"throttled_ns", v.throttled_ns},
       {"frequency_start_khz", v.frequency_start_khz}};
}
void from_json(const json& j, BurstReply& v) {
  const Fields fields(j);
  fields.Integers("opening_ns", v.opening_ns);
  fields.Integers("untraced_ns", v.untraced_ns);
  fields.Integers("traced_ns", v.traced_ns);
  fields.Flag("level", v.level);
  fields.Flag("first_run_traced", v.first_run_traced);
  fields.Integers("start_ns", v.start_ns);
  fields.Integers("end_ns", v.end_ns);
  fields.Integers("cpu_time_ns", v.cpu_time_ns);
  fields.Integers("cpu_start", v.cpu_start, -1);
  fields.Integers("cpu_end", v.cpu_end, -1);
  fields.Integers("migrations", v.migrations, -1);
  fields.Integers("involuntary_switches", v.involuntary_switches, -1);
  fields.Integers("frequency_khz", v.frequency_khz, -1);
  fields.Integers("frequency_cap_khz", v.frequency_cap_khz, -1);
  fields.Integers("temperature_millidegrees", v.temperature_millidegrees, kAnyInteger);  // below zero is real
  fields.Number("load_average", v.load_average);
  fields.Integers("peak_rss_bytes", v.peak_rss_bytes);
  fields.Integers("opening_wait_ns", v.opening_wait_ns);
  fields.Integers("untraced_wait_ns", v.untraced_wait_ns);
  fields.Integers("traced_wait_ns", v.traced_wait_ns);
  fields.Integers("untraced_cpu_ns", v.untraced_cpu_ns);
  fields.Integers("thread_cpu_ns", v.thread_cpu_ns);
  fields.Integers("steal_ns", v.steal_ns, -1);
  fields.Integers("throttled_ns", v.throttled_ns, -1);
  fields.Integers("frequency_start_khz", v.frequency_start_khz, -1);
}

void to_json(json& j, const OutputDigest& v) {
  j = {{"info", v.info},          {"sha256", v.sha256},     {"min", OrNull(v.min)},
       {"max", OrNull(v.max)},    {"mean", OrNull(v.mean)}, {"nan_count", v.nan_count},
       {"inf_count", v.inf_count}};
}
void from_json(const json& j, OutputDigest& v) {
  const Fields fields(j);
  fields.Nested("info", v.info);
  fields.Text("sha256", v.sha256);
  fields.Number("min", v.min);
  fields.Number("max", v.max);
  fields.Number("mean", v.mean);
  fields.Integers("nan_count", v.nan_count);
  fields.Integers("inf_count", v.inf_count);
}

void to_json(json& j, const OutputsRequest& v) { j = {{"save_to", v.save_to}}; }
void from_json(const json& j, OutputsRequest& v) { Fields(j).Text("save_to", v.save_to); }

void to_json(json& j, const OutputsReply& v) { j = {{"outputs", v.outputs}}; }
void from_json(const json& j, OutputsReply& v) { Fields(j).Nested("outputs", v.outputs); }

void to_json(json& j, const EtdumpRequest& v) { j = {{"path", v.path}}; }
void from_json(const json& j, EtdumpRequest& v) { Fields(j).Text("path", v.path); }

void to_json(json& j, const EtdumpReply& v) { j = {{"blocks", v.blocks}, {"bytes", v.bytes}}; }
void from_json(const json& j, EtdumpReply& v) {
  const Fields fields(j);
  fields.Integers("blocks", v.blocks);
  fields.Integers("bytes", v.bytes);
}

void to_json(json& j, const MemoryReply& v) {
  j = {{"rss_bytes", v.rss_bytes}, {"peak_rss_bytes", v.peak_rss_bytes}};
}
void from_json(const json& j, MemoryReply& v) {
  const Fields fields(j);
  fields.Integers("rss_bytes", v.rss_bytes);
  fields.Integers("peak_rss_bytes", v.peak_rss_bytes);
}

}  // namespace etprof::protocol
