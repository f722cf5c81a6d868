#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "commands/measurement/request.h"
#include "core/json/json_members.h"
#include "format/etdump/reader.h"
#include "show/document.h"

// Options that several commands share.
namespace etprof {

// Adds an option or a positional. `name_and_value` is its name and the name of its value: "--max-temp C".
template <typename Value>
CLI::Option* AddOption(CLI::App& app, const std::string& name_and_value, Value& value,
                       const std::string& help, const auto&... checks) {
  const std::size_t space = name_and_value.find(' ');
  CLI::Option* const option = app.add_option(name_and_value.substr(0, space), value, help)
                                  ->type_name(name_and_value.substr(space + 1));
  (option->check(checks), ...);
  return option;
}

// Makes `flag` exclude all options of `app` except those in `allowed_names`.
void ExcludeOtherOptions(CLI::App& app, CLI::Option* flag, const std::vector<std::string>& allowed_names);

// Throws Error (kUsage) for options of a measurement, for a command that shows `run`, which was measured
// before. The options of ViewOptionNames() and `also_allowed` do not throw.
void RefuseMeasurementOptions(const CLI::App& app, const std::string& run,
                              const std::vector<std::string>& also_allowed);

// Allows an option to be repeated, with one value each time.
CLI::Option* AllowRepeats(CLI::Option* option);

// Name of a percentage's value in the help.
inline constexpr const char* kPercent = "P%";
// Parses the value of an option: "2%" is 0.02. A change may be negative: the candidate then has to be better
// by that much. A share is from 0 to 1. Absent for "". Throws Error (kUsage).
enum class Percentage { kChange, kShare };
std::optional<double> ReadPercentage(const std::string& option, const std::string& text,
                                     Percentage kind = Percentage::kChange);

// The value of --csv without a name.
inline constexpr const char* kDefaultTable = "usual";

// The options that select how a result is shown on stdout.
struct View {
  std::string csv;            // table shown instead of the result; empty: none; may be kDefaultTable
  std::string default_table;  // the command's table for kDefaultTable
  std::string by;             // breakdown shown instead of the screen; empty: none
  bool json = false, all = false, quiet = false;
  std::map<std::string, std::string> files;  // files to write, keyed by the format's name; empty: not written

  bool HasFiles() const;
  // True if an option selects what is shown, or a file to write.
  bool HasSelection() const { return json || all || !csv.empty() || !by.empty() || HasFiles(); }
  std::string Table() const { return csv == kDefaultTable ? default_table : csv; }
};
// The parsed arguments of a command that shows one result.
template <typename Options>
struct ParsedArguments {
  Options options;
  View view;
};

// Adds the options that show a report, whose default table is `csv`: --json with the help `json`,
// --csv[=TABLE], an option for each file format (--html FILE, ...), --by, and --all.
enum class ByOption { kNo, kYes };
void AddViewOptions(CLI::App& app, View& view, const std::string& json, const std::string& csv,
                    ByOption by = ByOption::kNo);
// Adds the options that show a document other than a report: --json, --csv TABLE, an option for each file
// format, and --all.
// `empty_results` are documents of empty results, which have every table that TABLE may name. If there are
// none, the tables depend on the result.
void AddDocumentOptions(CLI::App& app, View& view, const std::string& json,
                        const std::vector<show::Document>& empty_results = {});
// Adds --quiet, which excludes those of the options above that select what is shown.
void AddQuietOption(CLI::App& app, View& view);
// The names of the options that both AddViewOptions and AddDocumentOptions add: "--json", "--html", ...,
// "--csv", "--all".
std::vector<std::string> ViewOptionNames();
// True if the option names a file for a document: "--html".
bool IsDocumentFile(std::string_view option);
// Throws Error (kUsage) for a table that only some reports have: only the measurement would show whether it
// exists.
void RequireReportTable(const View& view, bool several_devices);

// Throws Error (kUsage), before the measurement, for a table that a document of an empty result does not
// have.
void RequireDocumentTable(const show::Document& empty_result, const View& view);

// The option's name: "--max-temp" for "max_temp".
std::string OptionName(std::string_view key);
// Sets the name of the option's value, its delimiter, and the options that it needs.
CLI::Option* ConfigureOption(std::string_view key, const MemberInfo& info, CLI::Option* option,
                             CLI::App& app);
// Checks the range of a number, or the choices of a text.
void AddValueCheck(const MemberInfo& info, bool is_integer, CLI::Option& option);

// Adds an option for each member of `options` that is described with a meaning, which becomes the help.
// Options that the command added itself only get their checks.
template <Described Options>
struct OptionAdder {
  CLI::App& app;
  Options& options;

