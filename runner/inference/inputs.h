#pragma once

#include <executorch/runtime/executor/method.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocol/messages.h"

namespace etprof::runner {

// The inputs of a method that is a step of a language model: tokens (integers [1, tokens]) or their
// embeddings (real numbers [1, tokens, width]), the position of the first token or of every token, and
// optionally the output of an encoder (real numbers [1, n, width]). A method that takes only tokens computes
// their embeddings.
struct StepShape {
  std::int64_t tokens = 1;  // the maximum number of tokens
  bool dynamic = false;     // the method also takes fewer tokens
  bool has_position_per_token = false;
  bool takes_embeddings = false;  // the method takes embeddings instead of tokens
  std::size_t first = 0;          // index of the input with the tokens or embeddings
  // Indices of the inputs with the position and with an encoder's output; absent: the method has no such
  // input.
  std::optional<std::size_t> position, features;
};

// Rows of real numbers [1, n, width]: an output of one method that is an input of another method.
struct Rows {
  explicit Rows(const executorch::aten::Tensor& tensor);

  executorch::aten::ScalarType type;
  std::int64_t width = 1;
  std::size_t row_bytes = 0;
  std::vector<std::byte> bytes;

  std::int64_t count() const {
    return row_bytes == 0 ? 0 : static_cast<std::int64_t>(bytes.size() / row_bytes);
  }
};

// The inputs of one method, kept for many runs.
class Inputs {
 public:
  // Makes the inputs as `spec` says. Without a spec, uses `<model>.inputs` if that file exists, else seeded
  // random numbers.
  //
  // - saved: a safetensors file written at export. Tensor i of method m is named "m/i", row-major. Inputs
  // that are not tensors are in the metadata under such names, as JSON {"type": "int", "value": 3} (types
  // int, double, bool, string, none). Metadata "format" is "etprof-inputs-1". Shapes may be smaller than the
  // method's bounds.
  // - files: one file of raw bytes per tensor, in memory order, of exactly the tensor's size.
  // - ones: every element is 1 (or true).
  // - random: from `seed`, the same numbers on every machine. Floats have mean 0 and variance 1 (the sum of
  // 12 uniform numbers minus 6), bytes cover their whole range, wider integers are 0 or 1 (a valid index if a
  // dimension has two entries, and a valid mask), booleans are equally likely.
  //
  // The values of inputs that are not tensors are fixed in a program at export; without a saved value the
  // program's own is used. Throws Error (kBadInput) naming the input that does not fit, and how.
  static Inputs Make(const executorch::runtime::Method& method, const std::string& model,
                     const std::optional<protocol::InputSpec>& spec);

  // Sets the method's inputs. Call before every run: inputs in the memory plan are copied into memory that
  // later operators may reuse, and other inputs are restored first, since a program may write its inputs.
  // Throws Error (kBadInput) if the method refuses an input.
  void ApplyTo(executorch::runtime::Method& method);

  // Absent if the method is not a step of a language model.
  const std::optional<StepShape>& step() const { return step_; }
  static std::optional<StepShape> DetectStep(const executorch::runtime::Method& method);
  // Sets the tokens of a step, and the position of the first token.
  void SetTokens(std::span<const std::int64_t> tokens, std::int64_t position);
  // Sets the embeddings of a step to `count` rows from row `begin` on. Throws Error (kBadInput) for rows that
  // do not fit.
  void SetEmbeddings(const Rows& rows, std::int64_t begin, std::int64_t count, std::int64_t position);
  // Sets the encoder's output that a step takes. Throws as SetEmbeddings.
  void SetFeatures(const Rows& rows);
  bool NeedsFeatures() const { return step_ && step_->features && !has_features_; }

  const std::vector<protocol::TensorInfo>& infos() const { return infos_; }
  const std::string& origin() const { return origin_; }  // "saved FILE", "random, seed 1", ...
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Input;
  void SetIntegers(std::size_t input, std::size_t count,
                   const std::function<std::int64_t(std::size_t)>& value);
  void SetPositions(std::size_t count, std::int64_t first);
  void SetRows(std::size_t input, const Rows& rows, std::int64_t begin, std::int64_t count);
  // Updates the tensor and the description of an input whose sizes and data have changed.
  void UpdateTensor(std::size_t input);

  std::vector<std::shared_ptr<Input>> inputs_;
  std::optional<StepShape> step_;
  bool has_features_ = false;
  std::vector<protocol::TensorInfo> infos_;
  std::string origin_;
  std::vector<std::string> warnings_;
};

}  // namespace etprof::runner
