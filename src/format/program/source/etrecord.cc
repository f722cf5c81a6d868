#include "format/program/source/etrecord.h"

#include <fmt/format.h>
#include <minizip/unzip.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/error.h"
#include "core/file/file.h"
#include "core/json/json.h"
#include "core/text/text.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kHandleMapName = "debug_handle_map";
constexpr std::string_view kEdgePrefix = "edge_dialect_exported_program/";
// Limits for the contents of a record. The record of mobilenet_v3_small (173 operators, a .pte of 10.2 MB)
// has 0.8 MB of edge program and 1.1 kB of debug_handle_map, so these limits suffice for about fifty thousand
// operators.
constexpr std::uint64_t kMaxEdgeBytes = std::uint64_t{256} << 20U;   // all edge programs, unpacked
constexpr std::uint64_t kMaxHandleBytes = std::uint64_t{16} << 20U;  // the debug_handle_map, unpacked
constexpr std::uint64_t kMaxCompressionRatio = 1024;                 // deflate's maximum, for zeros only
constexpr std::size_t kMaxEntries = 4096;
constexpr std::size_t kMaxNodes = 1'000'000;
constexpr std::size_t kMaxLocations = 4'000'000;  // modules and Python lines of all nodes

struct ZipCloser {
  void operator()(void* zip) const { unzClose(zip); }
};

class Zip {
 public:
  explicit Zip(const fs::path& path) : path_(path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) {
      throw Error(ExitCode::kBadInput, Exists(path) ? "is not a file" : "no such file")
          .InFile(path.string())
          .Remedy("check the path");
    }
    zip_.reset(unzOpen64(path.c_str()));
    if (!zip_) throw MakeError("is not a zip archive, or is cut short");
  }

  Error MakeError(const std::string& problem) const {
    return Error(ExitCode::kBadInput, problem)
        .InFile(path_.string())
        .Remedy("give the .etrecord that the export wrote next to the .pte, or export the model again");
  }

  struct Entry {
    std::string name;
    std::uint64_t bytes = 0;  // unpacked, according to the zip directory
    unz64_file_pos position{};
  };

  std::vector<Entry> Entries() const {
    std::vector<Entry> entries;
    for (int status = unzGoToFirstFile(zip_.get()); status == UNZ_OK; status = unzGoToNextFile(zip_.get())) {
      if (entries.size() == kMaxEntries)
        throw MakeError(fmt::format("holds more than {} files", kMaxEntries));
      entries.push_back(Current());
    }
    return entries;
  }

  // Throws MakeError() if an entry unpacks to more than the `remaining` bytes of a limit.
  void RequireAtMost(const Entry& entry, std::uint64_t remaining, std::uint64_t limit) const {
    if (entry.bytes > remaining)
      throw MakeError(fmt::format("{} in it unpacks to {} bytes, beyond the limit of {} MiB", entry.name,
                                  entry.bytes, limit >> 20U));
  }

  // The contents of an entry, whose size the caller has limited.
  std::string Read(const Entry& entry) const {
    const std::string& name = entry.name;
    const std::uint64_t size = entry.bytes;
    std::error_code error;
    if (size / kMaxCompressionRatio > fs::file_size(path_, error))
      throw MakeError(fmt::format("{} in it would have {} bytes, more than {} times the file", name, size,
                                  kMaxCompressionRatio));
    if (unzGoToFilePos64(zip_.get(), &entry.position) != UNZ_OK || unzOpenCurrentFile(zip_.get()) != UNZ_OK)
      throw MakeError(fmt::format("{} in it cannot be read", name));
    std::string text(static_cast<std::size_t>(size), '\0');
    std::size_t bytes_read = 0;
    while (bytes_read < text.size()) {
      const int count = unzReadCurrentFile(
          zip_.get(), text.data() + bytes_read,
          static_cast<unsigned>(std::min<std::size_t>(text.size() - bytes_read, 1U << 20U)));
      if (count <= 0) break;
      bytes_read += static_cast<std::size_t>(count);
    }
    const int close_status = unzCloseCurrentFile(zip_.get());  // compares the checksum
    if (bytes_read < text.size() || close_status != UNZ_OK)
      throw MakeError(fmt::format("{} in it is damaged or cut short", name));
    return text;
  }

 private:
  Entry Current() const {
    Entry entry;
    unz_file_info64 info{};
    std::string name(1024, '\0');
    if (unzGetCurrentFileInfo64(zip_.get(), &info, name.data(), name.size() - 1, nullptr, 0, nullptr, 0) !=
            UNZ_OK ||
        unzGetFilePos64(zip_.get(), &entry.position) != UNZ_OK)
      throw MakeError("its list of files is malformed");
    name.resize(std::min<std::size_t>(name.find('\0'), name.size() - 1));
    entry.name = std::move(name);
    entry.bytes = info.uncompressed_size;
    return entry;
  }

  fs::path path_;
  std::unique_ptr<void, ZipCloser> zip_;
};

