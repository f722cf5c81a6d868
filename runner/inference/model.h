#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "inference/inputs.h"
#include "protocol/messages.h"
#include "timing/tracer.h"

namespace etprof::runner {

// A loaded method with its inputs, ready to run. The load is traced; afterwards tracing is off until
// SetTracing(true).
class Model {
 public:
  // Throws Error (kBadInput) for a file that is missing, of another format, truncated, or damaged, an unknown
  // method, and inputs that do not fit; Error (kDeviceFailed) for operators and backends that are not
  // registered, with their names and a remedy.
  explicit Model(const protocol::LoadRequest& request);
  ~Model();
  Model(Model&&) = delete;

  // Call before every run, since the method does not keep its inputs.
  void GiveInputs();
  // Runs the method once and returns the wall time of Method::execute in ns. Throws Error (kDeviceFailed) if
  // ExecuTorch reports an error.
  std::int64_t Run();

  void SetTracing(bool on);
  OperatorTracer& tracer();
  const executorch::runtime::Method& method() const;
  // The arenas of the program's planned memory: begin and size in bytes.
  std::vector<std::pair<const void*, std::size_t>> PlannedMemory() const;
  // Whether the path is one of the model's files.
  bool IsFile(const std::string& path) const;

  // Parts of the load time, ns: opening, mapping, and verifying the program; allocating planned memory.
  std::int64_t program_ns() const { return program_ns_; }
  std::int64_t plan_ns() const { return plan_ns_; }

  bool has_run() const { return has_run_; }
  const protocol::LoadReply& description() const { return description_; }
  const std::string& method_name() const { return method_name_; }

 private:
  class Loaded;
  std::unique_ptr<Loaded> loaded_;
  executorch::runtime::Method* method_ = nullptr;
  Inputs inputs_;
  protocol::LoadReply description_;
  std::string path_;
  std::string data_path_;
  std::string method_name_;
  std::int64_t program_ns_ = 0, plan_ns_ = 0;
  bool has_run_ = false;
};

}  // namespace etprof::runner
