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
// SetTracing(true). More methods of the program may be loaded with it, of
// which one at a time is selected. They share their state if the program was exported so.
class Model {
 public:
  // Throws Error (kBadInput) for a file that is missing, of another format, truncated, or damaged, an unknown
  // method, and inputs that do not fit; Error (kDeviceFailed) for operators and backends that are not
  // registered, with their names and a remedy.
  explicit Model(const protocol::LoadRequest& request);
  ~Model();
  Model(Model&&) = delete;

  // Call before every run, since the method does not keep its inputs. Restores the state, if that is kept.
  void GiveInputs();
  // Runs the method once and returns the wall time of Method::execute in ns. Throws Error (kDeviceFailed) if
  // ExecuTorch reports an error.
  std::int64_t Run();

  void SetTracing(bool on);
  // Where the runs are traced: in one tracer unless TraceInto gives each of several keys one of its own. The
  // first key's is that of the load.
  OperatorTracer& tracer() { return *tracer_; }
  void TraceInto(const protocol::Place& key);
  const executorch::runtime::Method& method() const;
  const executorch::runtime::Method& method(const std::string& name) const;
  // The arenas of the program's planned memory: begin and size in bytes.
  std::vector<std::pair<const void*, std::size_t>> PlannedMemory() const;
  // Whether the path is one of the model's files.
  bool IsFile(const std::string& path) const;

  // Parts of the load time, ns: opening, mapping, and verifying the program; allocating planned memory.
  std::int64_t program_ns() const { return program_ns_; }
  std::int64_t plan_ns() const { return plan_ns_; }

  // Names of the loaded methods, and which of them is a step of a language model. From Select on all that is
  // said and done is of that method. Throws Error (kUsage) for one that is not loaded.
  std::vector<std::string> methods() const;
  std::optional<StepShape> StepOf(const std::string& method) const;
  void Select(const std::string& method);
  // Of a step of a language model: the tokens or their embeddings and where they stand, from the next
  // GiveInputs on.
  void SetStep(std::span<const std::int64_t> tokens, std::int64_t at) {
    selected_->inputs.SetStep(tokens, at);
    step_ = {tokens.size(), at};
  }
  void SetEmbeddings(const Rows& rows, std::int64_t begin, std::int64_t count, std::int64_t at) {
    selected_->inputs.SetEmbeddings(rows, begin, count, at);
    step_ = {static_cast<std::size_t>(count), at};
  }
  // What an encoder gave, to all methods that take it.
  void SetFeatures(const Rows& rows);
  bool NeedsFeatures() const;
  // Saves what the planned memory holds, before anything has run. From then on state() is not null.
  void SaveState();
  SavedState* state() { return state_ ? &*state_ : nullptr; }

  bool has_run() const { return has_run_; }
  // That of the load is of the method that was selected first.
  const protocol::LoadReply& description() const { return description_; }
  protocol::MethodReply DescribeSelected() const;
  const std::string& method_name() const { return method_name_; }

 private:
  class Loaded;
  struct LoadedMethod {
    executorch::runtime::Method* method = nullptr;
    Inputs inputs;
  };
  // Loads the libraries of the method's backends, whose time `start` leaves out. Returns the backends' names.
  std::vector<std::string> CheckMethod(const std::string& name, std::int64_t& start);
  void Prepare(const std::string& name, std::optional<protocol::InputSpec> inputs, bool alone);

  struct DestroyLoaded {
    void operator()(Loaded* loaded) const;
  };
  std::unique_ptr<Loaded, DestroyLoaded> loaded_;
  std::map<std::string, LoadedMethod> methods_;
  LoadedMethod* selected_ = nullptr;
  OperatorTracer* tracer_ = nullptr;
  std::map<protocol::Place, OperatorTracer*> tracers_;
  std::vector<std::unique_ptr<OperatorTracer>> own_tracers_;  // but that of the load, which Module has
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

}  // namespace etprof::runner
