#include "report/suite/suite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/units.h"
#include "show/gates.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

constexpr std::size_t kScreenSuiteOperators = 10, kMaxSuiteOperators = 50, kScreenSuiteFailures = 10;

std::string SuiteCellName(const SuiteCellReport& cell) {
  return SuiteProgramName(cell.model, cell.dtype) + " on " + cell.device;
}

// Names a pair or a variant by the labels of its two variants.
std::string PairName(const auto& pair) {
  return fmt::format("{} against {}", pair.candidate_label, pair.baseline_label);
}

class SuiteDocument {
 public:
  explicit SuiteDocument(const SuiteReport& suite) : suite_(suite) {
    for (const SuiteCellReport& cell : suite.cells) {
      const std::pair row(cell.model, cell.dtype);
      if (std::ranges::find(programs_, row) == programs_.end()) programs_.push_back(row);
    }
  }

  Document Make() const {
    Document document;
    document.title = "etprof suite";
    document.section_kind = "section";
    if (!suite_.name.empty()) document.facts.push_back(suite_.name);
    document.facts.push_back(CountedText(programs_.size(), "program"));
    document.facts.push_back(fmt::format("{}", fmt::join(suite_.devices, ", ")));
    document.answers_last = true;
    document.answers = {Conclusion()};
    document.sections.push_back({"Latency", {MakeLatencyTable()}});
    for (const auto& [variant, name] : Variants())
      document.sections.push_back({name, {MakeVerdictsTable(variant)}});
    if (!suite_.variants.empty()) document.sections.push_back(MakeVariantsSection());
    if (!suite_.dtypes.empty())
      document.sections.push_back(
          {"Speedup by data type",
           {MakeDtypesTable(),
            Paragraph{"The data types of a model were measured one after the other: their intervals "
                      "allow for drift.",
                      Visibility::kPage}}});
    document.sections.push_back(MakeSettingsSection());
    if (!suite_.confirmations.empty()) document.sections.push_back(MakeConfirmedSection());
    if (suite_.limit) document.sections.push_back({"Limit", {MakeLimitTable()}});
    document.sections.push_back({"Slowest operators", {MakeOperatorsTable()}});
    if (Table failures = MakeFailuresTable(); !failures.rows.empty())
      document.sections.push_back({"Failures", Visibility::kBrief, {std::move(failures)}});
    document.sections.push_back({"Cells", Visibility::kPage, {MakeCellsTable()}});
    if (Section absent = MakeEmptyTables(); !absent.parts.empty())
      document.sections.push_back(std::move(absent));
    document.notes = MakeNotes();
    document.method = fmt::format(
        "The variants of a cell were interleaved. All verdicts are one family, whose false discovery rate is "
        "controlled at {:g}% (Benjamini-Hochberg). Their intervals are adjusted for that. A variant's "
        "interval over models is Student's t, with the model as its unit: it says what to expect of another "
        "such model.",
        100 * suite_.false_discovery_rate);
    return document;
  }

  Answer Conclusion() const {
    const std::size_t measured = suite_.Count(SuiteCellStatus::kMeasured);
    std::string text = fmt::format("{} of {} measured", measured, CountedText(suite_.cells.size(), "cell"));
    const auto add = [&](std::size_t count, const char* word) {
      if (count > 0) text += fmt::format(", {} {}", count, word);
    };
    add(suite_.Count(SuiteCellStatus::kFailed), "failed");
    add(suite_.Count(SuiteCellStatus::kSkipped), "skipped");
    add(suite_.Count(SuiteCellStatus::kPending), "not yet measured");
    std::vector<std::string> verdicts;
    using enum stats::Verdict;
    for (const stats::Verdict verdict : {kFaster, kSlower, kSame, kInconclusive, kContended, kEmulated}) {
      std::size_t count = 0;
      for (const SuiteCellReport& cell : suite_.cells) {
        for (const SuitePair& pair : cell.pairs) count += pair.latency.verdict == verdict ? 1 : 0;
      }
      if (count > 0) verdicts.push_back(fmt::format("{} {}", count, etprof::GetName(verdict)));
    }
    if (!verdicts.empty()) text += fmt::format("; {}", fmt::join(verdicts, ", "));
    if (suite_.limit && verdicts.empty()) text += "; there are no variants to compare";
    if (!suite_.limit) return {text, "", suite_.has_error ? Tone::kBad : Tone::kPlain};
    return Headline(suite_.decision, suite_.require_conclusive, suite_.has_error, text);
  }

