#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "core/error.h"
#include "core/file/sha256.h"
#include "core/tensors/safetensors.h"
#include "inference/boundary_recorder.h"
#include "inference/dtypes.h"
#include "inference/outputs.h"
#include "timing/operator_clock.h"
#include "timing/recording.h"
#include "watch/library.h"
#include "watch/wrapped_calls.h"
#include "worker_commands.h"

namespace etprof::runner {
namespace {

constexpr std::size_t kMaxSetups = 192;  // xnn_setup_* functions; XNNPACK in ExecuTorch's wheel has 116
constexpr std::size_t kSetupArguments = 8;
using SetupArguments = std::span<const CallWord, kSetupArguments>;

// The index of the output among the arguments, from the functions' declarations in XNNPACK's
// include/xnnpack.h and include/experimental.h: after the operator, a workspace if the function has one, and
// the inputs.
std::size_t OutputArgumentIndex(std::string_view function) {
  struct SetupOutput {
    std::string_view prefix;
    std::size_t argument_index;
  };
  static constexpr SetupOutput kSetupOutputs[] = {{"batch_matrix_multiply_nc_q", 5},
                                                  {"batch_matrix_multiply_nc_qs8", 4},
                                                  {"batch_matrix_multiply_nc_qp8", 4},
                                                  {"batch_matrix_multiply_", 4},
                                                  {"binary_elementwise_", 3},
                                                  {"convolution2d_nhwc_", 3},
                                                  {"dynamic_fully_connected_", 5},
                                                  {"reduce_nd", 3},
                                                  {"resize_bilinear2d_nhwc", 3},
                                                  {"rope_", 3},
                                                  {"unpooling2d_", 3}};
  std::size_t longest = 0, argument_index = 2;
  for (const SetupOutput& setup_output : kSetupOutputs) {
    if (setup_output.prefix.size() <= longest || !function.starts_with(setup_output.prefix)) continue;
    longest = setup_output.prefix.size();
    argument_index = setup_output.argument_index;
  }
  return argument_index;
}

constexpr std::string_view kSetupPrefix = "xnn_setup_";
bool IsSetup(std::string_view name) {
  return name.starts_with(kSetupPrefix) && !name.starts_with("xnn_setup_runtime");
}

class ValueReader;
ValueReader* current_reader = nullptr;  // global, since the clock's hook and setup functions take no argument

// Reads the values of one run.
class ValueReader {
 public:
  ValueReader(Model& model, const protocol::ValuesRequest& request)
      : model_(model),
        recorder_(
            1, [this](std::uint64_t* values) { *values = captures_.size(); },
            [this](const BoundaryRecorder::Key& key, const std::string& name, const std::uint64_t* from,
                   const std::uint64_t* to) { AddOperator(key, name, *from, *to); }),
        keeps_elements_(!request.path.empty()) {
    for (const protocol::ValueSize& size : request.sizes) sizes_[size.index] = size;
  }

  void Run() {
    const Recording recording(model_, recorder_);
    struct Hooks {
      explicit Hooks(ValueReader& reader) : tracer(reader.model_.tracer()) {
        current_reader = &reader;
        SetBoundaryHook([] { current_reader->OnBoundary(); });
        tracer.SetValueCallback([&reader](const et::EValue& value) { reader.OnValue(value); });
      }
      ~Hooks() {
        tracer.SetValueCallback(nullptr);
        SetBoundaryHook(nullptr);
        current_reader = nullptr;
      }
      Hooks(Hooks&&) = delete;
      OperatorTracer& tracer;
    };
    model_.SetInputs();
    const Hooks hooks(*this);
    recorder_.BeginRun(/*is_measured=*/true);
    model_.Run();
    recorder_.EndRun();
  }

  // `output` is the index of the output among the arguments.
  void OnSetup(std::size_t output, SetupArguments arguments) {
    if (calls_.empty() || calls_.back().boundaries > 0) calls_.emplace_back();
    std::vector<Setup>& setups = calls_.back().setups;
    const auto known_setup =
        std::ranges::find(setups, arguments[0], [](const Setup& setup) { return setup.arguments[0]; });
    // XNNPACK prepares all copies of a concatenation again for each input of the concatenation.
    for (auto copy = known_setup; copy != setups.end(); ++copy) copy->begin = known_setup->begin;
    if (known_setup != setups.end()) return;
    Setup& setup = setups.emplace_back();
    setup.output = reinterpret_cast<const void*>(arguments[output]);
    std::ranges::copy(arguments, setup.arguments.begin());
    setup.begin = setups.size() - 1;
  }

