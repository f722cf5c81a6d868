#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

// The source locations of a program's instructions in the PyTorch model, from a .pte.etrecord.
namespace etprof {

// A torch.nn.Module on the path from the model to an operator.
struct SourceModule {
  std::string path;  // "features.0.0"; "": the model itself
  std::string type;  // "torch.nn.modules.conv.Conv2d"
  bool operator==(const SourceModule&) const = default;
};

// A line of Python in a traceback.
struct SourceFrame {
  std::string file;  // as the export recorded it
  int line = 0;      // from 1
  std::string function;
  std::string code;  // "": not recorded
  bool operator==(const SourceFrame&) const = default;
};

// "model.py:12", without the folder, which differs between machines.
std::string FormatLocation(const SourceFrame& frame);

// A node of the edge program from which the .pte was made.
struct SourceNode {
  std::string name;                   // "aten_convolution_default"
  std::string target;                 // "aten.convolution.default"
  std::vector<SourceModule> modules;  // from the model to the innermost; empty: not recorded
  std::vector<SourceFrame> frames;    // from the outermost to the innermost; empty: not recorded
};

// A piece of advice that `etprof export` wrote into the .pte.json.
struct ExportHint {
  std::string text;                          // "Use ..."
  std::string place;                         // "(model.py, line 12)"; "": not known
  std::size_t operators = 0;                 // number of operators that the hint concerns
  std::vector<std::uint32_t> debug_handles;  // debug handles of these operators
};

struct MethodSources {
  std::vector<SourceNode> nodes;                              // in the order of the edge program
  std::map<std::uint32_t, std::vector<std::size_t>> handles;  // debug handle -> nodes
  std::map<int, std::vector<std::uint32_t>> instructions;     // index in the first chain -> debug handles

  // The names of inputs and outputs from the .pte.json; "" for a value without a name.
  std::vector<std::string> inputs, outputs;
  std::vector<ExportHint> hints;

  // The first hint for one of these debug handles; null if there is no hint for them.
  const ExportHint* FindHint(const std::vector<std::uint32_t>& debug_handles) const;
  // The nodes with a debug handle; empty if the record does not contain it.
  std::vector<const SourceNode*> FindNodes(std::uint32_t handle) const;
};

struct SourceMap {
  std::map<std::string, MethodSources> methods;
};
// Finds the sources of a method in a map that may be null; null: not found.
const MethodSources* FindMethodSources(const SourceMap* sources, const std::string& method);

// The innermost frame of a node that is not in PyTorch, which is the line of the model. Null if all frames
// are in PyTorch.
const SourceFrame* ModelFrame(const SourceNode& node);

// Parses a node's nn_module_stack, "L__self__features,features,torch.nn...Sequential;...": key, path, type.
std::vector<SourceModule> ParseModuleStack(const std::string& text);

// Parses a node's stack_trace, which has the form of a Python traceback.
std::vector<SourceFrame> ParseStackTrace(const std::string& text);

}  // namespace etprof
