#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/text/escape.h"
#include "format/program/source/source_map.h"
#include "show/formats.h"
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
  std::ostringstream out;
  RenderDocumentTerminal(show::MakeInspectDocument(program, "folder/net.pte", nullptr), options, out);
  return out.str();
}

TEST(InspectTerminal, FitsOneScreenOrShowsAll) {
  const Program program = MakeProgram(51, 12);
  TerminalOptions options;
  const std::string short_text = RenderProgramScreen(program, options);
  EXPECT_THAT(short_text, HasSubstr("  and 31 more (--all shows them)\n"));
  EXPECT_THAT(short_text, HasSubstr("  and 4 more (--all shows them)\n"));
  EXPECT_THAT(short_text, Not(HasSubstr("[11, 7]")));
  options.all = true;
  const std::string full_text = RenderProgramScreen(program, options);
  EXPECT_THAT(full_text, HasSubstr("[11, 7]"));
  EXPECT_THAT(full_text, HasSubstr("\n  SomeBackend #25   50 "));
  EXPECT_THAT(full_text, Not(HasSubstr("--all")));
  // If everything is on the screen, --all is not offered.
  EXPECT_THAT(RenderProgramScreen(MakeProgram(20, 8), {}), Not(HasSubstr("--all")));
}

// The .etrecord and the .pte.json know names, source locations, and hints.
TEST(InspectTerminal, NamesWhatTheExportKnows) {
  const Program program = MakeProgram(8, 2);
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
  std::ostringstream out;
  RenderDocumentTerminal(show::MakeInspectDocument(program, "net.pte", nullptr, &sources), {}, out);
  const std::string screen = out.str();
  EXPECT_THAT(screen, HasSubstr("layers.*.norm: 3 cumsum\n"));
  EXPECT_THAT(screen, HasSubstr("head (model.py:7): 1 cumsum\n"));
  EXPECT_THAT(screen, HasSubstr("Use another norm: 3 operators (net.py, line 3)\n"));
  EXPECT_THAT(screen, testing::ContainsRegex("input +ids +float32 +\\[0, 7\\]\n"));
  EXPECT_THAT(RenderProgramScreen(program, {}), Not(HasSubstr("tensor  name")));
}

TEST(InspectTerminal, KeepsToTheWidthAndToAscii) {
  for (const int width : {60, 80, 120}) {
    TerminalOptions options;
    options.width = width;
    std::istringstream lines(RenderProgramScreen(MakeProgram(9, 3), options));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), width) << line;
  }
  TerminalOptions options;
  options.ascii = true;
  EXPECT_THAT(RenderProgramScreen(MakeProgram(9, 3), options), HasSubstr("net.pte - 123 MB\n"));
}

}  // namespace
}  // namespace etprof
