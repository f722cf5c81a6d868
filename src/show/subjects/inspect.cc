#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

#include "core/units.h"
#include "format/program/language_model.h"
#include "format/program/program.h"
#include "format/program/read/data_file.h"
#include "format/program/source/source_map.h"
#include "format/program/summary.h"
#include "format/program/tensors.h"
#include "format/program/xnn/memory_estimate.h"
#include "show/subjects.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

constexpr std::size_t kScreenSteps = 20;
constexpr std::size_t kScreenTensors = 8;  // maximum number of inputs, and of outputs
constexpr std::size_t kScreenMissing = 8;
constexpr std::size_t kScreenPlaces = 5;

// "12 Add, 3 Conv2d", without the prefix of XNNPACK's types. `print_single` prints counts of 1, too.
std::string NodeCountsText(const Counts& counts, bool print_single) {
  std::string text;
  for (const auto& [name, count] : counts) {
    if (!text.empty()) text += ", ";
    if (count > 1 || print_single) text += fmt::format("{} ", count);
    text += name.starts_with("XNN") ? name.substr(3) : name;
  }
  return text;
}

std::string ShapeText(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string ShapeText(const ProgramTensor& tensor) {
  return ShapeText(tensor.shape) + DynamismSuffix(tensor.dynamism);
}

Table MakeTensorsTable(const Method& method, const MethodSources& sources) {
  Table table{.id = "tensors",
              .columns = {Left("role", "tensor"), Left("name"), Left("type"), Left("shape")}};
  const auto add = [&](const std::vector<std::size_t>& indices, const char* role,
                       const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const ProgramValue& value = method.values[indices[i]];
      table.AddRow(role, i < names.size() ? names[i] : std::string(),
                   value.tensor ? value.tensor->type.name : GetName(value.kind),
                   value.tensor ? ShapeText(*value.tensor) : std::string());
      if (i >= kScreenTensors) table.rows.back().visibility = Visibility::kPage;
    }
  };
  add(method.inputs, "input", sources.inputs);
  add(method.outputs, "output", sources.outputs);
  return table;
}

// The types of a delegate's tensors and of its weights: "fp16 / fp32"; "fp32" if they are the same.
std::string TypesText(const DelegateSummary& delegate) {
  const std::string tensors = fmt::format("{}", fmt::join(delegate.tensor_types, " "));
  const std::string weights = fmt::format("{}", fmt::join(delegate.weight_types, " "));
  return weights.empty() || weights == tensors ? tensors : tensors + " / " + weights;
}

Table MakeStepsTable(const Method& method, const MethodSummary& summary) {
  Table table{
      .id = "steps",
      .columns = {Left("step"), Right("instructions", "at").WithDropPriority(3),
                  Right("nodes").WithDropPriority(2), Right("macs", "MACs"),
                  Right("share_of_macs", "% of MACs"), Right("weights"), Left("types").WithDropPriority(1)}};
  table.screen_rows = kScreenSteps;
  for (const Step& step : summary.steps) {
    const auto share = etprof::Share(step.macs, summary.facts.macs.Total());
    const std::string range =
        step.first == step.last ? fmt::format("{}", step.first) : fmt::format("{}-{}", step.first, step.last);
    Row& row = table.AddRow(NodeCountsText(step.instruction_counts, false), range, "",
                            OptionalCell<Amount>(step.macs), OptionalCell<Share>(share), "", "");
    if (!step.delegate) continue;
    const DelegateSummary& delegate = summary.delegates[*step.delegate];
    row.cells[0] = fmt::format("{} #{}", method.delegates[*step.delegate].backend, *step.delegate);
    if (!delegate.nodes) continue;
    row.cells[2] = Count{*delegate.nodes};
    row.cells[5] = OptionalCell<Size>(delegate.constants);
    row.cells[6] = TypesText(delegate);
  }
  return table;
}

// Sorts by decreasing count.
Counts SortCounts(const std::map<std::string, std::size_t>& count_by_name) {
  Counts counts(count_by_name.begin(), count_by_name.end());
  std::ranges::stable_sort(counts, std::ranges::greater(), &Counts::value_type::second);
  return counts;
}

Counts CountNodes(const MethodSummary& summary) {
  std::map<std::string, std::size_t> types;
  for (const DelegateSummary& delegate : summary.delegates)
    for (const auto& [name, count] : delegate.node_types) types[name] += count;
  return SortCounts(types);
}

