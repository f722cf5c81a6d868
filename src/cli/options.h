#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json/json_members.h"
#include "etdump/reader.h"
#include "say/document.h"
#include "workflow/measure/request.h"

// Options that several commands have.
namespace etprof {

// An option, or a positional, with what its value is called: "--max-temp C".
template <typename Value>
CLI::Option* AddOption(CLI::App& app, const std::string& words, Value& value, const std::string& help,
                       const auto&... checks) {
  const std::size_t blank = words.find(' ');
  CLI::Option* const option =
      app.add_option(words.substr(0, blank), value, help)->type_name(words.substr(blank + 1));
  (option->check(checks), ...);
  return option;
}

// What a percentage's value is called: "2%" is 0.02.
inline constexpr const char* kPercent = "P%";

// What --csv is without a name.
inline constexpr const char* kUsualTable = "usual";

// How a result is shown on stdout.
struct View {
  std::string csv;          // a table, instead of the rest; empty: none; kUsualTable
  std::string usual_table;  // of the command
  std::string by;           // a breakdown, instead of the screen; empty: none
  bool json = false, all = false, quiet = false;
  std::map<std::string, std::string> files;  // that it is written to, by the format's name; empty: not

  bool HasFiles() const;
  std::string Table() const { return csv == kUsualTable ? usual_table : csv; }
};
// What a command that shows one result was given.
template <typename Options>
struct Parsed {
  Options options;
  View view;
};

// For a report, whose usual table is `csv`: --json, whose help `json` is, --csv[=TABLE], an option for each
// format of files (--html FILE, ...), --by, and --all.
enum class ByOption { kNo, kYes };
void AddViewOptions(CLI::App& app, View& view, const std::string& json, const std::string& csv,
                    ByOption by = ByOption::kNo);
// For another result that is a document, likewise, with --csv TABLE and without --by. `of_nothing`: what is
// said of a result without anything in it, which has every table that TABLE may be; empty: that depends on
// the result.
void AddDocumentOptions(CLI::App& app, View& view, const std::string& json,
                        const std::vector<say::Document>& of_nothing = {});
// The names of all of these: "--json", "--html", ..., "--csv", "--all".
std::vector<std::string> ViewOptionNames();
// Whether it names a file that a document is written to: "--html".
bool IsDocumentFile(std::string_view option);
// Throws Error (kUsage) for a table of which only the measurement would show whether the report has it.
void RequireTable(const View& view, bool several_devices);

// The range of a number, or the choices of a text.
void CheckAs(const About& about, bool whole, CLI::Option& option);
template <Described Options>
struct DescribedChecks {
  CLI::App& app;

  void operator()(std::string key, const auto& member, const About& about = {}) {
    using Value = std::decay_t<decltype(describe::Of(member, std::declval<Options&>()))>;
    constexpr bool kWhole = std::is_same_v<Value, int> || std::is_same_v<Value, std::optional<int>> ||
                            std::is_same_v<Value, std::vector<int>>;
    std::ranges::replace(key, '_', '-');
    CLI::Option* const option = app.get_option_no_throw("--" + key);
    if (option != nullptr && option->get_type_name() != kPercent) CheckAs(about, kWhole, *option);
  }
  void Flat(const auto& member) {
    using Within = std::decay_t<decltype(describe::Of(member, std::declval<Options&>()))>;
    DescribedChecks<Within> checks{app};
    Within::Describe(checks);
  }
};
// Checks a command's options as the members that they set are described.
template <Described Options>
void CheckAsDescribed(CLI::App& app) {
  DescribedChecks<Options> checks{app};
  Options::Describe(checks);
}

// Throws Error (kUsage) for a table that a result without anything in it has not, before it is measured.
void RequireTableOf(const say::Document& of_nothing, const View& view);

// --device, --keep, --wait-for-device, and --power-mode. `several`: --device may be repeated.
void AddDeviceOptions(CLI::App& app, std::vector<std::string>& devices, DeviceReach& use, bool several);

// --max-temp and --max-temp-wait.
void AddCoolingOptions(CLI::App& app, DeviceUse& use);

// What differs between the commands that measure. Texts are what their help says of a default.
struct MeasureTexts {
  std::string max_seconds, launches = "as many as the precision takes", threads, output_root;
  bool several_devices = false;  // --device may be repeated
  bool several_threads = true;   // --threads N,..
};
// --max-seconds, --launches, --runs, --threads, --output-root, --resume, those of the device, and --max-temp.
void AddMeasureOptions(CLI::App& app, MeasureRequest& request, const MeasureTexts& texts);
// Of one model: --cpus, --period, --runner, --method, --data, --inputs, and --exec-wrapper.
void AddModelOptions(CLI::App& app, MeasureRequest& request);
// --warmup, --precision, and --margin.
void AddPrecisionOptions(CLI::App& app, MeasureRequest& request);
// --sustained, --counters, --watch, and --no-peaks.
void AddWatchOption(CLI::App& app, MeasureRequest& request);
void AddKindOptions(CLI::App& app, MeasureRequest& request);

// --history, --commit, and --reference.
void AddHistoryOptions(CLI::App& app, HistoryRequest& request);

// --time-scale: what one tick of the ETDumps' clock is.
void AddTimeScaleOption(CLI::App& app, EtdumpOptions& etdump);

// Other names of an option, which --help does not show: those of the SME2 profiling kit.
void AddAlias(CLI::App& app, const std::string& names, CLI::Option* option);

}  // namespace etprof