// "executorch.exir.dialects.edge.ops.aten.convolution.default" -> "aten.convolution.default".
std::string ShortTarget(std::string target) {
  constexpr std::string_view kOps = ".ops.";
  const std::size_t at = target.rfind(kOps);
  return at == std::string::npos ? target : target.substr(at + kOps.size());
}

// Collects the nodes of an edge program during parsing and keeps nothing else, so that time is proportional
// to the text and memory to the nodes. The nodes are at graph_module.graph.nodes[].
class EdgeNodes : public nlohmann::json_sax<json> {
 public:
  EdgeNodes(MethodSources& method, std::size_t& nodes, std::size_t& locations)
      : method_(method), nodes_(nodes), locations_(locations) {}

  bool has_nodes() const { return has_nodes_; }
  // The limit that ended the parsing; "" if no limit was exceeded.
  const std::string& exceeded_limit() const { return exceeded_limit_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t& key) override {
    if (IsOnPath()) key_ = key;
    return true;
  }
  bool string(string_t& text) override {
    if (!IsOnPath()) return true;
    if (depth_ == kNode) {
      if (key_ == "name") node_.name = text;
      if (key_ == "target") node_.target = ShortTarget(text);
    } else if (depth_ == kMetadata) {
      if (key_ == "debug_handle") handle_ = AsNumber<std::uint32_t>(text);
      if (key_ == "nn_module_stack") node_.modules = ParseModuleStack(text);
      if (key_ == "stack_trace") node_.frames = ParseStackTrace(text);
    }
    return true;
  }
  bool start_object(std::size_t) override { return Open(/*is_list=*/false); }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t) override { return Open(/*is_list=*/true); }
  bool end_array() override { return Close(); }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override { return false; }

 private:
  // The number of open lists and objects at each step of the path to the nodes.
  enum : int { kRoot = 1, kModule, kGraph, kNodes, kNode, kMetadata };

  bool IsOnPath() const { return on_path_ == depth_; }

  bool IsNextStep(bool is_list) const {
    struct Step {
      int depth;
      bool is_list;
      std::string_view key;  // empty: any
    };
    static constexpr Step kSteps[] = {{kRoot, false, ""},       {kModule, false, "graph_module"},
                                      {kGraph, false, "graph"}, {kNodes, true, "nodes"},
                                      {kNode, false, ""},       {kMetadata, false, "metadata"}};
    const auto step = std::ranges::find(kSteps, depth_, &Step::depth);
    return step != std::end(kSteps) && step->is_list == is_list && (step->key.empty() || step->key == key_);
  }

  bool Open(bool is_list) {
    const bool was_on_path = IsOnPath();
    if (++depth_ > kMaxJsonNesting) return false;
    if (!was_on_path || !IsNextStep(is_list)) return true;
    on_path_ = depth_;
    if (depth_ == kNodes) has_nodes_ = true;
    if (depth_ == kNode) {
      node_ = {};
      handle_.reset();
    }
    return true;
  }

  bool Close() {
    const bool was_on_path = IsOnPath();
    --depth_;
    if (!was_on_path) return true;
    --on_path_;
    return depth_ != kNodes || AddNode();
  }

  // Adds the node whose object ends. Returns false if a limit is exceeded.
  bool AddNode() {
    if (!handle_) return true;  // a placeholder or the output
    locations_ += node_.modules.size() + node_.frames.size();
    if (++nodes_ > kMaxNodes) exceeded_limit_ = fmt::format("more than {} nodes", kMaxNodes);
    if (locations_ > kMaxLocations)
      exceeded_limit_ = fmt::format("more than {} places in the source", kMaxLocations);
    if (!exceeded_limit_.empty()) return false;
    method_.handles[*handle_].push_back(method_.nodes.size());
    method_.nodes.push_back(std::move(node_));
    return true;
  }

  MethodSources& method_;
  std::size_t& nodes_;      // number of nodes in the record so far
  std::size_t& locations_;  // number of locations in the record so far
  SourceNode node_;
  std::optional<std::uint32_t> handle_;
  std::string key_;
  std::string exceeded_limit_;
  int depth_ = 0;
  int on_path_ = 0;  // number of the open lists and objects that are on the path to the nodes
  bool has_nodes_ = false;
};

