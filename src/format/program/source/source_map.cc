#include "format/program/source/source_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/text/text.h"

namespace etprof {
namespace {

// Removes and returns the part of `rest` before `mark`. The mark is also removed.
std::string_view ConsumeUntil(std::string_view& rest, char mark) {
  const std::size_t end = rest.find(mark);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return part;
}

constexpr std::string_view kFileMark = "File \"";
constexpr std::string_view kLineMark = "\", line ";

bool IsPyTorchFile(std::string_view file) {
  for (const std::string_view folder :
       {"site-packages/torch/", "dist-packages/torch/", "site-packages/torchao/", "dist-packages/torchao/",
        "site-packages/executorch/", "dist-packages/executorch/"}) {
    if (file.find(folder) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

std::string FormatLocation(const SourceFrame& frame) {
  return fmt::format("{}:{}", frame.file.substr(frame.file.find_last_of("/\\") + 1), frame.line);
}

const ExportHint* MethodSources::FindHint(const std::vector<std::uint32_t>& debug_handles) const {
  for (const ExportHint& hint : hints) {
    for (const std::uint32_t handle : debug_handles)
      if (std::ranges::find(hint.debug_handles, handle) != hint.debug_handles.end()) return &hint;
  }
  return nullptr;
}

std::vector<const SourceNode*> MethodSources::FindNodes(std::uint32_t handle) const {
  std::vector<const SourceNode*> handle_nodes;
  if (const auto entry = handles.find(handle); entry != handles.end()) {
    for (const std::size_t node : entry->second) handle_nodes.push_back(&nodes[node]);
  }
  return handle_nodes;
}

const MethodSources* FindMethodSources(const SourceMap* sources, const std::string& method) {
  if (sources == nullptr) return nullptr;
  const auto found = sources->methods.find(method);
  return found == sources->methods.end() ? nullptr : &found->second;
}

const SourceFrame* ModelFrame(const SourceNode& node) {
  for (auto frame = node.frames.rbegin(); frame != node.frames.rend(); ++frame) {
    if (!IsPyTorchFile(frame->file)) return &*frame;
  }
  return nullptr;
}

std::vector<SourceModule> ParseModuleStack(const std::string& text) {
  std::vector<SourceModule> modules;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view entry = ConsumeUntil(rest, ';');
    ConsumeUntil(entry, ',');  // skip the key
    const std::string_view path = ConsumeUntil(entry, ',');
    if (!entry.empty()) modules.push_back({std::string(path), std::string(entry)});
  }
  return modules;
}

std::vector<SourceFrame> ParseStackTrace(const std::string& text) {
  std::vector<SourceFrame> frames;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view line = ConsumeUntil(rest, '\n');
    const std::size_t indent = line.find_first_not_of(' ');
    if (indent == std::string_view::npos) continue;
    line.remove_prefix(indent);
    const std::size_t number = line.find(kLineMark);
    if (!line.starts_with(kFileMark) || number == std::string_view::npos) {
      // Python prints the code below the file and line number. Marks ("^^^") below the code are ignored.
      if (!frames.empty() && frames.back().code.empty() &&
          line.find_first_not_of("^~ ") != std::string_view::npos)
        frames.back().code = line;
      continue;
    }
    SourceFrame frame;
    frame.file = line.substr(kFileMark.size(), number - kFileMark.size());
    line.remove_prefix(number + kLineMark.size());
    const auto line_number = ConsumeNumber<int>(line);
    if (!line_number || *line_number < 0) continue;
    frame.line = *line_number;
    if (line.starts_with(", in ")) frame.function = line.substr(5);
    frames.push_back(std::move(frame));
  }
  return frames;
}

}  // namespace etprof