// One fact per reason, with its operators: "4 aten::expand_copy.out: XNNPACK has no such operator".
void AddNotDelegated(const MethodSummary& summary, Facts& facts) {
  std::map<std::string, Counts> by_reason;
  std::size_t between_delegates = 0;
  for (const PortableOperator& entry : summary.operators) {
    by_reason[entry.reason].emplace_back(entry.name, entry.calls);
    between_delegates += entry.between_delegates;
  }
  const auto add = [&](std::string text) { facts.Add("not delegated", std::move(text)); };
  for (const auto& [reason, counts] : by_reason)
    add(NodeCountsText(counts, true) + (reason.empty() ? "" : ": " + reason));
  if (between_delegates > 0) add(fmt::format("{} of them between two delegates", between_delegates));
}

// "layers.*.attention": the path with "*" for its numbers, which equal modules share.
std::string GeneralizePath(const std::string& path) {
  std::string general;
  for (std::string_view remaining = path; !remaining.empty();) {
    const std::string_view part = remaining.substr(0, remaining.find('.'));
    remaining.remove_prefix(std::min(remaining.size(), part.size() + 1));
    const bool is_number = std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
    general += (general.empty() ? "" : ".") + (is_number ? "*" : std::string(part));
  }
  return general.empty() ? "the model itself" : general;
}

// Adds the places of operators that are not delegated, with the most operators first, and the hints of the
// export: "layers.*.attention (model.py:30): 4 expand_copy".
void AddPlaces(const Method& method, const MethodSources& sources, Facts& facts) {
  std::map<std::string, std::map<std::string, std::size_t>> places;
  for (const Instruction& instruction : method.instructions) {
    const auto handles = sources.instructions.find(instruction.index);
    if (instruction.kind != Instruction::Kind::kKernel || instruction.chain != 0 ||
        handles == sources.instructions.end())
      continue;
    for (const std::uint32_t handle : handles->second) {
      const std::vector<const SourceNode*> nodes = sources.FindNodes(handle);
      if (nodes.empty()) continue;
      const SourceNode& node = *nodes.front();
      const SourceFrame* const frame = ModelFrame(node);
      const std::string place = GeneralizePath(node.modules.empty() ? "" : node.modules.back().path) +
                                (frame == nullptr ? "" : " (" + FormatLocation(*frame) + ")");
      std::string_view kernel = method.operators[instruction.target];
      kernel.remove_prefix(kernel.rfind(':') + 1);  // without a colon, npos + 1 is 0
      ++places[place][std::string(kernel.substr(0, kernel.find('.')))];
      break;
    }
  }
  std::vector<std::pair<std::size_t, std::string>> lines;
  for (const auto& [place, kernels] : places) {
    const Counts counts = SortCounts(kernels);
    std::size_t total = 0;
    for (const auto& [name, count] : counts) total += count;
    lines.emplace_back(total, place + ": " + NodeCountsText(counts, true));
  }
  std::ranges::stable_sort(lines, std::ranges::greater(), &std::pair<std::size_t, std::string>::first);
  std::size_t other_operators = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i < kScreenPlaces) {
      facts.Add("at", std::move(lines[i].second));
    } else {
      other_operators += lines[i].first;
    }
  }
  if (other_operators > 0) facts.Add("at", fmt::format("elsewhere: {} more", other_operators));
  for (const ExportHint& hint : sources.hints) {
    facts.Add("hint", fmt::format("{}: {}{}{}", hint.text, CountedText(hint.operators, "operator"),
                                  hint.place.empty() ? "" : " ", hint.place));
  }
}

// Adds the matrix multiplications, by the kernels that they would run on a CPU with SME2.
void AddSme2Kernels(const MethodSummary& summary, Facts& facts) {
  const std::optional<std::int64_t> macs = summary.facts.matrix_macs.Total();
  bool first = true;
  for (const KleidiaiCount& entry : summary.kleidiai) {
    using Kernels = KleidiaiUsage::Kernels;
    std::string text =
        first ? fmt::format("{} of {} that multiply matrices", entry.count, summary.facts.matrix_operators)
              : fmt::format("{} more", entry.count);
    first = false;
    if (const auto share = etprof::Share(entry.macs, macs))
      text += fmt::format(" ({} of MACs)", PercentText(*share));
    text += entry.usage.kernels == Kernels::kSme ? " would run KleidiAI's SME2 kernels"
            : entry.usage.kernels == Kernels::kKleidiai
                ? " would run KleidiAI's kernels for CPUs without SME2: "
            : entry.usage.kernels == Kernels::kUnknown ? ": not known"
            : entry.usage.kernels == Kernels::kXnnpack ? " would run XNNPACK's own: "
                                                       : " would run portable kernels: ";
    text += entry.usage.reason + (entry.usage.change.empty() ? "" : "; " + entry.usage.change);
    facts.Add("with SME2", std::move(text));
  }
}

