#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "format/program/program.h"
#include "format/program/xnn/xnn_graph.h"

namespace etprof {

// Describes what a node computes, independently of the backend that runs it.
struct NodeIdentity {
  std::string kind;  // "Conv2d", "Linear", "Add"; "": unknown
  std::string text;  // the kind with the sizes of its weights: "Conv2d 64→64 3x3", "Linear 512→1000"
  // Further parameters of an XNNPACK node: "stride 2, padding 1"; "" for default parameters, and for kernels.
  std::string settings;
  std::string bounds;  // a fused activation: "ReLU", "ReLU6", "clamp [0, 1]"; "": no activation is fused
  // Keys of its constants. Constants with equal keys have equal bytes. Only constants of XNNPACK have keys
  // (the exporter uses the SHA-256 of the data).
  std::vector<std::string> contents;
};

// The kind of "XNNConv2d" (a node), "aten::convolution.out" (a kernel), or "Convolution" (an XNNPACK
// operator).
std::string NodeKind(std::string_view name);

NodeIdentity IdentifyNode(const XnnNode& node, const XnnGraph& graph);
NodeIdentity IdentifyNode(const Instruction& kernel, const Method& method);

}  // namespace etprof