 private:
  const SuiteCellReport* FindCell(const std::pair<std::string, std::string>& program,
                                  const std::string& device) const {
    const auto found = std::ranges::find_if(suite_.cells, [&](const SuiteCellReport& cell) {
      return cell.model == program.first && cell.dtype == program.second && cell.device == device;
    });
    return found == suite_.cells.end() ? nullptr : &*found;
  }

  // A table of programs by devices; `make_cell` makes the table's cell for a cell of the suite.
  Table MakeProgramsTable(const std::string& id, const auto& make_cell) const {
    Table table{.id = id, .columns = {Left("model").WithDifferenceKept(), Left("dtype", "type")}};
    for (const std::string& device : suite_.devices) table.columns.push_back(VariantColumn(device, device));
    for (const auto& program : programs_) {
      Row& row = table.AddRow(program.first, program.second);
      for (const std::string& device : suite_.devices) {
        const SuiteCellReport* const cell = FindCell(program, device);
        row.Add(cell == nullptr ? Cell("") : make_cell(*cell));
      }
    }
    return table;
  }

  static Cell VerdictCell(stats::Verdict verdict) { return Cell(etprof::GetName(verdict), Tone::kUnsure); }

  static Cell StatusCell(const SuiteCellReport& cell) {
    if (cell.IsContended()) return VerdictCell(stats::Verdict::kContended);
    if (cell.status == SuiteCellStatus::kMeasured) return {};
    return Cell(etprof::GetName(cell.status),
                cell.status == SuiteCellStatus::kFailed ? Tone::kBad : Tone::kUnsure);
  }

  Table MakeLatencyTable() const {
    return MakeProgramsTable("latency", [](const SuiteCellReport& cell) {
      const std::optional<double>& latency_ns = cell.Unmodified().latency_ns;
      return latency_ns ? Cell(Duration{*latency_ns}) : StatusCell(cell);
    });
  }

  // The distinct variants, named as in their first pair.
  std::vector<std::pair<std::string, std::string>> Variants() const {
    std::vector<std::pair<std::string, std::string>> variants;
    for (const SuiteCellReport& cell : suite_.cells) {
      for (const SuitePair& pair : cell.pairs) {
        const bool known = std::ranges::find(variants, pair.variant,
                                             &std::pair<std::string, std::string>::first) != variants.end();
        if (!known) variants.emplace_back(pair.variant, "Speedup: " + PairName(pair));
      }
    }
    return variants;
  }

  static const SuitePair* FindPair(const SuiteCellReport& cell, const std::string& variant) {
    const auto found = std::ranges::find(cell.pairs, variant, &SuitePair::variant);
    return found == cell.pairs.end() ? nullptr : &*found;
  }

  Table MakeVerdictsTable(const std::string& variant) const {
    return MakeProgramsTable("verdicts", [&](const SuiteCellReport& cell) {
      const SuitePair* const pair = FindPair(cell, variant);
      if (pair == nullptr) return StatusCell(cell);
      const stats::Verdict verdict = pair->latency.verdict;
      if (verdict == stats::Verdict::kEmulated || verdict == stats::Verdict::kContended)
        return VerdictCell(verdict);
      return Cell(Speedup{pair->latency});
    });
  }

  Table MakeVariantsTable() const {
    Table table{
        .id = "variants",
        .columns = {Left("variant"), Left("device"), Right("geometric_mean", "geometric mean").NeverDropped(),
                    Right("interval"), Left("verdict").NeverDropped(), Right("models").WithDropPriority(2),
                    Right("ratios").WithDropPriority(1)}};
    table.min_name_width = 28;
    for (const SuiteVariant& variant : suite_.variants) {
      TimeComparison time_comparison;
      time_comparison.estimate = variant.estimate;
      time_comparison.verdict = variant.verdict;
      table.AddRow(PairName(variant), variant.device.empty() ? "all" : variant.device,
                   OptionalCell<Ratio>(variant.ratio),
                   variant.estimate ? Cell(Interval{time_comparison}) : Cell(),
                   variant.estimate ? etprof::GetName(variant.verdict) : "needs two models",
                   Count{variant.models}, Count{variant.ratios});
    }
    return table;
  }

