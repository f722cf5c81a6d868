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

// One loaded method with its inputs, ready to run. It is loaded with the tracer attached (the load is
// traced), and then the tracer is off until asked for.
class Model {
 public:
  // Throws Error: (kBadInput) for a file that is missing, foreign, cut short or damaged, an unknown method,
  // inputs that do not fit; (kDeviceFailed) for operators or a backend that nobody registered, by name and
  // with what would provide them.
  explicit Model(const protocol::LoadRequest& request);
  ~Model();
  Model(Model&&) = delete;

  // Before every run: the method forgets its inputs.
  void GiveInputs();
  // One run; returns its wall time in nanoseconds: Method::execute alone. Throws Error (kDeviceFailed) when
  // ExecuTorch reports one.
  std::int64_t Run();

  void SetTracing(bool on);
  OperatorTracer& tracer();
  const executorch::runtime::Method& method() const;
  // The arenas in which the program plans its tensors: where they begin, and bytes.
  std::vector<std::pair<const void*, std::size_t>> PlannedMemory() const;
  // Whether a mapping of this path is one of the model's files.
  bool IsFile(const std::string& path) const;

  // Of the load time: opening, mapping, and verifying the program, and allocating planned memory; ns.
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
