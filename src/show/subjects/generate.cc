#include "report/generate/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/text/text.h"
#include "core/units.h"
#include "core/views.h"
#include "show/subjects.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

// The excess of generating over its steps is only shown above this share.
constexpr double kMinShownExcess = 0.02;

std::string TokensText(std::int64_t count) { return ToText(Count{count}); }

// "as it is, 2 threads"; "2 threads"
std::string VariantName(const GenerationVariant& variant, const GenerationReport& generation) {
  const std::string threads = CountedText(variant.threads, "thread");
  const bool several = std::ranges::any_of(generation.variants, [&](const GenerationVariant& other) {
    return other.threads != generation.variants.front().threads;
  });
  return several && variant.name.find(threads) == std::string::npos ? variant.name + ", " + threads
                                                                    : variant.name;
}

// The comparison of a variant's test with the baseline; null if the variant is in no pair.
const TimeComparison* FindTestComparison(const GenerationReport& generation, std::size_t variant,
                                         const std::string& test) {
  for (const GenerationPair& pair : generation.pairs) {
    if (pair.candidate != variant) continue;
    if (test == kFirstTokenTest) return pair.first_token ? &pair.first_token->time_comparison : nullptr;
    const auto row = std::ranges::find(pair.rows, test, &GenerationPair::Row::test);
    if (row != pair.rows.end()) return &row->time_comparison;
  }
  return nullptr;
}

void AddSpeedupColumns(const GenerationReport& generation, Table& table) {
  if (generation.pairs.empty()) return;
  table.AddColumns(Right("speedup"), Right("interval", "95% CI").WithDropPriority(1));
}
void AddSpeedup(const GenerationReport& generation, std::size_t variant, const std::string& test, Row& row) {
  if (generation.pairs.empty()) return;
  const TimeComparison* const time_comparison = FindTestComparison(generation, variant, test);
  row.Add(CellOrBlank<Speedup>(time_comparison), CellOrBlank<Interval>(time_comparison));
}

// A row for each test and variant, with the variants of a test next to each other.
Table MakeGenerationTestsTable(const GenerationReport& generation) {
  const bool several = generation.variants.size() > 1;
  Table table{.id = "tests", .columns = {Left("test")}};
  if (several) table.AddColumns(Left("variant"));
  table.AddColumns(Right("tokens_per_second", "t/s"), Right("low", "from").WithDropPriority(2),
                   Right("high", "to").WithDropPriority(2), Right("per_token", "per token"));
  AddSpeedupColumns(generation, table);
  std::vector<std::string> names;
  for (const GenerationVariant& variant : generation.variants) {
    for (const GenerationTest& test : variant.tests)
      if (!test.IsEncoder()) AppendUnique(test.name, names);
  }
  for (const std::string& name : names) {
    for (std::size_t v = 0; v < generation.variants.size(); ++v) {
      const GenerationVariant& variant = generation.variants[v];
      const auto test = std::ranges::find(variant.tests, name, &GenerationTest::name);
      if (test == variant.tests.end()) continue;
      Row& row = table.AddRow(name);
      if (several) row.Add(VariantName(variant, generation));
      row.Add(OptionalNumberCell(test->Rate(test->ns)), OptionalNumberCell(test->Rate(test->high)),
              OptionalNumberCell(test->Rate(test->low)), OptionalCell<Time>(test->TimePerToken()));
      AddSpeedup(generation, v, name, row);
    }
  }
  return table;
}

// Times of methods that run once per text, before its first step.
Table MakeEncodersTable(const GenerationReport& generation) {
  Table table{.id = "encoders",
              .columns = {Left("encoder"), Left("variant"), Right("time"),
                          Right("low", "from").WithDropPriority(2), Right("high", "to").WithDropPriority(2)}};
  AddSpeedupColumns(generation, table);
  for (std::size_t v = 0; v < generation.variants.size(); ++v) {
    for (const GenerationTest& test : generation.variants[v].tests) {
      if (!test.IsEncoder()) continue;
      Row& row = table.AddRow(test.name, VariantName(generation.variants[v], generation),
                              OptionalCell<Time>(test.ns), OptionalCell<Time>(test.low),
                              OptionalCell<Time>(test.high));
      AddSpeedup(generation, v, test.name, row);
    }
  }
  return table;
}