  Section MakeVariantsSection() const {
    return {"Speedup by variant",
            Visibility::kBrief,
            {MakeVariantsTable(),
             Paragraph{"The interval's unit is the model: the ratios of a model's data types (and "
                       "devices) are averaged first.",
                       Visibility::kPage}}};
  }

  Table MakeDtypesTable() const {
    Table table{.id = "dtypes",
                .columns = {Left("model").WithDifferenceKept(), Left("device"), Left("dtype", "type"),
                            Left("against"), Right("latency").WithDropPriority(2),
                            Right("baseline").WithDropPriority(1), Right("speedup"), Right("interval"),
                            Left("verdict").NeverDropped()}};
    for (const SuiteDtype& dtype : suite_.dtypes) {
      table.AddRow(dtype.model, dtype.device, dtype.candidate, dtype.baseline,
                   OptionalCell<Duration>(dtype.latency.candidate_ns),
                   OptionalCell<Duration>(dtype.latency.baseline_ns), Speedup{dtype.latency},
                   Interval{dtype.latency}, etprof::GetName(dtype.latency.verdict));
    }
    return table;
  }

  Section MakeSettingsSection() const {
    Section section{"Settings", {MakeSettingsTable()}};
    section.AddText(
        "Frontier: no other setting of the model on the device is as good or better in latency, "
        "SQNR, and peak memory, and measurably better in one. Ties stay on it.");
    const auto any_setting = [&](const auto& matches) {
      return std::ranges::any_of(suite_.cells, [&](const SuiteCellReport& cell) {
        return std::ranges::any_of(cell.settings, matches);
      });
    };
    if (suite_.confirmations.empty() && any_setting([](const SuiteSetting& setting) {
          return setting.frontier_status == FrontierStatus::kDominated;
        }))
      section.AddText(
          "These launches found the frontier, so they name no winner: `\"confirm\": true` in the "
          "suite's file measures it again.");
    if (any_setting([](const SuiteSetting& setting) {
          return setting.sqnr.empty() && setting.frontier_status == FrontierStatus::kFrontier;
        }))
      section.AddText(
          "A setting without SQNR is compared only with those of the same program: it neither "
          "dominates others nor is dominated.");
    if (any_setting(
            [](const SuiteSetting& setting) { return setting.frontier_status == FrontierStatus::kExcluded; }))
      section.AddText(
          "Settings with other CPU features or with rests between runs are no choices, and take no part.");
    return section;
  }

  Section MakeConfirmedSection() const {
    Section section{"Confirmed", Visibility::kBrief, {MakeConfirmedTable()}};
    for (const SuiteConfirmation& confirmation : suite_.confirmations) {
      const SuiteCellReport& cell = confirmation.cell;
      const auto fastest = std::ranges::find(cell.settings, confirmation.fastest, &SuiteSetting::label);
      const auto index = static_cast<std::size_t>(fastest - cell.settings.begin());
      const std::string subject = fmt::format("{} on {}", cell.model, cell.device);
      if (cell.status != SuiteCellStatus::kMeasured) {
        section.AddText(fmt::format("{}: {}, {}", subject, etprof::GetName(cell.status),
                                    cell.reason.empty() ? "and names no winner" : cell.reason));
      } else if (confirmation.fastest.empty() || index == 0 || index > cell.pairs.size()) {
        section.AddText(
            fmt::format("{}: no setting is measurably faster than {}.", subject, cell.experiment));
      } else {
        const TimeComparison& latency = cell.pairs[index - 1].latency;
        section.AddText(
            FormatText("{}: {} is fastest, {} faster than {} {}{}.", subject, confirmation.fastest,
                       Speedup{latency}, cell.experiment, Interval{latency},
                       confirmation.tied.empty()
                           ? std::string()
                           : fmt::format(". Not measurably slower: {}", fmt::join(confirmation.tied, "; "))));
      }
    }
    section.AddText(
        "The settings of a frontier, at most the four fastest and the model as it is, were measured "
        "again, interleaved. Only these launches decide here.",
        Visibility::kPage);
    return section;
  }

