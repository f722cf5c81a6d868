#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <sstream>

#include "core/escape.h"
#include "core/table.h"
#include "core/units.h"
#include "program/summary.h"
#include "render/inspect.h"
#include "render/screen/terminal_text.h"

namespace etprof {
namespace {

constexpr std::size_t kMostSteps = 20;  // on one screen
constexpr std::size_t kMostTensors = 8;
constexpr int kLeastWhat = 24;  // columns for what a step is

std::string FormatCount(std::optional<std::int64_t> count) {
  return count ? FormatAmount(static_cast<double>(*count)) : "?";
}

std::string BytesText(Bytes bytes) { return FormatBytes(static_cast<double>(bytes)); }

std::string FormatShare(std::optional<double> share) {
  return share ? fmt::format("{:.1f} %", *share * 100) : std::string("-");
}

// "12 Add, 3 Conv2d": XNNPACK's types without their prefix.
std::string CountsText(const Counts& counts, bool one_too) {
  std::string text;
  for (const auto& [name, count] : counts) {
    if (!text.empty()) text += ", ";
    if (count > 1 || one_too) text += fmt::format("{} ", count);
    text += name.starts_with("XNN") ? name.substr(3) : name;
  }
  return OneLine(text);
}

std::string ValueText(const ProgramValue& value) {
  if (!value.tensor) return std::string(NameOf(value.kind));
  const ProgramTensor& tensor = *value.tensor;
  std::string text = tensor.type.name + " " + fmt::format("[{}]", fmt::join(tensor.shape, ", "));
  if (tensor.dynamism == ProgramTensor::Shape::kBounded) text += " at most";
  if (tensor.dynamism == ProgramTensor::Shape::kUnbounded) text += " unbounded";
  return text;
}

void AddTensors(const Method& method, const std::vector<std::size_t>& indices, const char* title, bool all,
                std::string& text) {
  const std::size_t shown = all ? indices.size() : std::min(indices.size(), kMostTensors);
  for (std::size_t i = 0; i < shown; ++i)
    text += fmt::format("  {:<8}  {}\n", i == 0 ? title : "", ValueText(method.values[indices[i]]));
  if (indices.size() > shown)
    text += fmt::format("  {:<8}  ... {} more (--all shows them)\n", "", indices.size() - shown);
}

// "fp16, weights fp32"; of one type alone "fp32".
std::string TypesText(const DelegateSummary& delegate) {
  const std::string tensors = fmt::format("{}", fmt::join(delegate.tensor_types, " "));
  const std::string weights = fmt::format("{}", fmt::join(delegate.weight_types, " "));
  return weights.empty() || weights == tensors ? tensors : tensors + " / " + weights;
}

std::string StepsText(const Method& method, const MethodSummary& summary, const TerminalOptions& options) {
  using Align = Table::Align;
  Table table{{{"step", Align::kRight},
               {"what", Align::kLeft},
               {"nodes", Align::kRight},
               {"MACs", Align::kRight},
               {"share", Align::kRight},
               {"weights", Align::kRight},
               {"types", Align::kLeft}},
              {}};
  const std::size_t shown = options.all ? summary.steps.size() : std::min(summary.steps.size(), kMostSteps);
  for (std::size_t i = 0; i < shown; ++i) {
    const Step& step = summary.steps[i];
    const std::string place =
        step.first == step.last ? fmt::format("{}", step.first) : fmt::format("{}-{}", step.first, step.last);
    std::string what, nodes, weights, types;
    if (step.delegate) {
      const DelegateSummary& delegate = summary.delegates[*step.delegate];
      what = OneLine(method.delegates[*step.delegate].backend) + fmt::format(" #{}", *step.delegate);
      if (delegate.nodes) {
        nodes = fmt::format("{}", *delegate.nodes);
        weights = delegate.constants ? BytesText(*delegate.constants) : "?";
        types = TypesText(delegate);
      }
    } else {
      what = CountsText(step.what, false);
    }
    table.AddRow({place, what, nodes, FormatCount(step.macs), FormatShare(Share(step.macs, summary.macs)),
                  weights, types});
  }
  // Where a line would be too long, the types go, then what a step is gives way.
  const auto width_of = [&](std::size_t column) {
    int widest = DisplayWidth(table.columns[column].title);
    for (const auto& row : table.rows) widest = std::max(widest, DisplayWidth(row[column]));
    return widest;
  };
  int others = 2;
  for (std::size_t column = 0; column < table.columns.size(); ++column)
    others += column == 1 ? 0 : width_of(column) + 2;
  if (others + std::min(kLeastWhat, width_of(1)) > options.width) {
    others -= width_of(table.columns.size() - 1) + 2;
    table.columns.pop_back();
    for (auto& row : table.rows) row.pop_back();
  }
  for (auto& row : table.rows) row[1] = Fitted(row[1], std::max(kLeastWhat, options.width - others));
  std::string text = table.ToText(2);
  if (shown < summary.steps.size())
    text += fmt::format("  ... {} more steps (--all shows them)\n", summary.steps.size() - shown);
  return text;
}

// A title and words, broken at blanks to the width, and indented under the words.
std::string Paragraph(const std::string& title, const std::string& words, int width) {
  const std::size_t indent = 2 + static_cast<std::size_t>(DisplayWidth(title)) + 2;
  std::string text, line = "  " + title + "  ";
  std::size_t begin = 0;
  bool first = true;
  while (begin < words.size()) {
    // ", " ends an entry, which is not broken within.
    std::size_t end = words.find(", ", begin);
    end = end == std::string::npos ? words.size() : end + 1;
    const std::string entry = words.substr(begin, end - begin);
    if (!first && DisplayWidth(line) + 1 + DisplayWidth(entry) > width) {
      text += line + '\n';
      line = std::string(indent, ' ');
      first = true;
    }
    line += (first ? "" : " ") + entry;
    first = false;
    begin = end + 1;
  }
  return text + line + '\n';
}

// Each from a line of its own, wrapped, the title before the first.
std::string EntriesText(std::string title, const std::vector<std::string>& entries, int width) {
  std::ostringstream text;
  for (const std::string& entry : entries) {
    WriteWrapped(title, entry, static_cast<int>(title.size()), width, text);
    title.assign(title.size(), ' ');
  }
  return text.str();
}

// Operators of one reason together: "4 aten::expand_copy.out: XNNPACK has no such operator".
std::string NotDelegatedText(const MethodSummary& summary, int width) {
  std::map<std::string, Counts> by_reason;
  std::size_t between = 0;
  for (const PortableOperator& one : summary.operators) {
    by_reason[one.why].emplace_back(one.name, one.calls);
    between += one.between;
  }
  std::vector<std::string> entries;
  for (const auto& [why, counts] : by_reason)
    entries.push_back(CountsText(counts, true) + (why.empty() ? "" : ": " + OneLine(why)));
  if (between > 0) entries.push_back(fmt::format("{} of them between two delegates", between));
  return EntriesText("  not delegated  ", entries, width);
}

// What multiplies matrices, by the kernels that it would have on a CPU with SME2.
std::string WithSme2Text(const MethodSummary& summary, int width) {
  std::size_t all = 0;
  std::optional<std::int64_t> macs = 0;
  for (const KleidiaiCount& one : summary.kleidiai) {
    all += one.count;
    macs = Sum(macs, one.macs);
  }
  std::vector<std::string> entries;
  for (const KleidiaiCount& one : summary.kleidiai) {
    using Kernels = KleidiaiUse::Kernels;
    std::string words = fmt::format("{} of {} that multiply matrices", one.count, all);
    if (!entries.empty()) words = fmt::format("{} more", one.count);
    if (const auto share = Share(one.macs, macs)) words += fmt::format(" ({} of MACs)", FormatShare(share));
    words += one.use.kernels == Kernels::kSme        ? " run KleidiAI's kernels for it"
             : one.use.kernels == Kernels::kKleidiai ? " run KleidiAI's QP8 kernels, as without"
             : one.use.kernels == Kernels::kUnknown  ? ": not known"
             : one.use.kernels == Kernels::kOwn      ? " run XNNPACK's own: "
                                                     : " run portable: ";
    words += one.use.why + (one.use.change.empty() ? "" : "; " + one.use.change);
    entries.push_back(OneLine(words));
  }
  return EntriesText("  with SME2      ", entries, width);
}

std::string MethodText(const Method& method, const Program& program, const TerminalOptions& options) {
  const int width = options.width;
  const MethodSummary summary = Summarize(method, program);
  std::string head = fmt::format("{} · {} MACs", OneLine(method.name), FormatCount(summary.macs));
  if (const auto share = Share(summary.delegated_macs, summary.macs))
    head += fmt::format(", {} of them delegated", FormatShare(share));
  head += fmt::format(" · planned memory {}", BytesText(summary.planned));
  std::ostringstream wrapped;
  WriteWrapped("", head, 0, width, wrapped);
  std::string text = '\n' + wrapped.str();
  AddTensors(method, method.inputs, "inputs", options.all, text);
  AddTensors(method, method.outputs, "outputs", options.all, text);
  if (!summary.steps.empty()) text += '\n' + StepsText(method, summary, options);
  Counts nodes;
  std::map<std::string, std::size_t> types;
  for (const DelegateSummary& delegate : summary.delegates)
    for (const auto& [name, count] : delegate.node_types) types[name] += count;
  nodes.assign(types.begin(), types.end());
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  text += '\n';
  if (!nodes.empty()) text += Paragraph("XNNPACK nodes", CountsText(nodes, true), width);
  text += NotDelegatedText(summary, width) + WithSme2Text(summary, width);
  if (summary.dynamic) text += "  Shapes that change at run time are counted at their upper bound.\n";
  if (summary.jumps) text += "  The method branches: MACs count each instruction once.\n";
  return text;
}

// What the program expects in a .ptd, and whether it is there.
std::string ExternalText(const std::vector<std::string>& names, const DataFile* data, bool all) {
  const std::string expected = fmt::format("{} names of data are expected in a .ptd", names.size());
  if (data == nullptr) return expected + " (--data FILE.ptd looks whether they are there)";
  const std::vector<std::string> missing = MissingFrom(*data, names);
  if (missing.empty()) return expected + ": all are there";
  std::string text = fmt::format("{}: {} missing: ", expected, missing.size());
  const std::size_t shown = all ? missing.size() : std::min(missing.size(), kMostTensors);
  for (std::size_t i = 0; i < shown; ++i) text += (i > 0 ? ", " : "") + OneLine(missing[i]);
  return text + (missing.size() > shown ? ", ..." : "");
}

void DrawProgram(const Program& program, const std::string& file, const DataFile* data,
                 const TerminalOptions& options, std::ostream& out) {
  Bytes payloads = 0, named = 0;
  std::set<std::pair<std::uint64_t, Bytes>> places;
  for (const Method& method : program.methods)
    for (const Delegate& delegate : method.delegates) places.emplace(delegate.offset, delegate.payload);
  for (const auto& [offset, size] : places) payloads += size;
  std::set<std::size_t> segments;
  for (const NamedData& entry : program.named_data) segments.insert(entry.segment);
  for (const std::size_t segment : segments) named += program.segments[segment].bytes;
  out << fmt::format("{} · {}\n", OneLine(std::filesystem::path(file).filename().string()),
                     BytesText(program.file_bytes));
  WriteWrapped("",
               fmt::format("program {} · delegates' payloads {} · their named data {} · other constants {}",
                           BytesText(program.flatbuffer_bytes), BytesText(payloads), BytesText(named),
                           BytesText(program.constant_bytes + program.mutable_bytes)),
               2, options.width, out);
  const std::vector<std::string> external = ExternalNames(program);
  if (!external.empty()) WriteWrapped("  ", ExternalText(external, data, options.all), 2, options.width, out);
  for (const Method& method : program.methods) out << MethodText(method, program, options);
}

void DrawDataFile(const DataFile& data, const std::string& file, const TerminalOptions& options,
                  std::ostream& out) {
  Bytes all = 0;
  for (const DataSegment& segment : data.segments) all = Sum(all, segment.bytes).value_or(all);
  out << fmt::format("{} · {}\n", OneLine(std::filesystem::path(file).filename().string()),
                     BytesText(data.file_bytes))
      << fmt::format("  list {} · {} of data in {} segments\n\n", BytesText(data.flatbuffer_bytes),
                     BytesText(all), data.segments.size());
  using Align = Table::Align;
  Table table{
      {{"name", Align::kLeft}, {"type", Align::kLeft}, {"shape", Align::kLeft}, {"bytes", Align::kRight}},
      {}};
  for (const DataFileEntry& entry : data.entries) {
    const std::string shape =
        entry.layout ? fmt::format("[{}]", fmt::join(entry.layout->shape, ", ")) : std::string();
    table.AddRow({FittedTail(OneLine(entry.key), std::max(20, options.width - 44)),
                  entry.layout ? entry.layout->type.name : std::string(), shape,
                  BytesText(data.segments[entry.segment].bytes)});
  }
  out << table.ToText(2);
}

TerminalOptions WideEnough(TerminalOptions options) {
  options.width = std::max(kLeastWidth, options.width);
  return options;
}

}  // namespace

void RenderInspectTerminal(const Program& program, const std::string& file, const DataFile* data,
                           const TerminalOptions& options, std::ostream& out) {
  DrawOn(options, out, [&](const TerminalOptions& on, std::ostream& text) {
    DrawProgram(program, file, data, WideEnough(on), text);
  });
}

void RenderDataFileTerminal(const DataFile& data, const std::string& file, const TerminalOptions& options,
                            std::ostream& out) {
  DrawOn(options, out, [&](const TerminalOptions& on, std::ostream& text) {
    DrawDataFile(data, file, WideEnough(on), text);
  });
}

}  // namespace etprof