  // Fills the reply with the values, and with the reasons for values that are not trusted.
  void Fill(protocol::ValuesReply& reply) {
    reply.problem = problem_;
    reply.checked = checked_;
    for (auto& [index, value] : values_) {
      const Capture& capture = captures_[static_cast<std::size_t>(index)];
      if (capture.call) value.problem = FindProblem(calls_[*capture.call], capture);
      value.dtype = capture.dtype;
      if (value.problem.empty()) {
        value.bytes = static_cast<std::int64_t>(capture.bytes);
        value.sha256 = capture.sha256;
        value.stored_elements = capture.kept_elements;
      }
      reply.values.push_back(value);
    }
  }

  void Write(const protocol::ValuesReply& reply, const std::string& path) const {
    std::vector<std::pair<std::string, TensorBytes>> tensors;
    for (const protocol::OperatorValue& value : reply.values) {
      const Capture& capture = captures_[static_cast<std::size_t>(value.index)];
      if (value.stored_elements == 0) continue;
      const auto bytes = static_cast<std::int64_t>(capture.kept_bytes.size());
      tensors.emplace_back(std::to_string(value.index), TensorBytes{"U8", {bytes}, capture.kept_bytes});
    }
    WriteSafetensors(path, tensors, {{"format", "etprof-values-1"}});
  }

 private:
  struct Setup {
    const void* output = nullptr;
    std::array<CallWord, kSetupArguments> arguments{};
    std::size_t begin = 0;  // the first setup of the same operator
  };
  struct Call {  // a call of a delegate
    std::vector<Setup> setups;
    std::size_t boundaries = 0;  // clock readings: one before the first operator, and one after each
    std::size_t captures = 0;    // captured outputs of operators
    std::size_t operators = 0;   // operators that were traced
    std::set<const void*> addresses_taken;  // addresses of the delegate's arguments in the program
  };
  struct Capture {
    const void* data = nullptr;
    std::optional<std::size_t> call;  // index into calls_; absent: an output of a kernel
    std::size_t setup = 0;            // index into the setups of the call
    std::size_t bytes = 0;
    std::int64_t kept_elements = 0;
    std::string dtype, sha256;
    std::vector<std::byte> kept_bytes;
  };

  void OnBoundary() {
    if (calls_.empty()) calls_.emplace_back();
    in_delegate_ = true;
    Call& call = calls_.back();
    if (call.boundaries > 0) {
      Capture capture;
      capture.call = calls_.size() - 1;
      capture.setup = call.boundaries - 1;
      if (capture.setup < call.setups.size()) {
        const std::size_t begin = call.setups[capture.setup].begin;
        if (capture.setup + 1 < call.setups.size() && call.setups[capture.setup + 1].begin == begin)
          return void(++call.boundaries);  // the next setup is of the same operator
        capture.data = call.setups[begin].output;
        const auto size = sizes_.find(static_cast<std::int64_t>(captures_.size()));
        if (size != sizes_.end() && capture.data != nullptr)
          Digest(static_cast<std::size_t>(size->second.bytes),
                 static_cast<std::size_t>(size->second.element_bytes), capture);
      }
      captures_.push_back(std::move(capture));
      ++call.captures;
    }
    ++call.boundaries;
    recorder_.RecordBoundary();
  }

  // Kernels log their outputs, and the program all arguments of a delegate after its call.
  void OnValue(const et::EValue& value) {
    if (!value.isTensor()) return;
    const auto& tensor = value.toTensor();
    Capture capture;
    capture.data = tensor.const_data_ptr();
    capture.dtype = SafetensorsName(tensor.scalar_type());
    if (in_delegate_) {
      calls_.back().addresses_taken.insert(capture.data);
      CheckDelegateOutput(capture.data, tensor.nbytes());
    }
    if (keeps_elements_ && capture.data != nullptr)
      Digest(tensor.nbytes(), static_cast<std::size_t>(tensor.element_size()), capture);
    captures_.push_back(std::move(capture));
  }

  // Checks that the program finds the value of the last operator that wrote to this address.
  void CheckDelegateOutput(const void* data, std::size_t bytes) {
    for (auto capture = captures_.rbegin(); capture != captures_.rend(); ++capture) {
      // Skip outputs of kernels, other addresses, and values that were not read.
      if (!capture->call || capture->data != data || capture->bytes == 0) continue;
      if (*capture->call != calls_.size() - 1) return;
      const auto* const begin = static_cast<const std::byte*>(data);
      if (capture->bytes == bytes && Sha256Hex({begin, bytes}) == capture->sha256) {
        ++checked_;
      } else {
        problem_ = "an operator's value is not what the program took from its delegate";
      }
      return;
    }
  }

