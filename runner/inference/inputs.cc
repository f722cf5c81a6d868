#include "inference/inputs.h"

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file/file.h"
#include "core/random.h"
#include "core/tensors/safetensors.h"
#include "core/tensors/tensor_values.h"
#include "inference/dtypes.h"
#include "platform.h"

namespace etprof::runner {

namespace et = executorch::runtime;
using executorch::aten::ScalarType;
using executorch::aten::TensorImpl;

struct Inputs::Input {
  std::vector<executorch::aten::SizesType> sizes;
  std::vector<executorch::aten::DimOrderType> dim_order;
  std::vector<executorch::aten::StridesType> strides;
  // The memory that the method reads, and may write.
  std::unique_ptr<std::byte, decltype(&std::free)> data{nullptr, &std::free};
  std::size_t capacity = 0;         // size of `data` in bytes
  std::vector<std::byte> original;  // to restore `data` of inputs outside of the memory plan
  std::unique_ptr<TensorImpl> tensor;
  et::EValue value;

  void MakeTensor(ScalarType type);
};

namespace {

using nlohmann::json;

constexpr const char* kScalarTypes[] = {"none", "int", "double", "bool", "string"};
constexpr std::size_t kMaxInputBytes = std::size_t{16} << 30;
// Remedies of errors.
constexpr const char* kExportAgain = "export the model again";
constexpr const char* kOneFilePerTensor = "give one file per tensor, in order";

std::uint16_t HalfBits(float value) {
#if defined(__aarch64__)  // here, Half's constructor takes the compiler's half type
  return executorch::aten::Half(static_cast<__fp16>(value)).x;
#else
  return executorch::aten::Half(value).x;
#endif
}

template <typename Stored, typename Value>
void Fill(std::byte* data, std::size_t bytes, Value value) {
  for (std::size_t i = 0; i + sizeof(Stored) <= bytes; i += sizeof(Stored)) {
    const Stored stored = static_cast<Stored>(value());
    std::memcpy(data + i, &stored, sizeof(Stored));
  }
}

// Fills with numbers from the function for the type: `real` (floating point), `integer` (wider integers),
// `byte`, or `boolean`.
template <typename Real, typename Integer, typename Byte, typename Boolean>
void FillAs(ScalarType type, std::byte* data, std::size_t bytes, Real real, Integer integer, Byte byte,
            Boolean boolean) {
  switch (type) {
    case ScalarType::Float:
    case ScalarType::ComplexFloat:
      return Fill<float>(data, bytes, real);
    case ScalarType::Double:
    case ScalarType::ComplexDouble:
      return Fill<double>(data, bytes, real);
    case ScalarType::Half:
    case ScalarType::ComplexHalf:
      return Fill<std::uint16_t>(data, bytes, [&] { return HalfBits(static_cast<float>(real())); });
    case ScalarType::BFloat16:
      return Fill<std::uint16_t>(data, bytes,
                                 [&] { return executorch::aten::BFloat16(static_cast<float>(real())).x; });
    // The bits of 1 and -1, which every eight-bit float can represent.
    case ScalarType::Float8_e5m2:
      return Fill<std::uint8_t>(data, bytes, [&] { return real() < 0 ? 0xbcU : 0x3cU; });
    case ScalarType::Float8_e4m3fn:
      return Fill<std::uint8_t>(data, bytes, [&] { return real() < 0 ? 0xb8U : 0x38U; });
    case ScalarType::Bool:
      return Fill<std::uint8_t>(data, bytes, boolean);
    case ScalarType::Short:
    case ScalarType::UInt16:
      return Fill<std::uint16_t>(data, bytes, integer);
    case ScalarType::Int:
    case ScalarType::UInt32:
      return Fill<std::uint32_t>(data, bytes, integer);
    case ScalarType::Long:
    case ScalarType::UInt64:
      return Fill<std::uint64_t>(data, bytes, integer);
    default:
      return Fill<std::uint8_t>(data, bytes, byte);
  }
}

std::string ShapeText(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// The value of input `index` in the program. The call is deprecated for tensors, but ExecuTorch has no other
// call for the other types.
const et::EValue& ValueInProgram(const et::Method& method, std::size_t index) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return method.get_input(index);
#pragma GCC diagnostic pop
}

std::string ValueText(const et::EValue& value) {
  const json scalar = ScalarJson(value);
  const auto type = scalar["type"].get<std::string>();
  return scalar.contains("value") ? fmt::format("{} {}", type, scalar["value"].dump()) : type;
}

bool SameAsSaved(const json& saved, const et::EValue& value) {
  const std::string type = saved.at("type").get<std::string>();
  if (std::ranges::find(kScalarTypes, type) == std::end(kScalarTypes))
    throw std::invalid_argument(fmt::format("unknown type '{}'", type));
  // The program does not use this input (a string, for example) and stores nothing.
  if (value.isNone()) return true;
  const json in_program = ScalarJson(value);
  if (type != in_program["type"].get<std::string>()) return false;
  const json& saved_value = saved.at("value");
  if (type != "double") return saved_value == in_program["value"];
  // JSON has no NaN or infinity, so an exporter writes null or a string, which matches only a nonfinite
  // value.
  if (!saved_value.is_number()) return !std::isfinite(value.toDouble());
  return std::abs(saved_value.get<double>() - value.toDouble()) <= 1e-4 + 1e-5 * std::abs(value.toDouble());
}

}  // namespace

// Makes the tensor of `data`, `sizes`, and `dim_order`.
void Inputs::Input::MakeTensor(ScalarType type) {
  strides.resize(sizes.size());
  executorch::aten::StridesType stride = 1;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    const auto dim = dim_order[d];
    strides[dim] = stride;
    stride = static_cast<executorch::aten::StridesType>(stride * std::max(sizes[dim], 1));
  }
  tensor = std::make_unique<TensorImpl>(type, static_cast<ssize_t>(sizes.size()), sizes.data(), data.get(),
                                        dim_order.data(), strides.data(),
                                        executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND);
  value = et::EValue(executorch::aten::Tensor(tensor.get()));
}

