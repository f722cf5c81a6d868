#include "program/etrecord.h"

#include <fmt/format.h>
#include <minizip/unzip.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/text.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kHandles = "debug_handle_map";
constexpr std::string_view kEdge = "edge_dialect_exported_program/";
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30U;  // of one entry that is read
constexpr std::size_t kMostEntries = 4096;

struct Close {
  void operator()(void* zip) const { unzClose(zip); }
};

class Zip {
 public:
  explicit Zip(const fs::path& path) : path_(path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) {
      throw Error(ExitCode::kBadInput, Exists(path) ? "is not a file" : "no such file").InFile(path.string());
    }
    zip_.reset(unzOpen64(path.c_str()));
    if (!zip_) throw Bad("is no zip archive, or is cut short");
  }

  Error Bad(const std::string& problem) const {
    return Error(ExitCode::kBadInput, problem)
        .InFile(path_.string())
        .Remedy("give the .etrecord that the export wrote beside the .pte, or export the model again");
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (int found = unzGoToFirstFile(zip_.get()); found == UNZ_OK; found = unzGoToNextFile(zip_.get())) {
      if (names.size() == kMostEntries) throw Bad(fmt::format("holds more than {} files", kMostEntries));
      names.push_back(Name().first);
    }
    return names;
  }

  // The contents of an entry; absent where there is none of that name.
  std::optional<std::string> Read(const std::string& name) const {
    if (unzLocateFile(zip_.get(), name.c_str(), 1) != UNZ_OK) return std::nullopt;
    const std::uint64_t size = Name().second;
    std::error_code error;
    // Text is packed to a thousandth at best.
    if (size > kMostBytes || size / 1024 > fs::file_size(path_, error))
      throw Bad(fmt::format("{} in it would have {} bytes", name, size));
    if (unzOpenCurrentFile(zip_.get()) != UNZ_OK) throw Bad(fmt::format("{} in it cannot be read", name));
    std::string text(static_cast<std::size_t>(size), '\0');
    std::size_t done = 0;
    while (done < text.size()) {
      const int read =
          unzReadCurrentFile(zip_.get(), text.data() + done,
                             static_cast<unsigned>(std::min<std::size_t>(text.size() - done, 1U << 20U)));
      if (read <= 0) break;
      done += static_cast<std::size_t>(read);
    }
    const int closed = unzCloseCurrentFile(zip_.get());  // compares the checksum
    if (done < text.size() || closed != UNZ_OK)
      throw Bad(fmt::format("{} in it is damaged or cut short", name));
    return text;
  }

 private:
  std::pair<std::string, std::uint64_t> Name() const {
    unz_file_info64 info{};
    std::string name(1024, '\0');
    if (unzGetCurrentFileInfo64(zip_.get(), &info, name.data(), name.size() - 1, nullptr, 0, nullptr, 0) !=
        UNZ_OK)
      throw Bad("its list of files is malformed");
    name.resize(std::min<std::size_t>(name.find('\0'), name.size() - 1));
    return {name, info.uncompressed_size};
  }

  fs::path path_;
  std::unique_ptr<void, Close> zip_;
};

// A text of an object; "" where it has none.
std::string TextOf(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// "executorch.exir.dialects.edge.ops.aten.convolution.default" -> "aten.convolution.default"
std::string ShortTarget(std::string target) {
  constexpr std::string_view kOps = ".ops.";
  const std::size_t at = target.rfind(kOps);
  return at == std::string::npos ? target : target.substr(at + kOps.size());
}

void ReadNode(const json& node, MethodSources& method) {
  const auto metadata = node.find("metadata");
  if (metadata == node.end() || !metadata->is_object()) return;
  const auto handle = AsNumber<std::uint32_t>(TextOf(*metadata, "debug_handle"));
  if (!handle) return;  // a placeholder or the output
  SourceNode made;
  made.name = TextOf(node, "name");
  made.target = ShortTarget(TextOf(node, "target"));
  made.modules = ParseModuleStack(TextOf(*metadata, "nn_module_stack"));
  made.frames = ParseStackTrace(TextOf(*metadata, "stack_trace"));
  method.handles[*handle].push_back(method.nodes.size());
  method.nodes.push_back(std::move(made));
}

// The parts of the edge program that say nothing of sources are left out while it is parsed.
json ParseEdgeProgram(const std::string& text) {
  const std::string finite = NullForNonFinite(text);  // masks of attention are full of -Infinity
  if (NestsTooDeep(finite)) return json(json::value_t::discarded);
  const auto wanted = [](int, json::parse_event_t event, json& parsed) {
    if (event != json::parse_event_t::key) return true;
    const auto& key = parsed.get_ref<const std::string&>();
    return key != "inputs" && key != "outputs" && key != "from_node" && key != "tensor_values" &&
           key != "torch_fn";
  };
  return json::parse(finite, wanted, /*allow_exceptions=*/false);
}

void ReadEdgeProgram(const Zip& zip, const std::string& entry, MethodSources& method) {
  const auto text = zip.Read(entry);
  if (!text) return;
  const json program = ParseEdgeProgram(*text);
  static const json::json_pointer kNodes("/graph_module/graph/nodes");
  if (program.is_discarded() || !program.is_object() || !program.contains(kNodes) ||
      !program[kNodes].is_array())
    throw zip.Bad(fmt::format("{} in it is no exported program", entry));
  for (const json& node : program[kNodes]) {
    if (node.is_object()) ReadNode(node, method);
  }
}

// {"forward": {"0": 11, "18": [1, 2, 2]}}
void ReadHandles(const Zip& zip, SourceMap& map) {
  const auto text = zip.Read(kHandles);
  if (!text) return;
  const json methods = ParseJson(*text);
  if (!methods.is_object()) throw zip.Bad(fmt::format("{} in it is no JSON object", kHandles));
  for (const auto& [name, instructions] : methods.items()) {
    if (!instructions.is_object()) continue;
    MethodSources& method = map.methods[name];
    for (const auto& [index, handles] : instructions.items()) {
      const auto instruction = AsNumber<int>(index);
      if (!instruction) continue;
      std::vector<std::uint32_t>& own = method.instructions[*instruction];
      const auto add = [&](const json& handle) {
        if (handle.is_number_unsigned() && handle.get<std::uint64_t>() <= 0xffffffffU)
          own.push_back(handle.get<std::uint32_t>());
      };
      if (handles.is_array()) {
        for (const json& handle : handles) add(handle);
      } else {
        add(handles);
      }
    }
  }
}

}  // namespace

SourceMap ReadEtrecord(const fs::path& path) {
  const Zip zip(path);
  SourceMap map;
  bool edge = false;
  for (const std::string& name : zip.Names()) {
    // Beside each program lie its "_state_dict", "_constants" and "_example_inputs", which are no JSON.
    if (!name.starts_with(kEdge) || name.ends_with("_state_dict") || name.ends_with("_constants") ||
        name.ends_with("_example_inputs"))
      continue;
    ReadEdgeProgram(zip, name, map.methods[name.substr(kEdge.size())]);
    edge = true;
  }
  if (!edge) throw zip.Bad("holds no edge program: it is no ETRecord, or one that was made without it");
  ReadHandles(zip, map);
  return map;
}

}  // namespace etprof