  Table MakeConfirmedTable() const {
    Table table{.id = "confirmed",
                .columns = {Left("model").WithDifferenceKept(), Left("device").WithDropPriority(3),
                            Left("setting"), Right("latency"), Right("speedup").NeverDropped(),
                            Right("interval"), Left("verdict").NeverDropped(), Right("sqnr_db", "SQNR, dB"),
                            Right("peak_memory", "peak memory").WithDropPriority(2),
                            Right("load").WithDropPriority(1)}};
    for (const SuiteConfirmation& confirmation : suite_.confirmations) {
      const SuiteCellReport& cell = confirmation.cell;
      for (std::size_t i = 0; i < cell.settings.size() && i <= cell.pairs.size(); ++i) {
        const SuiteSetting& setting = cell.settings[i];
        const TimeComparison* const latency = i > 0 ? &cell.pairs[i - 1].latency : nullptr;
        table.AddRow(
            cell.model, cell.device, setting.label,
            setting.latency_ns ? Cell(Time{*setting.latency_ns}) : VerdictCell(stats::Verdict::kContended),
            CellOrBlank<Speedup>(latency), CellOrBlank<Interval>(latency),
            latency != nullptr ? etprof::GetName(latency->verdict) : "", SqnrCell(setting),
            OptionalCell<Size>(setting.peak_memory), OptionalCell<Time>(setting.load_ns));
      }
    }
    return table;
  }

  static Cell SqnrCell(const SuiteSetting& setting) {
    const std::optional<double> db = setting.LowestSqnr();
    if (!db) return {};
    return std::isinf(*db) ? Cell("equal") : Cell(Number{*db, ""});
  }

  static Cell FrontierCell(const SuiteSetting& setting) {
    if (setting.frontier_status == FrontierStatus::kExcluded) return "";
    return Cell(etprof::GetName(setting.frontier_status),
                setting.frontier_status == FrontierStatus::kFrontier  ? Tone::kGood
                : setting.frontier_status == FrontierStatus::kUnknown ? Tone::kUnknown
                                                                      : Tone::kPlain);
  }

  // One row for each way to run a program.
  Table MakeSettingsTable() const {
    struct CellSetting {
      const SuiteCellReport& cell;
      const SuiteSetting& setting;
    };
    std::vector<CellSetting> all;
    for (const SuiteCellReport& cell : suite_.cells) {
      for (const SuiteSetting& setting : cell.settings) all.push_back({cell, setting});
    }
    // Only the device distinguishes the rows of a setting that several devices measured.
    const int device_drop_priority = suite_.devices.size() > 1 ? 6 : 3;
    Table table{.id = "settings"};
    table.Fill<CellSetting>(
        {{Left("model").WithDifferenceKept(), [](const CellSetting& row) { return Cell(row.cell.model); }},
         {Left("dtype", "type"), [](const CellSetting& row) { return Cell(row.cell.dtype); }},
         {Left("device").WithDropPriority(device_drop_priority),
          [](const CellSetting& row) { return Cell(row.cell.device); }},
         {Left("setting"), [](const CellSetting& row) { return Cell(row.setting.label); }},
         {Right("latency"),
          [](const CellSetting& row) {
            if (row.setting.latency_ns) return Cell(Time{*row.setting.latency_ns});
            return row.cell.status == SuiteCellStatus::kMeasured ? VerdictCell(stats::Verdict::kContended)
                                                                 : StatusCell(row.cell);
          }},
         {Right("interval").WithDropPriority(4),
          [](const CellSetting& row) { return MakeBoundsCell(row.setting.interval); }},
         {Right("sqnr_db", "SQNR, dB"), [](const CellSetting& row) { return SqnrCell(row.setting); }},
         {Right("peak_memory", "peak memory").WithDropPriority(5),
          [](const CellSetting& row) { return OptionalCell<Size>(row.setting.peak_memory); }},
         {Right("load").WithDropPriority(2),
          [](const CellSetting& row) { return OptionalCell<Time>(row.setting.load_ns); }},
         {Right("load_interval", "interval").WithDropPriority(1).WithVisibility(Visibility::kPage),
          [](const CellSetting& row) { return MakeBoundsCell(row.setting.load_interval); }},
         {Left("frontier").NeverDropped(), [](const CellSetting& row) { return FrontierCell(row.setting); }},
         {Left("dominated_by", "dominated by").WithDropPriority(1).WithVisibility(Visibility::kPage),
          [](const CellSetting& row) { return Cell(row.setting.dominated_by); }}},
        all);
    return table;
  }