Table MakeFirstTokenTable(const GenerationReport& generation) {
  const auto has_encoder_time = [](const std::optional<FirstToken>& first) {
    return first && first->encode > 0;
  };
  const bool has_encoders = std::ranges::any_of(generation.variants, [&](const GenerationVariant& variant) {
    return has_encoder_time(variant.first_token) || has_encoder_time(variant.cold_first_token);
  });
  Table table{.id = "first_token",
              .columns = {Left("variant").WithDifferenceKept(), Right("prompt"), Right("total"),
                          Right("low", "from").WithDropPriority(2), Right("high", "to").WithDropPriority(2),
                          Right("load")}};
  if (has_encoders) table.AddColumns(Right("encode", "encoders"));
  table.AddColumns(Right("prefill"), Right("inputs"), Right("argmax"), Right("between"));
  AddSpeedupColumns(generation, table);
  for (std::size_t v = 0; v < generation.variants.size(); ++v) {
    const auto add = [&](const std::optional<FirstToken>& first, const char* process,
                         const std::string& test) {
      if (!first) return;
      const auto time = [](Nanoseconds ns) { return Cell(Time{static_cast<double>(ns)}); };
      Row& row =
          table.AddRow(VariantName(generation.variants[v], generation) + ", " + process, Count{first->prompt},
                       time(first->total), OptionalCell<Time>(first->low), OptionalCell<Time>(first->high),
                       first->load > 0 ? time(first->load) : Cell(""));
      if (has_encoders) row.Add(time(first->encode));
      row.Add(time(first->prefill), time(first->inputs), time(first->argmax), time(first->between_steps));
      AddSpeedup(generation, v, test, row);
    };
    add(generation.variants[v].first_token, "warm", kFirstTokenTest);
    add(generation.variants[v].cold_first_token, "cold", "");
  }
  return table;
}

// Kernels of matrix products in prefill and in decoding, with the variants of a step next to each other.
Table MakeStepKernelsTable(const GenerationReport& generation) {
  Table table{.id = "kernels", .columns = {Left("kernel").WithBeginningTruncated(), Left("step")}};
  if (generation.variants.size() > 1) table.AddColumns(Left("variant"));
  table.AddColumns(Right("operators", "products"), Left("code", "proven"));
  std::vector<std::pair<const GenerationVariant*, const StepKernel*>> kernels;
  for (const GenerationVariant& variant : generation.variants)
    for (const StepKernel& kernel : variant.kernels) kernels.emplace_back(&variant, &kernel);
  std::ranges::stable_sort(kernels, {}, [](const auto& variant_and_kernel) {
    return std::pair(std::string_view(variant_and_kernel.second->method), -variant_and_kernel.second->tokens);
  });
  for (const auto& [variant, kernel] : kernels) {
    std::string name = kernel->tokens == 1 ? "decoding" : "prefill of " + TokensText(kernel->tokens);
    if (!kernel->method.empty()) name = kernel->tokens == 1 ? kernel->method : kernel->method + ", " + name;
    Row& row = table.AddRow(kernel->kernel.empty() ? "XNNPACK's own" : kernel->kernel, name);
    if (generation.variants.size() > 1) row.Add(VariantName(*variant, generation));
    row.Add(Count{kernel->operators}, kernel->code);
  }
  return table;
}

bool HasMemoryTimes(const DecodeLine& line) {
  return std::ranges::any_of(line.memory_ns, [](const auto& ns) { return ns.has_value(); });
}