Rows::Rows(const executorch::aten::Tensor& tensor)
    : type(tensor.scalar_type()), width(tensor.dim() > 0 ? tensor.size(tensor.dim() - 1) : 1) {
  row_bytes = static_cast<std::size_t>(width) * et::elementSize(type);
  const auto* const data = static_cast<const std::byte*>(tensor.const_data_ptr());
  if (data != nullptr) bytes.assign(data, data + tensor.nbytes());
}

std::optional<StepShape> Inputs::DetectStep(const et::Method& method) {
  const et::MethodMeta meta = method.method_meta();
  std::optional<std::size_t> tokens, position, rows;
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::size_t i = 0; i < meta.num_inputs(); ++i) {
    const auto tag = meta.input_tag(i);
    if (!tag.ok() || *tag != et::Tag::Tensor) return std::nullopt;
    const auto tensor = meta.input_tensor_meta(i);
    if (!tensor.ok()) return std::nullopt;
    const std::vector<std::int64_t>& shape =
        shapes.emplace_back(tensor->sizes().begin(), tensor->sizes().end());
    const ScalarType type = tensor->scalar_type();
    const bool is_integer = type == ScalarType::Long || type == ScalarType::Int;
    const bool is_real =
        type == ScalarType::Float || type == ScalarType::Half || type == ScalarType::BFloat16;
    if (is_integer && shape.size() == 2 && shape[0] == 1 && !tokens) {
      tokens = i;
    } else if (is_integer && shape.size() == 1 && !position) {
      position = i;
    } else if (is_real && shape.size() == 3 && shape[0] == 1 && !rows) {
      rows = i;
    } else {
      return std::nullopt;
    }
  }
  if (rows ? !position : !tokens) return std::nullopt;
  StepShape step;
  step.takes_embeddings = !tokens;
  step.first = tokens ? *tokens : *rows;
  step.position = position;
  if (tokens) step.features = rows;
  step.tokens = shapes[step.first][1];
  step.has_position_per_token = position && shapes[*position][0] > 1;
  if (step.tokens < 1 || (step.has_position_per_token && shapes[*position][0] < step.tokens))
    return std::nullopt;
  step.dynamic = ValueInProgram(method, step.first).toTensor().shape_dynamism() !=
                 executorch::aten::TensorShapeDynamism::STATIC;
  return step;
}