  Table MakeLimitTable() const {
    Table table{.id = "limit",
                .columns = {Left("cell"), Left("pair").WithDropPriority(1), Right("change").NeverDropped(),
                            Left("result").NeverDropped()}};
    for (const SuiteCellReport& cell : suite_.cells) {
      for (const SuitePair& pair : cell.pairs) {
        const GateVerdict& gate = pair.gate;
        table.AddRow(SuiteCellName(cell), PairName(pair), ChangeCell(gate.growth, gate.low, gate.high),
                     ResultCell(gate.decision));
      }
    }
    return table;
  }

  Table MakeOperatorsTable() const {
    Table table{.id = "operators",
                .columns = {NameColumn("operator"), Left("model"), Left("dtype", "type"),
                            Left("device").WithDropPriority(1), Right("self", "self time"),
                            Right("share", "% of total")},
                .screen_rows = kScreenSuiteOperators};
    struct CellOperator {
      const SuiteCellReport* cell;
      const SuiteOperator* op;
    };
    std::vector<CellOperator> all;
    for (const SuiteCellReport& cell : suite_.cells) {
      for (const SuiteOperator& op : cell.operators) all.push_back({&cell, &op});
    }
    std::ranges::stable_sort(all, std::greater(), [](const CellOperator& row) { return row.op->self_ns; });
    if (all.size() > kMaxSuiteOperators) all.resize(kMaxSuiteOperators);
    for (const auto& [cell, op] : all) {
      table.AddRow(
          op->name, cell->model, cell->dtype, cell->device,
          cell->IsContended() ? VerdictCell(stats::Verdict::kContended) : Cell(Duration{op->self_ns}),
          Share{op->share});
    }
    return table;
  }

  Table MakeFailuresTable() const {
    Table table{.id = "failures",
                .columns = {Left("model"), Left("dtype", "type"), Left("device"), Left("status"),
                            Left("reason").WithWrapping()},
                .screen_rows = kScreenSuiteFailures};
    for (const SuiteCellReport& cell : suite_.cells) {
      if (cell.reason.empty()) continue;
      table.AddRow(cell.model, cell.dtype, cell.device, etprof::GetName(cell.status), cell.reason);
    }
    return table;
  }

  // Tables without data in this suite, without rows, so that CSV offers every id.
  Section MakeEmptyTables() const {
    Section section{"", Visibility::kDefault};
    const auto add = [&](bool absent, Table table) {
      table.rows.clear();
      if (absent) section.parts.emplace_back(std::move(table));
    };
    add(Variants().empty(), MakeVerdictsTable(""));
    add(suite_.variants.empty(), MakeVariantsTable());
    add(suite_.dtypes.empty(), MakeDtypesTable());
    add(suite_.confirmations.empty(), MakeConfirmedTable());
    add(!suite_.limit, MakeLimitTable());
    add(MakeFailuresTable().rows.empty(), MakeFailuresTable());
    return section;
  }

