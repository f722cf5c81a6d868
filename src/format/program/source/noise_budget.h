#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"

// MODEL.pte.accuracy.json beside a program that is quantized or in fp16: which values make the noise of its
// outputs, and what its operators compute on the device. `etprof accuracy` writes it
// (python/etprof/accuracy.py).
namespace etprof {

struct QuantizedValue {
  std::string name;                  // of the node of the exported graph
  std::string kind;                  // "weight", "activation"
  std::string op;                    // that makes it; of a weight the one that reads it
  std::string module, source;        // "": the model itself, not known
  std::optional<double> share;       // of the output's noise
  std::optional<double> sqnr_db;     // with this value alone quantized
  std::optional<double> clipped;     // share of its elements beyond its range
  std::optional<double> low, high;   // of its range
  std::vector<std::string> readers;  // nodes

  static constexpr const char* kSchemaName = "quantized_value";
  static void Describe(auto& v) {
    using Q = QuantizedValue;
    v("value", &Q::name, {.meaning = "its node in the exported graph"});
    v("kind", &Q::kind, {.meaning = "what is quantized", .choices = "weight|activation"});
    v("operator", &Q::op, {.meaning = "that makes it, or reads it if it is a weight"});
    v("module", &Q::module, {.meaning = "of that operator; empty: the model itself"});
    v("source", &Q::source, {.meaning = "line of that operator; empty: not known"});
    v("share", &Q::share,
      {.meaning = "of the output's noise, with this value alone quantized; null: there is no noise",
       .least = 0});
    v("sqnr_db", &Q::sqnr_db,
      {.meaning = "of the output, with this value alone quantized; null: nothing differs",
       .least = kAnyNumber});
    v("clipped", &Q::clipped,
      {.meaning = "share of its elements beyond its range; null: it has no fixed range",
       .least = 0,
       .most = 1});
    v("low", &Q::low,
      {.meaning = "of its range; null: found in every run, or by channel", .least = kAnyNumber});
    v("high", &Q::high, {.meaning = "of its range; null: as `low`", .least = kAnyNumber});
    v("readers", &Q::readers, {.meaning = "nodes that read it"});
  }
};

struct OutputBudget {
  std::string method;
  std::int64_t output = 0;
  std::int64_t inputs = 0;               // that the noise is summed over
  bool held_out = false;                 // no value was calibrated on them
  std::optional<double> sqnr_db;         // emulated, all values quantized
  std::optional<double> device_sqnr_db;  // of the .pte on these inputs
  std::optional<double> interaction;     // share of the noise that is no single value's
  std::int64_t values_of_half = 0;       // so many values have half of the noise
  bool concentrated = false;
  std::vector<QuantizedValue> values;  // those with the most noise first

  static constexpr const char* kSchemaName = "output_budget";
  static void Describe(auto& v) {
    using O = OutputBudget;
    v("method", &O::method, {.meaning = "of the program"});
    v("output", &O::output, {.meaning = "its number, from 0"});
    v("inputs", &O::inputs, {.meaning = "over which noise is summed"});
    v("held_out", &O::held_out, {.meaning = "whether no range was taken from these inputs"});
    v("sqnr_db", &O::sqnr_db,
      {.meaning = "with all values quantized, as emulated; null: nothing differs", .least = kAnyNumber});
    v("device_sqnr_db", &O::device_sqnr_db,
      {.meaning = "of the .pte, the worst of these inputs; null: it was not run, or nothing differs",
       .least = kAnyNumber});
    v("interaction", &O::interaction,
      {.meaning = "share of the noise that single values do not add up to; null: there is no noise",
       .least = kAnyNumber});
    v("values_of_half", &O::values_of_half, {.meaning = "values that have half of the noise"});
    v("concentrated", &O::concentrated,
      {.meaning = "whether they are at most three; else the noise is diffuse"});
    v("values", &O::values, {.meaning = "those with the most noise first"});
  }
};

// An operator's value on the device, against PyTorch's of the same node and in the same type.
struct DeviceOperator {
  std::string method, key, name, module, source;
  std::optional<double> sqnr_db;
  bool deviates = false;
  std::string note;  // why it was not compared; "": it was

  static constexpr const char* kSchemaName = "device_operator";
  static void Describe(auto& v) {
    using D = DeviceOperator;
    v("method", &D::method, {.meaning = "of the program"});
    v("key", &D::key, {.meaning = "as `node_id` of timelines"});
    v("operator", &D::name, {.meaning = "as in traces"});
    v("module", &D::module,
      {.meaning = "path of the innermost module; empty: the model itself, or not known"});
    v("source", &D::source, {.meaning = "line of the operator; empty: not known"});
    v("sqnr_db", &D::sqnr_db,
      {.meaning = "PyTorch's power over that of the difference; null: nothing differs, or see `note`",
       .least = kAnyNumber});
    v("leaves", &D::deviates,
      {.meaning =
           "whether it has less than `least_db`, or an element that is finite in one of the two only"});
    v("note", &D::note, {.meaning = "why it was not compared; empty: it was"});
  }
};

struct NoiseBudget {
  std::int64_t schema_version = 1;
  std::string model, pte, pte_sha256, quantization;
  std::vector<OutputBudget> budgets;
  double least_db = 0;
  std::vector<DeviceOperator> operators;
  std::string no_operators_reason;

  // The first operator whose value leaves PyTorch's; null: none does.
  const DeviceOperator* FindFirstDeviation() const;

  static constexpr bool kRequiresAllKeys = true;
  static void Describe(auto& v) {
    using N = NoiseBudget;
    v("schema_version", &N::schema_version, {.meaning = "keys may be added under the same number"});
    v("model", &N::model, {.meaning = "as it was asked for"});
    v("pte", &N::pte, {.meaning = "file name of the program"});
    v("pte_sha256", &N::pte_sha256, {.meaning = "of the program: another one has another budget"});
    v("quantization", &N::quantization,
      {.meaning = "of the program", .choices = "static|dynamic|8da4w|fp16"});
    v("budgets", &N::budgets, {.meaning = "one for each floating-point output of each method"});
    v("least_db", &N::least_db,
      {.meaning = "asked of `operators`: what an output of the program must have", .least = 0});
    v("operators", &N::operators,
      {.meaning = "of the .pte on the example inputs, in the order of execution; empty: they were not read"});
    v("operators_why_not", &N::no_operators_reason,
      {.meaning = "why no operator was read; empty: they were"});
  }
};

// Of the program with this SHA-256, from the file next to it; absent where there is none, or it is of another
// program. Throws Error (kBadInput) for a damaged one.
std::optional<NoiseBudget> ReadNoiseBudget(const std::filesystem::path& pte, const std::string& sha256);

}  // namespace etprof
