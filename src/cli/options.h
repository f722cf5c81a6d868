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

// An option that may be repeated, with one value each time.
CLI::Option* Repeated(CLI::Option* option);

// What a percentage's value is called: "2%" is 0.02.
inline constexpr const char* kPercent = "P%";
// The value of an option: "2%" is 0.02. Of a change below 0, the candidate has to be better by so much; of a
// part it is from 0 to 1. Absent: "". Throws Error (kUsage).
enum class Percentage { kOfChange, kOfPart };
std::optional<double> ReadPercentage(const std::string& option, const std::string& text,
                                     Percentage of = Percentage::kOfChange);

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

// Throws Error (kUsage) for a table that a result without anything in it has not, before it is measured.
void RequireTableOf(const say::Document& of_nothing, const View& view);

// "--max-temp" of "max_temp".
std::string OptionOf(std::string_view key);
// Says what the option's value is called, and how it is given.
CLI::Option* NameValue(std::string_view key, const About& about, CLI::Option* option, CLI::App& app);
// Checks the range of a number, or the choices of a text.
void CheckAs(const About& about, bool whole, CLI::Option& option);

// Adds an option for each member of `options` whose meaning is described, which is its help; checks those
// that the command has added itself.
template <Described Options>
struct DescribedOptions {
  CLI::App& app;
  Options& options;

  void operator()(std::string_view key, const auto& member, const About& about = {}) {
    auto& value = describe::Of(member, options);
    using Value = std::decay_t<decltype(value)>;
    constexpr bool kWhole = std::is_same_v<Value, int> || std::is_same_v<Value, std::optional<int>> ||
                            std::is_same_v<Value, std::vector<int>>;
    CLI::Option* option = app.get_option_no_throw(OptionOf(key));
    if (option == nullptr && about.meaning.empty()) return;  // what the command gives a place of its own
    const std::string help(about.meaning);
    if constexpr (std::is_same_v<Value, bool>) {
      if (option == nullptr) app.add_flag(OptionOf(key), value, help);
    } else if constexpr (std::is_same_v<Value, double> || std::is_same_v<Value, std::optional<double>>) {
      about.percent ? AddPercent(OptionOf(key), about, value) : Add(key, about, value, option, kWhole);
    } else {
      Add(key, about, value, option, kWhole);
    }
  }
  void Flat(const auto& member) {
    auto& within = describe::Of(member, options);
    DescribedOptions<std::decay_t<decltype(within)>> more{app, within};
    std::decay_t<decltype(within)>::Describe(more);
  }

 private:
  void Add(std::string_view key, const About& about, auto& value, CLI::Option* option, bool whole) {
    if (option == nullptr) {
      option = NameValue(key, about, app.add_option(OptionOf(key), value, std::string(about.meaning)), app);
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::vector<std::string>>) {
        if (key == "device") Repeated(option);
      }
    }
    CheckAs(about, whole, *option);
  }
  // Where it cannot be absent, "" is 0.
  void AddPercent(const std::string& name, const About& about, auto& value) {
    const auto parse = [name, &value, of = about.most ? Percentage::kOfPart : Percentage::kOfChange](
                           const std::string& text) {
      const std::optional<double> percent = ReadPercentage(name, text, of);
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>) {
        value = percent.value_or(0);
      } else {
        value = percent;
      }
    };
    app.add_option_function<std::string>(name, parse, std::string(about.meaning))->type_name(kPercent);
  }
};
template <Described Options>
void AddDescribedOptions(CLI::App& app, Options& options) {
  DescribedOptions<Options> add{app, options};
  Options::Describe(add);
}

// What differs between the commands that measure. Texts are what their help says of a default.
struct MeasureTexts {
  std::string max_seconds, launches = "as many as the precision takes", threads, output_root;
  bool several_devices = false;  // --device may be repeated
  bool several_threads = true;   // --threads N,..
};
void SetMeasureTexts(const MeasureTexts& texts, CLI::App& app);

// --time-scale: what one tick of the ETDumps' clock is.
void AddTimeScaleOption(CLI::App& app, EtdumpOptions& etdump);

// Other names of an option, which --help does not show: those of the SME2 profiling kit.
void AddAlias(CLI::App& app, const std::string& names, CLI::Option* option);

}  // namespace etprof
