#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"
#include "program/xnn/xnn_graph.h"

namespace etprof {

// What a node computes, in words that do not depend on which backend runs it.
struct NodeIdentity {
  std::string kind;  // "Conv2d", "Linear", "Add"; "" where it is not known
  std::string text;  // the kind with what its weights say: "Conv2d 64→64 3x3", "Linear 512→1000"
  // What else a node of XNNPACK's was made with, "stride 2, padding 1"; "" for none, and for kernels.
  std::string settings;
  std::string bounds;  // a fused activation: "ReLU", "ReLU6", "clamp [0, 1]"; "" for none
  // Names of its constants' contents: where two are equal, so are the bytes. XNNPACK's alone have them (the
  // exporter names data by its SHA-256).
  std::vector<std::string> contents;
};

// The kind of "XNNConv2d" (a node), "aten::convolution.out" (a kernel), "Convolution" (XNNPACK's operator).
std::string KindOf(std::string_view name);

NodeIdentity IdentityOf(const XnnNode& node, const XnnGraph& graph);
NodeIdentity IdentityOf(const Instruction& kernel, const Method& method);

}  // namespace etprof
