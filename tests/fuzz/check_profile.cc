#include "check_profile.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fuzz.h"
#include "profile/analysis/host_time.h"
#include "profile/analysis/profile.h"
#include "report/report.h"
#include "show/formats/csv/kit_files.h"
#include "show/formats/json/json.h"
#include "show/formats/report.h"
#include "show/formats/screen/terminal.h"

namespace etprof::fuzz {
namespace {

void RequireSums(const Profile& profile) {
  for (std::size_t run = 0; run < profile.runs.size(); ++run) {
    Nanoseconds sum = profile.runs[run].clipped;
    Require(sum <= 0, "what is clipped is taken away");
    for (std::size_t op = 0; op < profile.operators.size(); ++op) {
      const Nanoseconds self = profile.Self(op)[run];
      if (self == Profile::kAbsent) continue;
      Require(self >= 0, "a self time is not negative");
      Require(self <= profile.Duration(op)[run], "a self time is at most the duration");
      sum += self;
    }
    Require(sum == profile.runs[run].total, "self times and what was clipped add up to Method::execute");
  }
  for (const Breakdown& table : {ByGroup(profile), ByCategory(profile), ByDelegation(profile)}) {
    Nanoseconds sum = 0;
    for (const AdditiveRow& row : table.rows) sum += row.total;
    Require(sum == table.total, "the rows of a table add up to it");
  }
}

// Requires that each record of RFC 4180 text has as many fields as the first one.
void RequireRectangular(const std::string& text) {
  std::size_t columns = 0, fields = 1;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == ',') ++fields;
    if (c != '\n') continue;
    if (columns == 0) columns = fields;
    Require(fields == columns, "a CSV row has the columns of its header");
    fields = 1;
  }
  Require(!quoted && text.ends_with('\n'), "a CSV file ends with a whole row");
}

}  // namespace

Profile CheckSums(const Trace& trace) {
  AttributeOptions options;
  options.experiment = "x";
  options.model_id = "x";
  Profile profile = Attribute(trace, options);
  RequireSums(profile);
  return profile;
}

void CheckProfile(const Trace& trace) {
  Profile profile = CheckSums(trace);
  for (const std::optional<std::size_t> only :
       {std::optional<std::size_t>(), std::optional<std::size_t>(0)}) {
    std::ostringstream csv;
    RenderTimelineCsv(trace, profile, only, csv);
    RequireRectangular(csv.str());
  }
  std::ostringstream statistics;
  RenderOperatorStatisticsCsv(profile, statistics);
  RequireRectangular(statistics.str());

  RunData run = MakeEtdumpRun({"x.etdump"}, {});
  std::vector<std::optional<Profile>> profiles;
  profiles.emplace_back(std::move(profile));
  const Report report = Assemble(std::move(run), std::move(profiles));
  std::ostringstream json, markdown, terminal;
  RenderAnalysisJson(report, json);
  const nlohmann::json summary = nlohmann::json::parse(json.str(), nullptr, false);
  Require(summary.is_object(), "analysis_summary.json is JSON");
  for (const auto& experiment : summary.at("experiments")) {
    if (!experiment.contains("groups")) continue;
    std::int64_t sum = experiment.at("operators_rest").at("total_ns").get<std::int64_t>();
    for (const auto& row : experiment.at("operators")) sum += row.at("total_ns").get<std::int64_t>();
    Require(sum == experiment.at("groups").at("total_ns").get<std::int64_t>(),
            "the operators of analysis_summary.json add up");
  }
  RenderMarkdown(report, markdown);
  RenderTerminal(report, {}, terminal);
  const std::string screen = terminal.str();
  Require(std::none_of(screen.begin(), screen.end(),
                       [](char c) { return c != '\n' && static_cast<unsigned char>(c) < 0x20; }),
          "no control character of a file reaches the terminal");
}

void CheckEtdump(Trace trace) {
  CheckProfile(trace);
  SeparateHostTime(trace);
  for (const Trace::ReportedValues& reported : trace.reported) {
    Require(reported.run.size() == reported.value.size(), "every value has a run");
    Require(std::ranges::is_sorted(reported.run), "runs ascend");
    Require(std::ranges::none_of(reported.value, [](std::int64_t value) { return value < 0; }),
            "no value is negative");
  }
  CheckProfile(trace);
}

}  // namespace etprof::fuzz