// The time of a one-token step at each position, by parts of traced runs, which add up. The main table ends
// with the times of untraced runs.
Table MakeDecodeTable(const DecodeLine& line, const std::vector<DecodeLine::Part>& parts, const char* id,
                      const char* part_name) {
  const bool is_main_table = &parts == &line.parts, by_operator = &parts == &line.operators;
  Table table{.id = id,
              .title = is_main_table ? "" : fmt::format("By {}", part_name),
              .columns = {NameColumn(part_name)},
              .visibility = is_main_table ? Visibility::kDefault : Visibility::kFolded};
  if (by_operator)
    table.AddColumns(Left("key").WithVisibility(Visibility::kPage), Left("category").WithDropPriority(3));
  for (const std::int64_t position : line.positions)
    table.AddColumns(Right(fmt::format("at_{}", position), "at " + TokensText(position)));
  const bool fits = line.line && line.fits;
  if (fits) {
    table.AddColumns(Right("intercept", "at 0"), Right("intercept_interval", "95% CI").WithDropPriority(1),
                     Right("per_1000_tokens", "+ per 1,000"),
                     Right("per_1000_tokens_interval", "95% CI").WithDropPriority(2));
  }
  const auto add = [&](std::vector<Cell> names, const auto& times,
                       const std::optional<stats::LineEstimate>& estimate,
                       Row::Role role = Row::Role::kPlain) {
    Row& row = table.rows.emplace_back(std::move(names), role);
    for (const std::optional<double> ns : times) row.Add(OptionalCell<Time>(ns));
    if (!fits) return;
    if (!estimate) return row.Add(Cell(), Cell(), Cell(), Cell());
    for (const auto& [value, scale] :
         {std::pair(estimate->intercept, 1.0), std::pair(estimate->slope, 1000.0)}) {
      const bool bounded = std::isfinite(value.low) && std::isfinite(value.high);
      row.Add(Time{scale * value.mean},
              bounded ? Cell(TimeBounds{scale * value.low, scale * value.high}) : Cell());
    }
  };
  using Cells = std::vector<Cell>;
  std::vector<double> sums(line.positions.size());
  for (const DecodeLine::Part& part : parts) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += part.means[i];
    add(by_operator ? Cells{part.name, part.key, part.category} : Cells{part.name}, part.means, part.line,
        Row::Role::kPart);
  }
  if (!parts.empty()) {
    add(by_operator ? Cells{kTracedTotal, "", ""} : Cells{kTracedTotal}, sums, line.traced, Row::Role::kSum);
  }
  if (!is_main_table) return table;
  add({"Untraced"}, line.ns, line.line);
  if (HasMemoryTimes(line)) add({"Reading memory"}, line.memory_ns, std::nullopt);
  return table;
}

// States the share of the measured bandwidth that the steps reach.
std::string BandwidthText(const DecodeLine& line) {
  if (!HasMemoryTimes(line)) return "";
  std::optional<double> lowest, highest;
  for (std::size_t i = 0; i < line.positions.size(); ++i) {
    if (!line.memory_ns[i] || !line.ns[i] || *line.ns[i] <= 0) continue;
    const double share = *line.memory_ns[i] / *line.ns[i];
    lowest = std::min(lowest.value_or(share), share);
    highest = std::max(highest.value_or(share), share);
  }
  std::string text =
      "Reading memory: the step's weights and the cache once, at the bandwidth that this run measured for as "
      "many bytes read again and again, with as many threads.";
  if (!lowest) return text;
  if (*highest > 1)
    return text +
           " Steps are faster than that: the bandwidth was measured in a worse moment, or caches hold "
           "some of it.";
  return text +
         (PercentText(*lowest) == PercentText(*highest)
              ? fmt::format(" Steps reach {} of it.", PercentText(*lowest))
              : fmt::format(" Steps reach {} to {} of it.", PercentText(*lowest), PercentText(*highest)));
}