// Reads the instructions' debug handles: {"forward": {"0": 11, "18": [1, 2, 2]}}.
void ReadHandles(const Zip& zip, const Zip::Entry& entry, SourceMap& map) {
  zip.RequireAtMost(entry, kMaxHandleBytes, kMaxHandleBytes);
  const json methods = ParseJson(zip.Read(entry));
  if (!methods.is_object()) throw zip.MakeError(fmt::format("{} in it is not a JSON object", kHandleMapName));
  for (const auto& [name, instructions] : methods.items()) {
    if (!instructions.is_object()) continue;
    MethodSources& method = map.methods[name];
    for (const auto& [index, handles] : instructions.items()) {
      const auto instruction = AsNumber<int>(index);
      if (!instruction) continue;
      std::vector<std::uint32_t>& instruction_handles = method.instructions[*instruction];
      const auto add = [&](const json& handle) {
        if (handle.is_number_unsigned() && handle.get<std::uint64_t>() <= 0xffffffffU)
          instruction_handles.push_back(handle.get<std::uint32_t>());
      };
      if (handles.is_array()) {
        for (const json& handle : handles) add(handle);
      } else {
        add(handles);
      }
    }
  }
}

// A type of XNNPACK node that partitioners create from a single kind of edge operator, and parts of that
// operator's name.
struct NodeTargets {
  std::string_view node;
  std::initializer_list<std::string_view> targets;
};
const NodeTargets kNodeTargets[] = {{"XNNConv2d", {"conv"}},
                                    {"XNNDepthwiseConv2d", {"conv"}},
                                    {"XNNConvTranspose2d", {"conv"}},
                                    {"XNNFullyConnected", {"linear", "mm"}},
                                    {"XNNBatchMatrixMultiply", {"mm", "matmul"}}};

std::optional<std::string> FindContradiction(const XnnNode& node, const MethodSources& sources) {
  const auto kind = std::ranges::find(kNodeTargets, node.type, &NodeTargets::node);
  if (kind == std::end(kNodeTargets) || !node.debug_handle) return std::nullopt;
  const std::vector<const SourceNode*> recorded_nodes = sources.FindNodes(*node.debug_handle);
  const auto matches = [&](const SourceNode* source) {
    return std::ranges::any_of(
        kind->targets, [&](std::string_view part) { return source->target.find(part) != std::string::npos; });
  };
  if (recorded_nodes.empty() || std::ranges::any_of(recorded_nodes, matches)) return std::nullopt;
  return fmt::format("what the program has as {} is {} there", node.type, recorded_nodes.front()->target);
}