  void operator()(std::string_view key, const auto& member, const MemberInfo& info = {}) {
    auto& value = describe::MemberValue(member, options);
    using Value = std::decay_t<decltype(value)>;
    constexpr bool kIsInteger = std::is_same_v<Value, int> || std::is_same_v<Value, std::optional<int>> ||
                                std::is_same_v<Value, std::vector<int>>;
    CLI::Option* option = app.get_option_no_throw(OptionName(key));
    if (option == nullptr && info.meaning.empty()) return;  // the command handles this member itself
    const std::string help(info.meaning);
    if constexpr (std::is_same_v<Value, bool>) {
      if (option == nullptr) app.add_flag(OptionName(key), value, help);
    } else if constexpr (std::is_same_v<Value, double> || std::is_same_v<Value, std::optional<double>>) {
      info.percent ? AddPercent(OptionName(key), info, value) : Add(key, info, value, option, kIsInteger);
    } else {
      Add(key, info, value, option, kIsInteger);
    }
  }
  void Flat(const auto& member) {
    auto& nested_options = describe::MemberValue(member, options);
    OptionAdder<std::decay_t<decltype(nested_options)>> add_nested{app, nested_options};
    std::decay_t<decltype(nested_options)>::Describe(add_nested);
  }

 private:
  void Add(std::string_view key, const MemberInfo& info, auto& value, CLI::Option* option, bool is_integer) {
    if (option == nullptr) {
      option =
          ConfigureOption(key, info, app.add_option(OptionName(key), value, std::string(info.meaning)), app);
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::vector<std::string>>) {
        if (key == "device") AllowRepeats(option);
      }
    }
    AddValueCheck(info, is_integer, *option);
  }
  // An empty text is 0, or an absent value if `value` is optional.
  void AddPercent(const std::string& name, const MemberInfo& info, auto& value) {
    const auto parse = [name, &value,
                        kind = info.max ? Percentage::kShare : Percentage::kChange](const std::string& text) {
      const std::optional<double> percent = ReadPercentage(name, text, kind);
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>) {
        value = percent.value_or(0);
      } else {
        value = percent;
      }
    };
    app.add_option_function<std::string>(name, parse, std::string(info.meaning))->type_name(kPercent);
  }
};
template <Described Options>
void AddDescribedOptions(CLI::App& app, Options& options) {
  OptionAdder<Options> add{app, options};
  Options::Describe(add);
}

// The differences between the options of commands that measure. The texts are the defaults in their help.
struct MeasureTexts {
  std::string max_seconds, launches = "as many as the precision takes", threads, output_root;
  bool several_devices = false;  // --device may be repeated
  bool several_threads = true;   // --threads N,..
};
void SetMeasureTexts(const MeasureTexts& texts, CLI::App& app);

// Adds --time-scale and --delegate-time-scale: the duration of a tick of the ETDumps' clocks.
void AddTimeScaleOption(CLI::App& app, EtdumpOptions& etdump);

// Adds other names of an option, which --help does not show: the names in the SME2 profiling kit.
void AddAlias(CLI::App& app, const std::string& names, CLI::Option* option);

}  // namespace etprof