// The latency of a step at each position, for all variants.
Chart MakePositionChart(const GenerationReport& generation) {
  Chart chart;
  chart.axis = "tokens in the cache";
  std::set<std::int64_t> positions;
  for (const GenerationVariant& variant : generation.variants)
    if (variant.line) positions.insert(variant.line->positions.begin(), variant.line->positions.end());
  chart.positions.assign(positions.begin(), positions.end());
  chart.points = MapEach(positions, TokensText);
  for (const GenerationVariant& variant : generation.variants) {
    if (!variant.line) continue;
    const auto add = [&](const std::string& name, const std::vector<std::optional<double>>& values) {
      Chart::Series series{name, std::vector<std::optional<double>>(chart.positions.size()),
                           [](double ns) { return Cell(Duration{ns}); }};
      for (std::size_t i = 0; i < variant.line->positions.size(); ++i) {
        const auto point = std::ranges::lower_bound(chart.positions, variant.line->positions[i]);
        series.values[static_cast<std::size_t>(point - chart.positions.begin())] = values[i];
      }
      chart.series.push_back(std::move(series));
    };
    add(VariantName(variant, generation), variant.line->ns);
    if (HasMemoryTimes(*variant.line))
      add(VariantName(variant, generation) + ", reading memory", variant.line->memory_ns);
  }
  return chart;
}

std::string PositionLineText(const DecodeLine& line) {
  if (!line.line)
    return line.positions.size() > 1
               ? "No line by position: too few launches have undisturbed runs at all positions."
               : "";
  if (!line.fits) {
    return fmt::format("No line by position: at {} the time lies {} off it, so that a slope would mislead.",
                       TokensText(line.positions[line.line->misfit_index]), PercentText(*line.line->misfit));
  }
  // A step cannot do less work with more tokens in the cache: a negative slope is an artifact of the
  // positions.
  const stats::MeanInterval& slope = line.line->slope;
  std::string text = "Steps are not slower at later positions.";
  if (slope.low > 0) {
    text = fmt::format("Each token in the cache adds {} [{}, {}] to a step.", ToText(Duration{slope.mean}),
                       ToText(Duration{slope.low}), ToText(Duration{slope.high}));
  } else if (slope.high >= 0) {
    text = fmt::format(
        "Steps are not measurably slower at later positions: each token in the cache adds {} at "
        "most.",
        ToText(Duration{slope.high}));
  }
  if (line.line->misfit) {
    text += fmt::format(" No position lies more than {} off the line.", PercentText(*line.line->misfit));
  } else {
    text += " Two positions do not show whether it is a line.";
  }
  return text;
}

std::string GenerationText(const GeneratedText& text) {
  std::string result =
      fmt::format("Generated {} after a prompt of {}, {}", CountedText(std::ssize(text.tokens), "token"),
                  TokensText(text.prompt),
                  text.same_in_all_launches ? fmt::format("the same in all {} launches", text.launches)
                                            : "but not the same in all launches");
  if (text.step.p50 && text.step.max) {
    const TailQuantile tail = HighestQuantile(text.step);
    result += fmt::format(": a step takes {}, {} {}", ToText(Duration{*text.step.p50}), tail.name,
                          ToText(Duration{tail.value.value_or(*text.step.max)}));
  }
  result += ".";
  if (text.disturbed > 0)
    result += fmt::format(" In {} of {} launches its threads had to wait: these do not count.",
                          text.disturbed, text.launches);
  if (text.excess_over_line && text.excess_over_line->low > kMinShownExcess) {
    result += fmt::format(" Generating takes {} [{}, {}] more than its steps by themselves.",
                          PercentText(text.excess_over_line->mean), PercentText(text.excess_over_line->low),
                          PercentText(text.excess_over_line->high));
  }
  return result;
}

std::string TextDifferenceText(const GenerationReport& generation, const GenerationPair& pair) {
  if (!pair.texts_compared) return "";
  const std::string names =
      fmt::format("{} and {}", VariantName(generation.variants[pair.baseline], generation),
                  VariantName(generation.variants[pair.candidate], generation));
  if (!pair.first_difference) return names + " generate the same tokens.";
  return fmt::format("{} generate the same {} and then differ.", names,
                     CountedText(*pair.first_difference, "token"));
}

