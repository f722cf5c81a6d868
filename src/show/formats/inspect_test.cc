#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/golden_testing.h"
#include "core/text/escape.h"
#include "format/program/source/source_map.h"
#include "show/formats.h"
#include "show/formats/formats_testing.h"
#include "show/subjects.h"

namespace etprof {
namespace {

using testing::HasSubstr;
using testing::Not;

// A program in which delegates of an unknown backend alternate with kernels, and with more inputs than a
// screen shows.
Program MakeProgram(int steps, std::size_t inputs) {
  Program program;
  program.file_bytes = 123'456'789;
  Method& method = program.methods.emplace_back();
  method.name = "forward";
  method.operators = {"aten::cumsum.out"};
  for (int i = 0; i < steps; ++i) {
    Instruction instruction;
    instruction.index = i;
    if (i % 2 == 0) {
      instruction.kind = Instruction::Kind::kDelegate;
      instruction.target = method.delegates.size();
      method.delegates.emplace_back().backend = "SomeBackend";
    } else {
      instruction.kind = Instruction::Kind::kKernel;
    }
    method.instructions.push_back(instruction);
  }
  for (std::size_t i = 0; i < inputs; ++i) {
    ProgramValue value;
    value.kind = ProgramValue::Kind::kTensor;
    value.tensor.emplace();
    value.tensor->type.name = "float32";
    value.tensor->shape = {static_cast<std::int64_t>(i), 7};
    method.inputs.push_back(method.values.size());
    method.values.push_back(std::move(value));
  }
  return program;
}

std::string RenderProgramScreen(const Program& program, const TerminalOptions& options) {
  return read::RenderScreen(show::MakeInspectDocument(program, "folder/net.pte", nullptr), options);
}

// Sources of MakeProgram(8, 2), as the .etrecord and the .pte.json describe them.
SourceMap MakeSources() {
  SourceMap sources;
  MethodSources& method = sources.methods["forward"];
  method.inputs = {"ids", ""};
  for (std::uint32_t i = 0; i < 4; ++i) {
    SourceNode& node = method.nodes.emplace_back();
    node.modules = {{"", "Net"}, {i < 3 ? fmt::format("layers.{}.norm", i) : "head", "Norm"}};
    if (i == 3) node.frames = {{"a/model.py", 7, "forward", ""}};
    method.handles[10 + i] = {i};
    method.instructions[static_cast<int>(2 * i + 1)] = {10 + i};
  }
  method.hints = {{"Use another norm", "(net.py, line 3)", 3, {10, 11, 12}}};
  return sources;
}

// The short form counts the steps and tensors that it leaves out; if it leaves out nothing, it does not offer
// --all. With the export's files, the screen names the first input, groups the operators by layer, and shows
// the hint; without them, tensors have no column of names.
TEST(InspectTerminal, FitsOneScreenOrShowsAllAndUsesNamesOfTheExport) {
  const Program program = MakeProgram(51, 12);
  const std::string short_text = RenderProgramScreen(program, {});
  EXPECT_THAT(short_text, Not(HasSubstr("[11, 7]")));
  const std::string full_text = RenderProgramScreen(program, {.all = true, .report_path = ""});
  EXPECT_THAT(full_text, Not(HasSubstr("--all")));
  EXPECT_THAT(RenderProgramScreen(MakeProgram(20, 8), {}), Not(HasSubstr("--all")));
  const Program small = MakeProgram(8, 2);
  const SourceMap sources = MakeSources();
  const std::string named =
      read::RenderScreen(show::MakeInspectDocument(small, "net.pte", nullptr, &sources));
  ExpectGolden("show/inspect_screen", GoldenState("51 steps and 12 inputs", short_text) +
                                          GoldenState("51 steps and 12 inputs with --all", full_text) +
                                          GoldenState("8 steps", RenderProgramScreen(small, {})) +
                                          GoldenState("8 steps with the names of the export", named));
}

TEST(InspectTerminal, KeepsToTheWidthAndToAscii) {
  for (const int width : {60, 80, 120}) {
    TerminalOptions options;
    options.width = width;
    read::ExpectWidth(RenderProgramScreen(MakeProgram(9, 3), options), width);
  }
  TerminalOptions options;
  options.ascii = true;
  const std::string screen = RenderProgramScreen(MakeProgram(9, 3), options);
  EXPECT_TRUE(std::ranges::all_of(screen, [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); }));
  EXPECT_THAT(screen, HasSubstr("net.pte - 123 MB\n"));
}

}  // namespace
}  // namespace etprof