// Adds the memory that a method needs in addition to the file, and the largest part of the planned memory
// that is in use at once.
void AddMemory(Bytes planned, const std::optional<PlannedPeak>& peak, std::optional<Bytes> packed,
               Bytes repacked, Facts& facts) {
  std::string planned_text = ToText(Size{planned});
  if (peak) {
    planned_text +=
        fmt::format("; peak use {} at instruction {}", ToText(Size{peak->bytes}), peak->instruction);
  }
  if (peak && peak->upper_bound > 0) {
    planned_text +=
        fmt::format(", {} of it for shapes that may be smaller at run time", ToText(Size{peak->upper_bound}));
  }
  facts.Add("planned memory", std::move(planned_text));
  if (packed && *packed > 0) {
    std::string packed_text = fmt::format("at least {}, once loaded by XNNPACK", ToText(Size{*packed}));
    if (repacked > 0)
      packed_text += fmt::format(
          ", {} of it for weights that another operator packs, too (XNNPACK's option weight_cache_enabled "
          "shares them)",
          ToText(Size{repacked}));
    facts.Add("packed weights", std::move(packed_text));
  }
}

// The tensors in use at the peak of the planned memory.
Table MakePlannedPeakTable(const Method& method, const PlannedPeak& peak) {
  Table table{"planned_peak",
              "Planned memory where most is in use",
              {Left("tensor"), Right("size"), Right("first", "from"), Right("last", "to"),
               Left("type").WithDropPriority(1)},
              {},
              Visibility::kPage};
  table.screen_rows = kScreenTensors;
  const auto is_in = [](const std::vector<std::size_t>& values, std::size_t value) {
    return std::ranges::find(values, value) != values.end();
  };
  for (const PlannedTensor& tensor : peak.tensors) {
    const ProgramTensor& program_tensor = *method.values[tensor.value].tensor;
    const std::string role = is_in(method.inputs, tensor.value)    ? ", input"
                             : is_in(method.outputs, tensor.value) ? ", output"
                             : tensor.is_state                     ? ", state"
                                                                   : "";
    table.AddRow(ShapeText(program_tensor) + role, Size{tensor.bytes}, Count{tensor.first},
                 Count{tensor.last}, program_tensor.type.name);
  }
  return table;
}

Section MakeMethodSection(const Method& method, const Program& program, const SourceMap* map) {
  const MethodSources* const found = FindMethodSources(map, method.name);
  const MethodSources sources = found != nullptr ? *found : MethodSources();
  const MethodSummary summary = Summarize(method, program);
  std::string macs = ToText(OptionalCell<Amount>(summary.facts.macs.Total()));
  if (const auto share = summary.facts.macs.ExactShare())
    macs += fmt::format(", {} of them delegated", PercentText(*share));
  // Operators that move data or normalize have no MACs, but may take most of the time.
  if (const auto share = summary.traffic.ExactShare(); share && !summary.operators.empty())
    macs += fmt::format("; of the bytes that operators read and write {}", PercentText(*share));
  Facts facts{"methods", "", {{"MACs", macs}}};
  const std::vector<PlannedTensor> planned = PlannedTensors(method, program);
  const std::optional<PlannedPeak> peak = FindPlannedPeak(planned);
  AddMemory(summary.facts.planned_bytes, peak, PackedBytes(method, program), RepackedBytes(method, program),
            facts);
  if (const auto state = FindMethodState(planned, method, program); state && state->tensors > 0) {
    std::string state_text = fmt::format("{} kept between inferences, {}",
                                         CountedText(state->tensors, "tensor"), ToText(Size{state->bytes}));
    if (const auto bytes_per_token = state->BytesPerToken())
      state_text += fmt::format(": {} for each of {} tokens", ToText(Size{*bytes_per_token}), *state->tokens);
    facts.Add("state", std::move(state_text));
  }
  if (const auto step = FindTokenStep(method); step && FindMethodState(planned, method, program)) {
    const std::string tokens =
        CountedText(step->tokens, "token") + (step->dynamic && step->tokens > 1 ? " or fewer" : "");
    facts.Add("language model",
              fmt::format("a step takes {}{} and {}{}, and gives the logits of {} over a vocabulary of {}",
                          step->takes_embeddings ? "the embeddings of " : "", tokens,
                          step->per_token_positions ? "their positions" : "a position",
                          step->takes_features ? ", with what an encoder gives" : "",
                          step->per_token_logits ? "each token" : "the last token",
                          ToText(Count{step->vocabulary})));
  }
  if (const Counts nodes = CountNodes(summary); !nodes.empty())
    facts.Add("XNNPACK nodes", NodeCountsText(nodes, true));
  AddNotDelegated(summary, facts);
  AddPlaces(method, sources, facts);
  AddSme2Kernels(summary, facts);
  if (summary.dynamic) facts.Add("note", "shapes that change at run time are counted at their upper bound");
  if (summary.has_branches) facts.Add("note", "the method branches: MACs count each instruction once");
  Section section{method.name,
                  {std::move(facts), MakeTensorsTable(method, sources), MakeStepsTable(method, summary)}};
  if (peak) section.parts.emplace_back(MakePlannedPeakTable(method, *peak));
  return section;
}