Inputs Inputs::Make(const et::Method& method, const std::string& model,
                    const std::optional<protocol::InputSpec>& requested_spec) {
  Inputs result;
  const et::MethodMeta meta = method.method_meta();
  const std::string method_name = meta.name();
  protocol::InputSpec spec{.kind = "random", .paths = {}, .seed = 0};
  if (requested_spec) {
    spec = *requested_spec;
  } else if (Exists(model + ".inputs")) {
    spec = {.kind = "saved", .paths = {model + ".inputs"}, .seed = 0};
  }
  std::optional<Safetensors> saved_inputs;
  std::size_t next_file = 0;
  Random random(spec.seed);
  std::string file;  // the file that errors name
  if (spec.kind == "saved") {
    if (spec.paths.size() != 1)
      throw Error(ExitCode::kUsage, "saved inputs are one file").Remedy("give one path");
    file = spec.paths[0];
    saved_inputs = ReadSafetensors(file);
    const auto format = saved_inputs->metadata.find("format");
    if (format == saved_inputs->metadata.end() || format->second != "etprof-inputs-1") {
      throw Error(ExitCode::kBadInput, "is a safetensors file, but not of inputs that etprof saved")
          .InFile(file)
          .Remedy("its metadata must say \"format\": \"etprof-inputs-1\"; `etprof export` writes such files");
    }
    result.origin_ = "saved " + file;
  } else if (spec.kind == "random") {
    result.origin_ = fmt::format("random, seed {}", spec.seed);
  } else if (spec.kind == "files") {
    result.origin_ = fmt::format("files {}", fmt::join(spec.paths, ", "));
  } else if (spec.kind == "ones" || spec.kind == "tokens") {
    result.origin_ = spec.kind == "ones" ? "ones" : "drawn tokens";
  } else {
    throw Error(ExitCode::kUsage, fmt::format("there is no kind of inputs '{}'", spec.kind))
        .Remedy("saved, files, ones or random");
  }

  std::vector<std::string> dynamic_inputs;     // inputs of dynamic shape, which get their largest size
  std::vector<std::string> random_bit_inputs;  // integer inputs with random 0s and 1s
  for (std::size_t i = 0; i < meta.num_inputs(); ++i) {
    const auto fail = [&](const std::string& problem, std::string remedy) {
      Error error(ExitCode::kBadInput, fmt::format("input {} of '{}' {}", i, method_name, problem));
      if (!file.empty()) error.InFile(file);
      return error.Remedy(std::move(remedy));
    };
    auto input = std::make_shared<Input>();
    const std::string name = fmt::format("{}/{}", method_name, i);
    const auto tag = meta.input_tag(i);
    if (!tag.ok()) throw fail("has a type that this runner does not know", kExportAgain);
    if (*tag != et::Tag::Tensor) {
      const et::EValue& value = ValueInProgram(method, i);
      if (ScalarJson(value)["type"] == "list") {
        throw fail("is a list, which ExecuTorch cannot be given",
                   "export a model that takes its tensors one by one");
      }
      if (saved_inputs) {
        const auto found = saved_inputs->metadata.find(name);
        if (found == saved_inputs->metadata.end()) {
          throw fail(fmt::format("is missing; the program has {} there", ValueText(value)), kExportAgain);
        }
        bool same = false;
        try {
          same = SameAsSaved(json::parse(found->second), value);
        } catch (const std::exception& error) {
          throw fail(fmt::format("is malformed: {}", error.what()), kExportAgain);
        }
        if (!same) {
          throw fail(
              fmt::format("is {}, but the program was exported for {}", found->second, ValueText(value)),
              "what is not a tensor is fixed at export: export again with the other value");
        }
      }
      input->value = value;
      result.infos_.push_back({ScalarJson(value)["type"].get<std::string>(), {}});
      result.inputs_.push_back(std::move(input));
      continue;
    }

    const auto tensor_meta = meta.input_tensor_meta(i);
    if (!tensor_meta.ok()) throw fail("has a description that is damaged", kExportAgain);
    const ScalarType type = tensor_meta->scalar_type();
    const std::size_t element_size = et::elementSize(type);
    // The largest sizes if the shape is dynamic.
    std::vector<std::int64_t> shape(tensor_meta->sizes().begin(), tensor_meta->sizes().end());
    input->dim_order.assign(tensor_meta->dim_order().begin(), tensor_meta->dim_order().end());
    if (tensor_meta->nbytes() > kMaxInputBytes) {
      throw fail(fmt::format("would take {} bytes", tensor_meta->nbytes()),
                 "export it for smaller inputs, or again if the file may be damaged");
    }

    const TensorBytes* saved = nullptr;
    if (saved_inputs) {
      const auto found = saved_inputs->tensors.find(name);
      if (found == saved_inputs->tensors.end()) {
        throw fail(fmt::format("is not in it (no tensor '{}')", name),
                   "these inputs belong to another model or method");
      }
      saved = &found->second;
      const bool same_rank = saved->shape.size() == shape.size();
      if (!std::ranges::equal(saved->shape, shape, std::ranges::less_equal())) {
        throw fail(fmt::format("has the shape {} where the program takes at most {}", ShapeText(saved->shape),
                               ShapeText(shape)),
                   same_rank ? "give smaller inputs, or export the model for larger ones (`--input-shape`)"
                             : "these inputs belong to another model");
      }
      if (saved->dtype != SafetensorsName(type) || !HasSafetensorsName(type)) {
        throw fail(fmt::format("is of dtype {} where the program takes {} ({})", saved->dtype, Name(type),
                               SafetensorsName(type)),
                   "these inputs belong to another model");
      }
      shape = saved->shape;
    }
    std::size_t count = 1;
    for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
    const std::size_t bytes = count * element_size;
    input->data.reset(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 127) / 64 * 64)));
    if (input->data == nullptr)
      throw Error(ExitCode::kDeviceFailed, fmt::format("no memory for input {} ({} bytes)", i, bytes))
          .Remedy("use a device with more memory, or smaller inputs");
    std::byte* const data = input->data.get();
    input->capacity = bytes;

    if (saved != nullptr) {
      CopyToMemoryOrder(data, saved->bytes.data(), shape, input->dim_order, element_size);
    } else if (spec.kind == "files") {
      if (next_file >= spec.paths.size()) {
        throw fail(fmt::format("has no file: {} given", spec.paths.size()), kOneFilePerTensor);
      }
      file = spec.paths[next_file++];
      const MappedFile contents = MappedFile::Open(file);
      if (contents.bytes().size() != bytes) {
        throw fail(fmt::format("is a {} tensor of shape {}: {} bytes, and the file has {}", Name(type),
                               ShapeText(shape), bytes, contents.bytes().size()),
                   "give its elements alone, without a header, in a file");
      }
      if (bytes > 0) std::memcpy(data, contents.bytes().data(), bytes);
      file.clear();
    } else if (spec.kind == "ones" || spec.kind == "tokens") {
      const auto one_value = [] { return 1; };
      FillAs(type, data, bytes, one_value, one_value, one_value, one_value);
    } else {
      const auto bit = [&] { return random.Next() >> 63; };
      bool has_random_bits = false;
      const auto integer = [&] {
        has_random_bits = true;
        return bit();
      };
      FillAs(
          type, data, bytes, [&] { return random.Normal(); }, integer, [&] { return random.Next() >> 56; },
          bit);
      if (has_random_bits) {
        random_bit_inputs.push_back(fmt::format("input {} ({} {})", i, Name(type), ShapeText(shape)));
      }
    }

    if (saved == nullptr && ValueInProgram(method, i).toTensor().shape_dynamism() !=
                                executorch::aten::TensorShapeDynamism::STATIC)
      dynamic_inputs.push_back(fmt::format("input {} {}", i, ShapeText(shape)));

    input->sizes.assign(shape.begin(), shape.end());
    if (!tensor_meta->is_memory_planned()) input->original.assign(data, data + bytes);
    input->MakeTensor(type);
    result.infos_.push_back({Name(type), shape});
    result.inputs_.push_back(std::move(input));
  }
  if (spec.kind == "files" && next_file < spec.paths.size()) {
    throw Error(ExitCode::kBadInput, fmt::format("{} input files given, but '{}' takes {} tensors",
                                                 spec.paths.size(), method_name, next_file))
        .Remedy(kOneFilePerTensor);
  }
  result.step_ = DetectStep(method);
  // SetTokens() sets the size and the tokens before each run, so the warnings below do not apply.
  if (spec.kind == "tokens") {
    if (result.step_) return result;
    throw Error(
        ExitCode::kBadInput,
        fmt::format("'{}' does not take tokens [1, n] and a position, as the steps of a language model do",
                    method_name))
        .Remedy("`etprof inspect` shows what it takes; give its inputs with --inputs");
  }
  if (!dynamic_inputs.empty()) {
    result.origin_ += fmt::format("; at the largest sizes: {}", fmt::join(dynamic_inputs, ", "));
    result.warnings_.push_back(
        "the latency is that of the largest inputs which the program takes; for smaller ones give an .inputs "
        "file (docs/reference/files.md#the-inputs-file)");
  }
  if (!random_bit_inputs.empty()) {
    result.warnings_.push_back(
        fmt::format("random 0s and 1s: {}; if these are indices or tokens, real ones may take another time",
                    fmt::join(random_bit_inputs, ", ")));
  }
  return result;
}

