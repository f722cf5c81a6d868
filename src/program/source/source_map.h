#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

// Where the instructions of a program come from in the PyTorch model: what a .pte.etrecord says.
namespace etprof {

// A torch.nn.Module on the way from the model to what it calls.
struct SourceModule {
  std::string path;  // "features.0.0"; "" is the model itself
  std::string type;  // "torch.nn.modules.conv.Conv2d"
  bool operator==(const SourceModule&) const = default;
};

// A line of Python, as in a traceback.
struct SourceFrame {
  std::string file;  // as the export recorded it
  int line = 0;      // from 1
  std::string function;
  std::string code;  // "" where the record has none
  bool operator==(const SourceFrame&) const = default;
};

// "model.py:12": without the folder, which differs from machine to machine.
std::string LineText(const SourceFrame& frame);

// A node of the edge program, which the .pte was made of.
struct SourceNode {
  std::string name;                   // "aten_convolution_default"
  std::string target;                 // "aten.convolution.default"
  std::vector<SourceModule> modules;  // from the model to the innermost; empty: none was recorded
  std::vector<SourceFrame> frames;    // from the outermost to the innermost; likewise
};

struct MethodSources {
  std::vector<SourceNode> nodes;                              // in the order of the edge program
  std::map<std::uint32_t, std::vector<std::size_t>> handles;  // debug handle: nodes
  std::map<int, std::vector<std::uint32_t>> instructions;     // index of the first chain: debug handles

  // The nodes of a debug handle; empty where the record does not know it.
  std::vector<const SourceNode*> Of(std::uint32_t handle) const;
};

struct SourceMap {
  std::map<std::string, MethodSources> methods;
};

// Of a node: the innermost frame that is not PyTorch's own, which is the line of the model. Null: there is
// none.
const SourceFrame* ModelFrame(const SourceNode& node);

// "L__self__features,features,torch.nn...Sequential;..." as a node's nn_module_stack has it: key, path, type.
std::vector<SourceModule> ParseModuleStack(const std::string& text);

// A node's stack_trace: "File \"model.py\", line 12, in forward\n    return ...".
std::vector<SourceFrame> ParseStackTrace(const std::string& text);

}  // namespace etprof
