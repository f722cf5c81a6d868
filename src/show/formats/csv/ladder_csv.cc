#include "core/json/json_schema_of.h"
#include "core/text/csv_members.h"
#include "show/formats/csv/csv_table.h"
#include "show/formats/csv/table_csv.h"

namespace etprof {
namespace {

struct LadderCsvRow {
  const Report& report;
  const char* what;
  const LadderRow& row;
  const LadderCell& of;

  static void Describe(auto& v) {
    using R = const LadderCsvRow&;
    v("model_id", [](R shown) { return shown.report.model_id; }, {.meaning = kModelId});
    v("level", &LadderCell::level, {.meaning = "name of the level: `avx2`"});
    v("threads", &LadderCell::threads, kThreadsOfPool);
    v("what", &LadderCsvRow::what,
      {.meaning = "what the row's time is of", .choices = "latency|group|category|operator"});
    v("name", [](R shown) { return shown.of.op_name.value_or(shown.row.name); },
      {.meaning = "of the group, the category, or the operator at this setting"});
    v("key", [](R shown) { return shown.of.op_key.value_or(""); },
      {.meaning = "of the operator at this setting, as `node_id` of timelines; empty: none, or no row of an "
                  "operator",
       .or_null = true});
    v("ms", &LadderCell::ns,
      kMs.WithMeaning("median of a latency, else mean self time; empty: not there, or not measured"));
    const auto over = [&](const std::string& name, auto member, std::string_view meaning) {
      const auto add_member = [&](const char* end, auto read, std::string_view about) {
        v((name + end).c_str(),
          [member, read](R shown) {
            const std::optional<Quantity>& quantity = shown.of.*member;
            return quantity ? ReadEstimate(*quantity, read) : std::nullopt;
          },
          {.meaning = about});
      };
      using E = stats::RatioEstimate;
      add_member("", &E::ratio, meaning);
      add_member("_low", &E::low, "lower bound of this speedup");
      add_member("_high", &E::high, "upper bound of this speedup; empty: unbounded, or no speedup");
      v((name + "_verdict").c_str(),
        [member](R shown) {
          const std::optional<Quantity>& quantity = shown.of.*member;
          return quantity ? std::optional(quantity->verdict) : std::nullopt;
        },
        {.meaning = "of that interval, on this setting; empty: nothing to compare with"});
    };
    over("over_below", &LadderCell::over_below,
         "speedup over the next lower level that was measured, at the same threads; empty: not at these");
    over("over_lowest", &LadderCell::over_lowest,
         "speedup over the lowest level that was measured, at the same threads");
    over("over_fewest_threads", &LadderCell::over_fewest,
         "speedup over the fewest threads, at the same level");
    v("efficiency", &LadderCell::efficiency,
      {.meaning = "`over_fewest_threads` over the ratio of the threads; 1 is perfect"});
  }
};

}  // namespace

nlohmann::ordered_json LadderCsvSchema(std::string_view title, std::string_view description) {
  return MakeSchema<LadderCsvRow>(title, description);
}

void RenderLadderCsv(const Report& report, std::ostream& out) {
  CsvWriter<LadderCsvRow> rows(out);
  if (!report.ladder) return;
  const Ladder& ladder = *report.ladder;
  const auto add = [&](const char* what, const LadderRow& row) {
    for (const LadderCell& cell : row.AllCells()) rows.Row({report, what, row, cell});
  };
  add("latency", ladder.latency);
  for (const LadderRow& row : ladder.groups) add("group", row);
  for (const LadderRow& row : ladder.categories) add("category", row);
  for (const LadderRow& row : ladder.operators) add("operator", row);
}

}  // namespace etprof