// Returns whether the record lacks a kernel that multiplies matrices. Such a kernel comes from a node of the
// model, so a matching record contains it, unless it is in a branch (torch.cond): ExecuTorch leaves those
// out.
bool IsMissingFromRecord(const Instruction& instruction, const Method& method, const MethodSources& sources) {
  if (instruction.kind != Instruction::Kind::kKernel || instruction.chain != 0) return false;
  const std::string& name = method.operators[instruction.target];
  const bool multiplies_matrices = name.starts_with("aten::convolution.") ||
                                   name.starts_with("aten::addmm.") || name.starts_with("aten::mm.") ||
                                   name.starts_with("aten::bmm.");
  return multiplies_matrices && !sources.instructions.contains(instruction.index);
}

}  // namespace

SourceMap ReadEtrecord(const fs::path& path) {
  const Zip zip(path);
  SourceMap map;
  std::uint64_t remaining = kMaxEdgeBytes;
  std::size_t nodes = 0, locations = 0;
  std::vector<Zip::Entry> programs;
  for (const Zip::Entry& entry : zip.Entries()) {
    const std::string& name = entry.name;
    if (name == kHandleMapName) ReadHandles(zip, entry, map);
    // The files "_state_dict", "_constants" and "_example_inputs" of each program are not JSON.
    if (!name.starts_with(kEdgePrefix) || name.ends_with("_state_dict") || name.ends_with("_constants") ||
        name.ends_with("_example_inputs"))
      continue;
    zip.RequireAtMost(entry, remaining, kMaxEdgeBytes);
    remaining -= entry.bytes;
    programs.push_back(entry);
  }
  for (const Zip::Entry& entry : programs) {
    const std::string& name = entry.name;
    EdgeNodes edge_nodes(map.methods[name.substr(kEdgePrefix.size())], nodes, locations);
    // Attention masks contain -Infinity, which JSON does not have.
    const bool is_json = json::sax_parse(NullForNonFinite(zip.Read(entry)), &edge_nodes);
    if (!edge_nodes.exceeded_limit().empty())
      throw zip.MakeError(fmt::format("{} in it has {}", name, edge_nodes.exceeded_limit()));
    if (!is_json || !edge_nodes.has_nodes())
      throw zip.MakeError(fmt::format("{} in it is not an exported program", name));
  }
  if (programs.empty())
    throw zip.MakeError("holds no edge program: it is not an ETRecord, or one that was written without it");
  return map;
}

std::optional<std::string> FindMismatch(const Program& program, const SourceMap& sources) {
  if (sources.methods.empty()) return std::nullopt;
  bool has_common_method = false;
  for (const Method& method : program.methods) {
    const MethodSources* const found = FindMethodSources(&sources, method.name);
    if (found == nullptr) continue;
    has_common_method = true;
    const auto instructions = std::ranges::count(method.instructions, 0, &Instruction::chain);
    if (!found->instructions.empty()) {
      const int last = found->instructions.rbegin()->first;
      if (last >= instructions)
        return fmt::format("it speaks of instruction {} of {}, which ends at {}", last, method.name,
                           instructions - 1);
    }
    const bool has_branches = method.HasBranches();
    for (const Instruction& instruction : method.instructions) {
      if (!has_branches && IsMissingFromRecord(instruction, method, *found))
        return fmt::format("it does not know instruction {} of {}, {}", instruction.index, method.name,
                           method.operators[instruction.target]);
    }
    for (const Delegate& delegate : method.delegates) {
      if (!delegate.graph) continue;
      for (const XnnNode& node : program.xnn_graphs[*delegate.graph].nodes) {
        if (auto problem = FindContradiction(node, *found)) return problem;
      }
    }
  }
  if (!has_common_method) return fmt::format("it is of a method {}", sources.methods.begin()->first);
  return std::nullopt;
}

SourceMap ReadMatchingEtrecord(const Program& program, const std::filesystem::path& path) {
  SourceMap sources = ReadEtrecord(path);
  if (const auto mismatch = FindMismatch(program, sources)) {
    throw Error(ExitCode::kBadInput, "is of another program: " + *mismatch)
        .InFile(path.string())
        .Remedy("give the .etrecord that the export wrote next to the .pte");
  }
  return sources;
}

}  // namespace etprof
