// The input is a .pte, which is read, summarized, written as text and JSON, compared with limits and with
// itself, drawn as a graph, and joined to a profile of its operators. Most inputs are valid programs with
// fields that mutate_program.h changed.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "format/program/read/bundled_program.h"
#include "format/program/read/program_reader.h"
#include "format/program/summary.h"
#include "fuzz.h"
#include "mutate_program.h"
#include "profile/analysis/join/join.h"
#include "profile/analysis/testing.h"
#include "report/diff/diff.h"
#include "report/graph/model_graph.h"
#include "report/static_check.h"
#include "show/formats.h"
#include "show/formats/json/json.h"
#include "show/subjects.h"

namespace {

using namespace etprof;

constexpr std::size_t kMaxProfiledOperators = 2000;  // limits small files that call one delegate many times

// The name of the operator that XNNPACK makes from a node, which differs from the node's own name for some
// types.
std::string ExecutedOperatorName(const XnnNode& node) {
  if (node.type == "XNNFullyConnected") return "Fully Connected (NC, F32) GEMM";
  if (node.type == "XNNStaticTranspose") return "Transpose (ND, X32)";
  if (node.type == "XNNConv2d") return "Convolution (NHWC, F32) IGEMM";
  if (node.type == "XNNBatchMatrixMultiply") return "Batch Matrix Multiply (NC, F32)";
  if (node.type.starts_with("XNNConcatenate")) return "Copy (NC, X32)";
  return node.type.size() > 3 ? node.type.substr(3) + " (ND, F32)" : "Unary Elementwise (NC)";
}

// Joins the method to a profile of the operators that it would run.
void CheckJoin(const Program& program, const Method& method) {
  std::vector<handmade::ExecutedInstruction> run;
  std::size_t count = 0;
  for (const Instruction& instruction : method.instructions) {
    if (instruction.chain != 0 || count > kMaxProfiledOperators) break;
    if (instruction.kind == Instruction::Kind::kKernel) {
      run.push_back({instruction.index, {"native_call_" + method.operators[instruction.target]}});
    } else if (instruction.kind == Instruction::Kind::kDelegate) {
      run.push_back({instruction.index, {}});
      const auto& graph = method.delegates[instruction.target].graph;
      if (!graph) continue;
      for (const XnnNode& node : program.xnn_graphs[*graph].nodes)
        run.back().operators.push_back(fmt::format("{} #{}", ExecutedOperatorName(node), ++count));
    }
    ++count;
  }
  const Profile profile = handmade::MakeProfile({run});
  const ProgramJoin join = JoinProgram(profile, program, method, nullptr);
  fuzz::Require(join.problem.empty() ? join.operators.size() == profile.operators.size() : true,
                "every operator has its join");
}

}  // namespace

ETPROF_FUZZ_TARGET(program) {
  fuzz::Accepts({ExitCode::kBadInput}, [&] {
    if (IsBundledProgram(fuzz::Bytes(data, size))) ReadBundledProgram(fuzz::Bytes(data, size), "x.bpte");
    const Program program = ReadProgram(fuzz::Bytes(data, size), "x.pte");
    std::ostringstream text, json;
    RenderDocumentTerminal(show::MakeInspectDocument(program, "x.pte", nullptr), {}, text);
    RenderInspectJson(program, "x.pte", nullptr, json);
    fuzz::Require(nlohmann::json::accept(json.str()), "the JSON is JSON");
    StaticLimits limits;
    for (const FactInfo& info : AllFacts()) limits.limits[info.key] = info.is_minimum ? 1 : 0;
    const StaticCheckInput input{&program, nullptr, "x.pte",
                                 ExtractProgram(fuzz::Bytes(data, size), "x.pte").program};
    CheckStatic(input, limits);
    fuzz::Require(CheckStatic(input, input, {}, true).decision == GateDecision::kPass,
                  "a program is not worse than itself");
    DiffPrograms({&program, nullptr, {}}, {&program, nullptr, {}});
    for (const Method& method : program.methods) {
      std::size_t covered = 0;
      for (const Step& step : Summarize(method, program).steps) {
        fuzz::Require(step.first == covered && step.last >= step.first, "steps follow each other");
        covered = step.last + 1;
      }
      fuzz::Require(covered == method.instructions.size(), "every instruction is in a step");
      BuildModelGraph(method, program, nullptr, true);
      CheckJoin(program, method);
    }
  });
  return 0;
}

#ifdef ETPROF_FUZZ
// libFuzzer's own mutator, for inputs that are not programs.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  // One input in sixteen has random bytes changed, which the reader must tolerate, too.
  const auto mutated =
      seed % 16 == 0 ? std::nullopt : fuzz::MutateProgram(fuzz::Bytes(data, size), seed / 16);
  if (!mutated || mutated->size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(mutated->begin(), mutated->end(), data);
  return mutated->size();
}
#endif
