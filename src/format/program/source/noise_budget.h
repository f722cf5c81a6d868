#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"

// The contents of MODEL.pte.accuracy.json, which `etprof accuracy` (python/etprof/accuracy.py) writes next to
// a program that is quantized or in fp16: the share of each value in the noise of the outputs, and the
// results of the operators on the device.
namespace etprof {

// A quantized value and its effect on the noise of an output.
struct QuantizedValue {
  std::string name;                  // name of the node in the exported graph
  std::string kind;                  // "weight", "activation"
  std::string op;                    // operator that computes the value, or that reads the weight
  std::string module, source;        // "": the model itself; unknown
  std::optional<double> share;       // share of the output's noise
  std::optional<double> sqnr_db;     // SQNR of the output, with only this value quantized
  std::optional<double> clipped;     // share of the elements outside the range
  std::optional<double> low, high;   // bounds of the range
  std::vector<std::string> readers;  // names of the nodes that read the value

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
       .min = 0});
    v("sqnr_db", &Q::sqnr_db,
      {.meaning = "of the output, with this value alone quantized; null: nothing differs",
       .min = kNoMinimum});
    v("clipped", &Q::clipped,
      {.meaning = "share of its elements beyond its range; null: it has no fixed range", .min = 0, .max = 1});
    v("low", &Q::low,
      {.meaning = "of its range; null: found in every run, or by channel", .min = kNoMinimum});
    v("high", &Q::high, {.meaning = "of its range; null: as `low`", .min = kNoMinimum});
    v("readers", &Q::readers, {.meaning = "nodes that read it"});
  }
};

// The noise of one output of a method, by quantized value.
struct OutputBudget {
  std::string method;
  std::int64_t output = 0;
  std::int64_t inputs = 0;                  // number of inputs over which the noise is summed
  bool held_out = false;                    // no value was calibrated on these inputs
  std::optional<double> sqnr_db;            // SQNR with all values quantized, emulated
  std::optional<double> device_sqnr_db;     // SQNR measured with the .pte
  std::optional<double> interaction;        // share of the noise that no single value causes
  std::int64_t values_with_half_noise = 0;  // number of values that cause half of the noise
  bool concentrated = false;                // at most three values cause half of the noise
  std::string device_problem;               // why the .pte has no ratio; "": nothing differs, or not known
  std::vector<std::string> not_finite;      // values that make elements of the output NaN or infinite
  std::vector<QuantizedValue> values;       // by descending noise

  static constexpr const char* kSchemaName = "output_budget";
  static void Describe(auto& v) {
    using O = OutputBudget;
    v("method", &O::method, {.meaning = "of the program"});
    v("output", &O::output, {.meaning = "its number, from 0"});
    v("inputs", &O::inputs, {.meaning = "over which noise is summed"});
    v("held_out", &O::held_out, {.meaning = "whether no range was taken from these inputs"});
    v("sqnr_db", &O::sqnr_db,
      {.meaning = "with all values quantized, as emulated; null: nothing differs", .min = kNoMinimum});
    v("device_sqnr_db", &O::device_sqnr_db,
      {.meaning =
           "of the .pte, the worst of these inputs; null: nothing differs, or as `device_problem` says",
       .min = kNoMinimum});
    v("interaction", &O::interaction,
      {.meaning = "share of the noise that single values do not add up to; null: there is no noise",
       .min = kNoMinimum});
    v("values_of_half", &O::values_with_half_noise, {.meaning = "values that have half of the noise"});
    v("concentrated", &O::concentrated,
      {.meaning = "whether they are at most three; else the noise is diffuse"});
    v("device_problem", &O::device_problem,
      {.meaning =
           "why the .pte has no ratio, such as NaN that PyTorch does not give; empty: it has, or nothing "
           "differs",
       .omit_if_empty = true});
    v("not_finite", &O::not_finite,
      {.meaning = "values that alone make elements of the output NaN or infinite, which count as off by the "
                  "output's largest magnitude",
       .omit_if_empty = true});
    v("values", &O::values, {.meaning = "those with the most noise first"});
  }
};

// An operator's result on the device, compared with PyTorch's result for the same node in the same type.
struct DeviceOperator {
  std::string method, key, name, module, source;
  std::optional<double> sqnr_db;
  bool deviates = false;  // the result has too much noise, or only one of the two results is finite
  std::string note;       // the reason why it was not compared; "": it was compared

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
       .min = kNoMinimum});
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
  double min_db = 0;
  std::vector<DeviceOperator> operators;
  std::string no_operators_reason;  // the reason why no operator was compared; "": operators were compared

  // The first operator whose result deviates from PyTorch's; null if no operator does.
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
    v("least_db", &N::min_db,
      {.meaning = "asked of `operators`: what an output of the program must have", .min = 0});
    v("operators", &N::operators,
      {.meaning = "of the .pte on the example inputs, in the order of execution; empty: they were not read"});
    v("operators_why_not", &N::no_operators_reason,
      {.meaning = "why no operator was read; empty: they were"});
  }
};

// Reads the noise budget of the program with this SHA-256 from the file next to it. Absent if there is no
// such file, or if it belongs to another program. Throws Error (kBadInput) if the file is damaged.
std::optional<NoiseBudget> ReadNoiseBudget(const std::filesystem::path& pte, const std::string& sha256);

}  // namespace etprof
