#pragma once

#include <executorch/runtime/executor/method.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/messages.h"

namespace etprof::runner {

// The inputs of one method, kept for many runs.
class Inputs {
 public:
  // Makes them as `spec` says; without one from `<model>.inputs` where that file exists, else seeded random
  // numbers.
  //   saved   a safetensors file written at export: tensor i of method m is named "m/i", row-major; what is
  //   not a tensor
  //           stands in its metadata under the same kind of name, as JSON {"type": "int", "value": 3} (types
  //           int, double, bool, string, none); metadata "format" is "etprof-inputs-1". Shapes may be smaller
  //           than the method's bounds.
  //   files   one file of raw bytes per tensor, in memory order, of exactly the tensor's size
  //   ones    every element 1 (or true)
  //   random  from `seed`, the same numbers on every machine: floats of mean 0 and variance 1 (the sum of 12
  //   uniform numbers
  //           less 6), bytes over their whole range, wider integers 0 or 1 (a valid index wherever a
  //           dimension has two entries, and a valid mask), booleans even
  // What is not a tensor is fixed in a program at export; without a saved value the program's own is used.
  // Throws Error (kBadInput) naming the input that does not fit, and how.
  static Inputs Make(const executorch::runtime::Method& method, const std::string& model,
                     const std::optional<protocol::InputSpec>& spec);

  // Gives them to the method, before a run. Every run begins so: inputs that the memory plan holds are copied
  // into memory that later operators may reuse, and the others are restored first, since a program may write
  // its inputs. Throws Error (kBadInput) when the method refuses one.
  void GiveTo(executorch::runtime::Method& method);

  const std::vector<protocol::TensorInfo>& infos() const { return infos_; }
  const std::string& from() const { return from_; }  // "saved FILE", "random, seed 1", ...
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Input;
  std::vector<std::shared_ptr<Input>> inputs_;
  std::vector<protocol::TensorInfo> infos_;
  std::string from_;
  std::vector<std::string> warnings_;
};

}  // namespace etprof::runner