// The constants that methods without instructions return.
Table MakeMethodMetadataTable(const Program& program) {
  Table table{
      .id = "metadata", .title = "Metadata", .columns = {Left("method"), Left("value"), Left("type")}};
  for (const Method& method : program.methods) {
    if (!method.IsMetadata()) continue;
    std::vector<std::string> values, types;
    for (const std::size_t output : method.outputs) {
      const ProgramValue& value = method.values[output];
      values.push_back(ConstantText(value).value_or(value.tensor ? ShapeText(*value.tensor) : "not known"));
      types.emplace_back(value.tensor ? value.tensor->type.name : GetName(value.kind));
    }
    if (std::ranges::adjacent_find(types, std::ranges::not_equal_to()) == types.end()) types.resize(1);
    table.AddRow(method.name, fmt::format("{}", fmt::join(values, ", ")),
                 fmt::format("{}", fmt::join(types, ", ")));
  }
  return table;
}

// The number of names that the program expects in a .ptd, and those of them that `data` lacks.
std::vector<Part> MakeExternalParts(const std::vector<std::string>& names, const DataFile* data) {
  if (names.empty()) return {};
  const std::string expected = fmt::format("{} names of data are expected in a .ptd", names.size());
  if (data == nullptr) return {Paragraph{expected + " (--data FILE.ptd checks whether they are there)"}};
  const std::vector<std::string> missing = FindMissing(*data, names);
  if (missing.empty()) return {Paragraph{expected + ": all are there"}};
  return {
      Paragraph{fmt::format("{}: {} are missing", expected, missing.size())},
      List{.title = "missing", .items = {missing.begin(), missing.end()}, .screen_items = kScreenMissing}};
}

Document MakeFileDocument(const std::string& file, Bytes bytes,
                          const std::vector<std::pair<const char*, Bytes>>& parts) {
  Document document{.title = std::filesystem::path(file).filename().string(),
                    .section_kind = "method",
                    .facts = {ToText(Size{bytes})}};
  Table table{.id = "sizes", .columns = {Left("part"), Right("size")}};
  for (const auto& [name, size] : parts) table.AddRow(name, Size{size});
  document.sections = {{"", {std::move(table)}}};
  return document;
}

}  // namespace

Document MakeInspectDocument(const Program& program, const std::string& file, const DataFile* data,
                             const SourceMap* sources) {
  Document document = MakeFileDocument(file, program.file_bytes,
                                       {{"program", InstructionBytes(program)},
                                        {"delegates' payloads", PayloadBytes(program)},
                                        {"delegates' named data", NamedDataBytes(program)},
                                        {"other constants", program.constant_bytes + program.mutable_bytes}});
  Section& section = document.sections.front();
  std::ranges::move(MakeExternalParts(ExternalTensorKeys(program), data),
                    std::inserter(section.parts, section.parts.begin()));
  for (const Program::TestCases& tests : program.test_cases) {
    section.AddText(fmt::format(
        "Bundled program: {} of {}.{}", CountedText(tests.count, "test case"), tests.method,
        tests.count > 0 ? " A measurement uses the first one's inputs, and compares the outputs." : ""));
  }
  section.AddUnlessEmpty(MakeMethodMetadataTable(program));
  for (const Method& method : program.methods)
    if (!method.IsMetadata()) document.sections.push_back(MakeMethodSection(method, program, sources));
  return document;
}

Document MakeInspectDocument(const DataFile& data, const std::string& file) {
  Bytes data_bytes = 0;
  for (const DataSegment& segment : data.segments)
    data_bytes = CheckedSum(data_bytes, segment.bytes).value_or(data_bytes);
  Document document =
      MakeFileDocument(file, data.file_bytes, {{"list", data.flatbuffer_bytes}, {"data", data_bytes}});
  Table table{.id = "data",
              .columns = {Left("name").WithBeginningTruncated(), Left("type"), Left("shape"), Right("size")}};
  for (const DataFileEntry& entry : data.entries) {
    table.AddRow(entry.key, entry.layout ? entry.layout->type.name : std::string(),
                 entry.layout ? ShapeText(entry.layout->shape) : std::string(),
                 Size{data.segments[entry.segment].bytes});
  }
  document.facts.push_back(fmt::format("{} segments", data.segments.size()));
  document.sections.front().parts.emplace_back(std::move(table));
  return document;
}

}  // namespace etprof::show