void Inputs::UpdateTensor(std::size_t index) {
  Input& input = *inputs_.at(index);
  input.MakeTensor(input.tensor->scalar_type());
  if (!input.original.empty())
    input.original.assign(input.data.get(), input.data.get() + input.tensor->nbytes());
  infos_[index].shape.assign(input.sizes.begin(), input.sizes.end());
}

void Inputs::SetIntegers(std::size_t index, std::size_t count,
                         const std::function<std::int64_t(std::size_t)>& value_at) {
  Input& input = *inputs_.at(index);
  input.sizes.back() = static_cast<executorch::aten::SizesType>(count);
  const auto next_value = [&, i = std::size_t{0}]() mutable { return value_at(i++); };
  if (input.tensor->scalar_type() == ScalarType::Long) {
    Fill<std::int64_t>(input.data.get(), count * sizeof(std::int64_t), next_value);
  } else {
    Fill<std::int32_t>(input.data.get(), count * sizeof(std::int32_t), next_value);
  }
  UpdateTensor(index);
}

void Inputs::SetPositions(std::size_t count, std::int64_t first) {
  if (step_->position)
    SetIntegers(*step_->position, step_->has_position_per_token ? count : 1,
                [first](std::size_t i) { return first + static_cast<std::int64_t>(i); });
}