  // One row per pair, for further processing.
  Table MakeCellsTable() const {
    Table table{.id = "cells",
                .columns = {Left("model"), Left("dtype", "type"), Left("device"), Left("pair"),
                            Right("baseline"), Right("candidate"), Right("speedup"), Right("interval"),
                            Left("verdict").NeverDropped(), Right("launches").WithDropPriority(2),
                            Left("run_directory", "results").WithDropPriority(1)}};
    for (const SuiteCellReport& cell : suite_.cells) {
      for (const SuitePair& pair : cell.pairs) {
        table.AddRow(cell.model, cell.dtype, cell.device, PairName(pair),
                     OptionalCell<Duration>(pair.latency.baseline_ns),
                     OptionalCell<Duration>(pair.latency.candidate_ns), Speedup{pair.latency},
                     Interval{pair.latency}, etprof::GetName(pair.latency.verdict), Count{pair.launches},
                     cell.folder);
      }
      if (cell.pairs.empty()) {
        table.AddRow(cell.model, cell.dtype, cell.device, cell.experiment, Cell(),
                     OptionalCell<Duration>(cell.Unmodified().latency_ns), Cell(), Cell(),
                     etprof::GetName(cell.status), Count{cell.launches}, cell.folder);
      }
    }
    return table;
  }

  std::vector<Note> MakeNotes() const {
    std::vector<Note> notes;
    if (std::ranges::any_of(suite_.cells, &SuiteCellReport::emulated))
      notes.push_back({"Where a CPU was emulated, timings are not meaningful."});
    for (const SuiteCellReport& cell : suite_.cells) {
      for (const SuitePair& pair : cell.pairs) {
        if (!pair.inconclusive_reason.empty() && !cell.emulated)
          notes.push_back(
              {fmt::format("{}: {}: {}", SuiteCellName(cell), PairName(pair), pair.inconclusive_reason),
               "warning"});
      }
    }
    return notes;
  }

  const SuiteReport& suite_;
  std::vector<std::pair<std::string, std::string>> programs_;  // distinct models with data types, in order
};

std::string PairLine(const SuitePair& pair, const std::optional<double>& limit) {
  std::string text = fmt::format("{}: {}", PairName(pair), etprof::GetName(pair.latency.verdict));
  if (pair.latency.EstimateUnlessEmulated())
    text += fmt::format(", {} {}", ToText(Cell(Speedup{pair.latency})), ToText(Cell(Interval{pair.latency})));
  if (!limit) return text;
  return fmt::format("{}, allowed {}: {}", text, ChangeText(*limit), ResultText(pair.gate.decision));
}

}  // namespace

Document MakeSuiteDocument(const SuiteReport& suite) { return SuiteDocument(suite).Make(); }

TestSuite MakeTestSuite(const SuiteReport& suite) {
  TestSuite tests{.command = "suite",
                  .subject = suite.name,
                  .properties = {{"suite", suite.folder},
                                 {"false_discovery", fmt::format("{:g}", suite.false_discovery_rate)}}};
  using Outcome = TestSuite::Outcome;
  const bool has_pairs =
      std::ranges::any_of(suite.cells, [](const SuiteCellReport& cell) { return !cell.pairs.empty(); });
  for (const SuiteCellReport& cell : suite.cells) {
    tests.seconds += cell.seconds;
    TestSuite::Case cell_case{SuiteCellName(cell), Outcome::kPassed, "", "", ""};
    if (cell.status != SuiteCellStatus::kMeasured || !cell.reason.empty()) {
      const bool failed =
          cell.status == SuiteCellStatus::kFailed || cell.status == SuiteCellStatus::kMeasured;
      cell_case.outcome = failed ? Outcome::kError : Outcome::kSkipped;
      cell_case.type = failed ? "measurement" : "";
      cell_case.message = cell.reason.empty() ? etprof::GetName(cell.status) : cell.reason;
      tests.cases.push_back(cell_case);
      if (cell.pairs.empty()) continue;
    }
    for (const SuitePair& pair : cell.pairs) {
      const std::string line = PairLine(pair, suite.limit);
      TestSuite::Case test_case{SuiteCellName(cell) + ": " + PairName(pair), Outcome::kPassed, "", line,
                                line + "\n"};
      if (suite.limit) SetCaseResult(pair.gate.decision, suite.require_conclusive, test_case);
      tests.cases.push_back(std::move(test_case));
    }
    if (!cell.pairs.empty()) continue;
    if (suite.limit && !has_pairs) {  // as the suite's decision
      cell_case.message = "there are no variants to compare";
      SetCaseResult(GateDecision::kInconclusive, suite.require_conclusive, cell_case);
    }
    tests.cases.push_back(cell_case);
  }
  return tests;
}

}  // namespace etprof::show