  static void Digest(std::size_t bytes, std::size_t element, Capture& capture) {
    const auto* const begin = static_cast<const std::byte*>(capture.data);
    if (bytes == 0 || bytes % element != 0) return;
    capture.bytes = bytes;
    capture.sha256 = Sha256Hex({begin, bytes});
    const std::size_t elements = bytes / element;
    const std::size_t step = (elements + protocol::kMaxStoredElements - 1) / protocol::kMaxStoredElements;
    for (std::size_t i = 0; i < elements; i += step) {
      capture.kept_bytes.insert(capture.kept_bytes.end(), begin + i * element, begin + (i + 1) * element);
      ++capture.kept_elements;
    }
  }

  void AddOperator(const BoundaryRecorder::Key& key, const std::string& name, std::uint64_t first_capture,
                   std::uint64_t end_capture) {
    if (key.kind == "delegate_call") in_delegate_ = false;
    if (key.kind != "kernel" && key.kind != "backend") return;
    for (std::uint64_t i = first_capture; i < end_capture; ++i) {
      if (const auto call = captures_[i].call) ++calls_[*call].operators;
      protocol::OperatorValue value;
      value.place = key;
      value.name = name;
      value.index = static_cast<std::int64_t>(i);
      values_.emplace(value.index, std::move(value));
    }
  }

  static std::string FindProblem(const Call& call, const Capture& capture) {
    if (call.setups.size() + 1 != call.boundaries || call.captures != call.operators) {
      return fmt::format("XNNPACK prepared {} operators of its call, and {} were traced", call.setups.size(),
                         call.operators);
    }
    if (capture.data == nullptr) return "it has no address";
    if (call.addresses_taken.contains(capture.data)) return "";
    const auto word = reinterpret_cast<CallWord>(capture.data);
    for (std::size_t i = capture.setup + 1; i < call.setups.size(); ++i) {
      if (std::ranges::find(call.setups[i].arguments, word) != call.setups[i].arguments.end()) return "";
    }
    return "nothing takes its address";
  }

  Model& model_;
  BoundaryRecorder recorder_;
  const bool keeps_elements_;
  std::map<std::int64_t, protocol::ValueSize> sizes_;  // keyed by index
  std::vector<Call> calls_;
  bool in_delegate_ = false;  // from a call's first boundary until all of its arguments are logged
  std::vector<Capture> captures_;
  std::map<std::int64_t, protocol::OperatorValue> values_;  // keyed by index in `captures_`
  std::int64_t checked_ = 0;
  std::string problem_;
};

class SetupCall {
 public:
  using Function = std::size_t;  // the index of the output among the arguments
  SetupCall(Function output, std::span<const CallWord> arguments) {
    if (current_reader != nullptr && depth_ == 0)
      current_reader->OnSetup(output, arguments.first<kSetupArguments>());
    ++depth_;
  }
  ~SetupCall() { --depth_; }
  SetupCall(SetupCall&&) = delete;

 private:
  static inline int depth_ = 0;  // a setup may call another one
};

// Replaces XNNPACK's xnn_setup_* functions. Throws Error (kDeviceFailed) if that is not possible.
void ReplaceSetups(ReplacedSlots& replaced) {
  const LoadedLibrary library = LoadedLibrary::FindXnnpack();
  using WrappedSetups = WrappedCalls<SetupCall, kMaxSetups>;
  WrappedSetups::Clear();
  bool found_setup = false;
  for (const LoadedLibrary::Slot& slot : library.Slots()) {
    if (!IsSetup(slot.name)) continue;
    found_setup = true;
    const std::size_t output = OutputArgumentIndex(std::string_view(slot.name).substr(kSetupPrefix.size()));
    replaced.Replace(slot, WrappedSetups::Wrap(slot.function, output));
  }
  if (!found_setup)
    throw Error(ExitCode::kDeviceFailed, "XNNPACK's library does not call xnn_setup_* through its PLT");
}

}  // namespace

protocol::ValuesReply ReadValues(Model& model, const protocol::ValuesRequest& request) {
  protocol::ValuesReply reply;
  const std::vector<std::string> expected = RunAndHashOutputs(model);
  reply.outputs_compared = RunAndHashOutputs(model) == expected;
  ValueReader reader(model, request);
  {
    ReplacedSlots replaced;
    try {
      const std::vector<std::string>& backends = model.description().backends;
      if (std::ranges::find(backends, "XnnpackBackend") != backends.end()) ReplaceSetups(replaced);
    } catch (const Error& error) {
      if (error.exit_code() != ExitCode::kDeviceFailed) throw;
      reply.problem = error.what();
      return reply;
    }
    reader.Run();
  }
  if (reply.outputs_compared && HashOutputs(model.method()) != expected) {
    reply.problem = "the outputs are others while values are read";
    return reply;
  }
  reader.Fill(reply);
  if (!reply.problem.empty()) {
    reply.values.clear();
  } else if (!request.path.empty()) {
    reader.Write(reply, request.path);
  }
  return reply;
}

}  // namespace etprof::runner