void Inputs::SetTokens(std::span<const std::int64_t> tokens, std::int64_t position) {
  SetIntegers(step_->first, tokens.size(), [&](std::size_t i) { return tokens[i]; });
  SetPositions(tokens.size(), position);
}

void Inputs::SetRows(std::size_t index, const Rows& rows, std::int64_t begin, std::int64_t count) {
  Input& input = *inputs_.at(index);
  const ScalarType type = input.tensor->scalar_type();
  const std::size_t bytes = static_cast<std::size_t>(count) * rows.row_bytes;
  if (type != rows.type || input.sizes.back() != rows.width || begin + count > rows.count() ||
      bytes > input.capacity) {
    throw Error(ExitCode::kBadInput,
                fmt::format("its input {} is {} {}, and the method before it gives {} {}", index, Name(type),
                            ShapeText(infos_[index].shape), Name(rows.type),
                            ShapeText({1, rows.count(), rows.width})))
        .Remedy("export the methods of the model for each other");
  }
  input.sizes[1] = static_cast<executorch::aten::SizesType>(count);
  std::memcpy(input.data.get(), rows.bytes.data() + static_cast<std::size_t>(begin) * rows.row_bytes, bytes);
  UpdateTensor(index);
}

void Inputs::SetEmbeddings(const Rows& rows, std::int64_t begin, std::int64_t count, std::int64_t position) {
  SetRows(step_->first, rows, begin, count);
  SetPositions(static_cast<std::size_t>(count), position);
}

void Inputs::SetFeatures(const Rows& rows) {
  SetRows(*step_->features, rows, 0, rows.count());
  has_features_ = true;
}

void Inputs::ApplyTo(et::Method& method) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Input& input = *inputs_[i];
    if (!input.original.empty()) std::memcpy(input.data.get(), input.original.data(), input.original.size());
    const et::Error error = method.set_input(input.value, i);
    if (error != et::Error::Ok) {
      const std::vector<std::string> logged = TakeLoggedErrors();
      throw Error(ExitCode::kBadInput, fmt::format("input {} ({} {}) is refused by the method: {}", i,
                                                   infos_[i].dtype, ShapeText(infos_[i].shape),
                                                   logged.empty() ? et::to_string(error) : logged.back()))
          .Remedy("the inputs (" + origin_ + ") do not fit this model");
    }
  }
}

}  // namespace etprof::runner