// "2 threads over 1 thread: pp512 1.71x faster, tg128 same"
Answer MakeGenerationAnswer(const GenerationReport& generation, const GenerationPair& pair) {
  std::string text;
  Tone tone = Tone::kPlain;
  for (const GenerationPair::Row& row : pair.rows) {
    if (text.empty()) tone = GetTone(Cell(Speedup{row.time_comparison}));
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", row.test,
                        MakeVerdictTexts(row.time_comparison).verdict);
  }
  return {fmt::format("{} over {}: {}", VariantName(generation.variants[pair.candidate], generation),
                      VariantName(generation.variants[pair.baseline], generation), text),
          "", tone};
}

}  // namespace

Document MakeGenerationDocument(const GenerationReport& generation) {
  const Report& report = *generation.report;
  Document document{.title = HeaderText(report), .section_kind = "variant"};
  const ScheduleData& schedule = report.run.schedule;
  document.measured = fmt::format("{} x {} in {:.0f} s", CountedText(schedule.launches, "launch", "launches"),
                                  CountedText(schedule.rounds, "round"), schedule.seconds);
  if (report.emulated)
    document.answers = {
        {"Emulated CPU: timings are not meaningful; tokens and structure are.", "", Tone::kUnknown}};
  else
    for (const GenerationPair& pair : generation.pairs)
      document.answers.push_back(MakeGenerationAnswer(generation, pair));
  Section tests{"", Visibility::kBrief, {MakeGenerationTestsTable(generation)}};
  tests.AddText(
      "t/s: tokens over the time of the model's runs, in one process, from launch medians of clean runs. pp: "
      "a prompt from an empty cache, in chunks; tg: one token at a time, at a depth (d). Neither has a "
      "tokenizer.");
  for (const GenerationPair& pair : generation.pairs) tests.AddText(TextDifferenceText(generation, pair));
  document.sections = {std::move(tests)};
  Section first_token{"Time to the first token", Visibility::kDefault};
  if (Table table = MakeFirstTokenTable(generation); !table.rows.empty()) {
    first_token.parts = {std::move(table),
                         Paragraph{"cold: from loading the model in a new process, with its file "
                                   "in the system's cache after the first one; warm: in a process "
                                   "that ran before."}};
    for (const GenerationVariant& variant : generation.variants) {
      if (!variant.first_token || variant.first_token->features == 0) continue;
      first_token.AddText(fmt::format(
          "{}: before the prompt stand {} that encoders give, whose prefill is in `prefill`.",
          VariantName(variant, generation), CountedText(variant.first_token->features, "embedding")));
    }
  }
  if (!report.emulated) first_token.AddUnlessEmpty(MakeEncodersTable(generation));
  if (!first_token.parts.empty()) document.sections.push_back(std::move(first_token));
  if (Table table = MakeStepKernelsTable(generation); !table.rows.empty())
    document.sections.push_back(
        {"Kernels of matrix products",
         {std::move(table),
          Paragraph{"Proven: watched runs saw them called. Names of operators do not tell."}}});
  if (Chart chart = MakePositionChart(generation); !chart.positions.empty() && !report.emulated)
    document.sections.push_back({"Latency by position", Visibility::kPage, {std::move(chart)}});
  for (const GenerationVariant& variant : generation.variants) {
    const std::string suffix = generation.variants.size() > 1 ? ": " + VariantName(variant, generation) : "";
    Section section{"Decoding by position" + suffix, Visibility::kDefault};
    if (variant.line && !report.emulated) {
      const DecodeLine& line = *variant.line;
      section.AddUnlessEmpty(MakeDecodeTable(line, line.parts, "decode_by_position", "part"));
      section.AddText(PositionLineText(*variant.line));
      section.AddText(BandwidthText(*variant.line));
      section.AddUnlessEmpty(MakeDecodeTable(line, line.operators, "decode_by_operator", "operator"));
      section.AddUnlessEmpty(MakeDecodeTable(line, line.layers, "decode_by_layer", "layer"));
    }
    if (variant.text) section.AddText(GenerationText(*variant.text));
    if (!section.parts.empty()) document.sections.push_back(std::move(section));
  }
  document.notes = MakeNoteList(report.warnings, "warning");
  document.screen_notes = 3;
  return document;
}

}  // namespace etprof::show
