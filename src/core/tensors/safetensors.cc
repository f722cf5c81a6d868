#include "core/tensors/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>

#include "core/error.h"
#include "core/tensors/tensor_values.h"

namespace etprof {
namespace {

using nlohmann::json;

constexpr const char* kMetadataKey = "__metadata__";
constexpr std::uint64_t kHeaderLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the reference implementation's limit

Error InvalidFile(const std::filesystem::path& path, std::uint64_t offset, std::string problem) {
  return Error(ExitCode::kBadInput, std::move(problem))
      .InFile(path.string())
      .AtOffset(offset)
      .Remedy("copy it again, or give a file that `etprof export` wrote");
}

std::uint64_t ParseCount(const json& value) {
  if (!value.is_number_unsigned()) throw std::invalid_argument("has a size or offset that is not a count");
  return value.get<std::uint64_t>();
}

struct Range {
  std::uint64_t begin, end;
  std::string name;
};

TensorBytes ReadTensor(const json& entry, ByteView data, Range& range) {
  TensorBytes tensor;
  tensor.dtype = entry.at("dtype").get<std::string>();
  const std::uint64_t element_bytes = ElementSize(tensor.dtype);
  if (element_bytes == 0)
    throw std::invalid_argument(fmt::format("has the unknown dtype `{}`", tensor.dtype));
  std::uint64_t bytes = element_bytes;
  const json& shape = entry.at("shape");
  if (!shape.is_array()) throw std::invalid_argument("has a shape that is not an array");
  for (const json& size : shape) {
    const std::uint64_t extent = ParseCount(size);
    if (extent > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()) ||
        (extent != 0 && bytes > std::numeric_limits<std::uint64_t>::max() / extent)) {
      throw std::invalid_argument("has a shape that is too large");
    }
    bytes *= extent;
    tensor.shape.push_back(static_cast<std::int64_t>(extent));
  }
  const json& offsets = entry.at("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2)
    throw std::invalid_argument("has data_offsets that are not a pair");
  range.begin = ParseCount(offsets[0]);
  range.end = ParseCount(offsets[1]);
  if (range.begin > range.end || range.end > data.size()) {
    throw std::invalid_argument(
        fmt::format("has the bytes [{}, {}), which are not within the {} bytes of data", range.begin,
                    range.end, data.size()));
  }
  if (range.end - range.begin != bytes) {
    throw std::invalid_argument(
        fmt::format("has {} bytes where its dtype and shape need {}", range.end - range.begin, bytes));
  }
  tensor.bytes = data.subspan(range.begin, bytes);
  return tensor;
}

}  // namespace

Safetensors ReadSafetensors(const std::filesystem::path& path) {
  Safetensors result{MappedFile::Open(path), {}, {}};
  const ByteView bytes = result.file.bytes();
  if (bytes.size() < kHeaderLengthBytes)
    throw InvalidFile(path, 0, "is not a safetensors file: too short for a header length");
  const std::uint64_t length = LittleEndian(bytes.first(kHeaderLengthBytes));
  if (length > kMaxHeaderBytes || length > bytes.size() - kHeaderLengthBytes) {
    throw InvalidFile(
        path, 0,
        fmt::format("is not a safetensors file, or is cut short: a header of {} bytes in a file of {}",
                    length, bytes.size()));
  }
  const ByteView data = bytes.subspan(kHeaderLengthBytes + length);
  const std::string_view text = AsText(bytes.subspan(kHeaderLengthBytes, length));
  const json header = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object())
    throw InvalidFile(path, kHeaderLengthBytes, "is not a safetensors file: its header is not a JSON object");

  const auto damaged_header = [&](const std::string& name, const char* problem) {
    return InvalidFile(path, kHeaderLengthBytes, fmt::format("has a damaged header: `{}` {}", name, problem));
  };
  std::vector<Range> ranges;
  for (const auto& [name, entry] : header.items()) {
    try {
      if (name == kMetadataKey) {
        for (const auto& [key, value] : entry.get<std::map<std::string, std::string>>())
          result.metadata[key] = value;
        continue;
      }
      Range range{0, 0, name};
      result.tensors.emplace(name, ReadTensor(entry, data, range));
      if (range.begin != range.end) ranges.push_back(std::move(range));
    } catch (const json::exception&) {
      throw damaged_header(name, name == kMetadataKey ? "is not an object of texts"
                                                      : "lacks a valid dtype, shape, or data_offsets");
    } catch (const std::invalid_argument& error) {
      throw damaged_header(name, error.what());
    }
  }
  std::ranges::sort(ranges, {}, &Range::begin);
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin < ranges[i - 1].end) {
      throw InvalidFile(
          path, kHeaderLengthBytes + length + ranges[i].begin,
          fmt::format("has a damaged header: `{}` and `{}` overlap", ranges[i - 1].name, ranges[i].name));
    }
  }
  return result;
}

void WriteSafetensors(const std::filesystem::path& path,
                      const std::vector<std::pair<std::string, TensorBytes>>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  json header = json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump();
  // The data begins at a multiple of 8, as the format recommends.
  text.append((8 - text.size() % 8) % 8, ' ');
  WriteFileAtomically(path, [&](std::ostream& out) {
    for (unsigned i = 0; i < 8; ++i) out.put(static_cast<char>(text.size() >> (8 * i) & 0xff));
    out << text;
    for (const auto& [name, tensor] : tensors) out << AsText(tensor.bytes);
  });
}

}  // namespace etprof
