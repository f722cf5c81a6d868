#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "inference/inputs.h"
#include "inference/saved_state.h"
#include "protocol/messages.h"
#include "timing/tracer.h"

namespace etprof::runner {

// A loaded method with its inputs, ready to run. The load is traced; afterwards tracing is off until
// SetTracing(true). A Model may have several methods of the program, one of which is selected. They share
// their state if the program was exported so.
class Model {
 public:
  // Throws Error (kBadInput) for a file that is missing, of another format, truncated, or damaged, an unknown
  // method, and inputs that do not fit; Error (kDeviceFailed) for operators and backends that are not
  // registered, with their names and a remedy.
  explicit Model(const protocol::LoadRequest& request);
  ~Model();
  Model(Model&&) = delete;

  // Sets the inputs. Call before every run, since the method does not keep its inputs. Also restores the
  // saved state, if there is one.
  void SetInputs();
  // Runs the method once and returns the wall time of Method::execute in ns. Throws Error (kDeviceFailed) if
  // ExecuTorch reports an error.
  std::int64_t Run();

  void SetTracing(bool on);
  // The tracer of the runs. SelectTracer selects one tracer per key; the first key uses the tracer that also
  // traced the load.
  OperatorTracer& tracer() { return *tracer_; }
  void SelectTracer(const protocol::StepPlace& key);
  const executorch::runtime::Method& method() const;
  const executorch::runtime::Method& method(const std::string& name) const;
  // The arenas of the program's planned memory: begin and size in bytes.
  std::vector<std::pair<const void*, std::size_t>> PlannedMemory() const;
  // True if the path is one of the model's files.
  bool IsFile(const std::string& path) const;

  // Parts of the load time, ns: opening, mapping, and verifying the program; allocating planned memory.
  std::int64_t program_ns() const { return program_ns_; }
  std::int64_t plan_ns() const { return plan_ns_; }

  // Names of the loaded methods.
  std::vector<std::string> methods() const;
  // Absent if the method is not loaded, or is not a step of a language model.
  std::optional<StepShape> step_shape(const std::string& method) const;
  // Selects the method that all other functions refer to. Throws Error (kUsage) if it is not loaded.
  void Select(const std::string& method);
  // Set the tokens or embeddings of the selected step and their position for the next SetInputs.
  void SetTokens(std::span<const std::int64_t> tokens, std::int64_t position) {
    selected_->inputs.SetTokens(tokens, position);
    step_ = {tokens.size(), position};
  }
  void SetEmbeddings(const Rows& rows, std::int64_t begin, std::int64_t count, std::int64_t position) {
    selected_->inputs.SetEmbeddings(rows, begin, count, position);
    step_ = {static_cast<std::size_t>(count), position};
  }
  // Sets the output of an encoder as an input of all methods that take it.
  void SetFeatures(const Rows& rows);
  bool NeedsFeatures() const;
  // Saves the contents of the planned memory. Call before the first run. Afterwards state() is not null.
  void SaveState();
  SavedState* state() { return state_ ? &*state_ : nullptr; }

  bool has_run() const { return has_run_; }
  // The description of the load, with the method that was selected first.
  const protocol::LoadReply& description() const { return description_; }
  protocol::MethodReply DescribeSelectedMethod() const;
  const std::string& method_name() const { return method_name_; }

 private:
  class ModuleAccess;
  struct LoadedMethod {
    executorch::runtime::Method* method = nullptr;
    Inputs inputs;
  };
  // Loads the libraries of the method's backends, and adds the time of that to `start`, so that it is not
  // part of the load time. Returns the backends' names.
  std::vector<std::string> CheckMethod(const std::string& name, std::int64_t& start);
  void PrepareMethod(const std::string& name, std::optional<protocol::InputSpec> inputs, bool is_only_method);

  struct DestroyModule {
    void operator()(ModuleAccess* module) const;
  };
  std::unique_ptr<ModuleAccess, DestroyModule> module_;
  std::map<std::string, LoadedMethod> methods_;
  LoadedMethod* selected_ = nullptr;
  OperatorTracer* tracer_ = nullptr;
  std::map<protocol::StepPlace, OperatorTracer*> tracers_;
  std::vector<std::unique_ptr<OperatorTracer>>
      extra_tracers_;  // all except the load's tracer, which Module owns
  bool tracing_ = false;
  std::optional<SavedState> state_;
  std::pair<std::size_t, std::int64_t> step_;
  protocol::LoadReply description_;
  std::string path_;
  std::string data_path_;
  std::string method_name_;
  std::int64_t program_ns_ = 0, plan_ns_ = 0;
  bool has_run_ = false;
};

// While an object lives, the model's runs are traced.
class TracingScope {
 public:
  explicit TracingScope(Model& model) : model_(model) { model_.SetTracing(true); }
  ~TracingScope() { model_.SetTracing(false); }
  TracingScope(TracingScope&&) = delete;

 private:
  Model& model_;
};

}  // namespace etprof::runner
