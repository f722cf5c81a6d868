#include "commands/terminal/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <map>

#include "commands/terminal/show.h"
#include "core/error.h"
#include "core/text/text.h"
#include "format/program/static_facts.h"
#include "show/formats.h"
#include "show/formats/csv/table_csv.h"

namespace etprof {
namespace {

// Nanoseconds per tick for "ns", "us", "ms", "s" (the names of TimeScale in ExecuTorch's Inspector), for a
// frequency such as "24MHz" or "2.4GHz", or for a plain number of nanoseconds. Throws Error (kUsage).
double NanosecondsPerTick(const std::string& option, const std::string& scale) {
  constexpr double kMinTick = 1e-6;  // ns; with a shorter one, all times would be 0
  static const std::map<std::string, double> units = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  if (const auto found = units.find(scale); found != units.end()) return found->second;
  if (scale == "cycles") {
    throw Error(ExitCode::kUsage, fmt::format("`{} cycles` does not say the clock's frequency", option))
        .Remedy("give the frequency, such as 2.4GHz");
  }
  static const std::map<std::string, double> frequencies = {
      {"", 0}, {"Hz", 1e9}, {"kHz", 1e6}, {"MHz", 1e3}, {"GHz", 1}};  // ns of a tick at 1 Hz, 1 kHz, ...
  double number = 0;
  const auto [end, error] = std::from_chars(scale.data(), scale.data() + scale.size(), number);
  const auto unit = frequencies.find(std::string(end, scale.data() + scale.size()));
  if (error == std::errc() && unit != frequencies.end() && number > 0) {
    const double tick = unit->second == 0 ? number : unit->second / number;
    if (std::isfinite(tick) && tick >= kMinTick) return tick;
  }
  throw Error(ExitCode::kUsage, fmt::format("`{} {}` is not a unit of time", option, scale))
      .Remedy("give ns, us, ms, s, a frequency such as 24MHz, or a number of nanoseconds");
}

std::string AddDefault(const std::string& text, const std::string& value) {
  return value.empty() ? text : fmt::format("{} (default: {})", text, value);
}

// Accepts any name that a table can have, and suggests the tables that are also files. Only a report knows
// which further tables it has.
CLI::Validator TableNameValidator() {
  return {[](const std::string& name) {
            const bool is_valid = !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
              return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_';
            });
            return is_valid ? "" : fmt::format("{} not in {{{}}}", name, fmt::join(ReportTableNames(), ","));
          },
          ""};
}

void AddAllOption(CLI::App& app, View& view) {
  app.add_flag("--all", view.all, "Show everything: all rows, findings, notes, and plots");
}

void AddFileOptions(CLI::App& app, View& view) {
  for (const DocumentFormat& format : kDocumentFormats) {
    app.add_option(fmt::format("--{}", format.name), view.files[format.name],
                   fmt::format("Write the result {}", format.help))
        ->type_name("FILE");
  }
}

}  // namespace

bool View::HasFiles() const {
  return std::ranges::any_of(files, [](const auto& file) { return !file.second.empty(); });
}

void AddViewOptions(CLI::App& app, View& view, const std::string& json, const std::string& csv, ByOption by) {
  app.add_flag("--json", view.json, json);
  view.default_table = csv;
  app.add_flag(fmt::format("--csv{{{}}}", kDefaultTable), view.csv,
               AddDefault(fmt::format("Show one table as CSV: --csv={}, or any other table of the report. An "
                                      "unknown name lists them all",
                                      fmt::join(ReportTableNames(), "|")),
                          csv + (by == ByOption::kYes ? ", or that of --by" : "")))
      ->check(TableNameValidator())
      ->option_text("[=TABLE]")
      ->excludes(app.get_option("--json"));
  AddFileOptions(app, view);
  if (by == ByOption::kYes) {
    app.add_option("--by", view.by,
                   fmt::format("Show where the time goes by: {}", fmt::join(ByOptionNames(), "|")))
        ->check(CLI::IsMember(ByOptionNames()).description(""))
        ->type_name("VIEW");
  }
  AddAllOption(app, view);
}

void AddDocumentOptions(CLI::App& app, View& view, const std::string& json,
                        const std::vector<show::Document>& empty_results) {
  std::vector<std::string> names;
  for (const show::Document& document : empty_results) {
    for (const std::string& name : TableIds(document)) AppendUnique(name, names);
  }
  app.add_flag("--json", view.json, json);
  AddAllOption(app, view);
  const std::string table_list =
      names.empty() ? ". An unknown name lists them" : fmt::format(": {}", fmt::join(names, "|"));
  CLI::Option* const option = AddOption(app, "--csv TABLE", view.csv, "Show one table as CSV" + table_list)
                                  ->excludes(app.get_option("--json"));
  if (!names.empty()) option->check(CLI::IsMember(names).description(""));
  AddFileOptions(app, view);
}

void AddQuietOption(CLI::App& app, View& view) {
  CLI::Option* const quiet =
      app.add_flag("-q,--quiet", view.quiet, "Write the files without showing anything");
  for (const char* const name : {"--json", "--csv", "--by"}) {
    if (CLI::Option* const option = app.get_option_no_throw(name)) quiet->excludes(option);
  }
}

bool IsDocumentFile(std::string_view option) {
  return std::ranges::any_of(kDocumentFormats, [&](const DocumentFormat& format) {
    return option == fmt::format("--{}", format.name);
  });
}

std::vector<std::string> ViewOptionNames() {
  std::vector<std::string> names = {"--json", "--csv", "--all"};
  for (const DocumentFormat& format : kDocumentFormats) names.push_back(fmt::format("--{}", format.name));
  return names;
}

void ExcludeOtherOptions(CLI::App& app, CLI::Option* flag, const std::vector<std::string>& allowed_names) {
  for (CLI::Option* option : app.get_options()) {
    const bool is_allowed =
        option == flag ||
        std::ranges::any_of(allowed_names, [&](const std::string& name) { return option->check_name(name); });
    if (!is_allowed) flag->excludes(option);
  }
}

void RefuseMeasurementOptions(const CLI::App& app, const std::string& run,
                              const std::vector<std::string>& also_allowed) {
  std::vector<std::string> allowed = ViewOptionNames();
  allowed.insert(allowed.end(), also_allowed.begin(), also_allowed.end());
  for (const CLI::Option* const option : app.get_options()) {
    const std::string name = option->get_name();
    if (option->empty() || option->get_positional() || std::ranges::find(allowed, name) != allowed.end())
      continue;
    throw Error(ExitCode::kUsage,
                fmt::format("was measured before, and `{}` is an option of a measurement", name))
        .InFile(run)
        .Remedy("leave it out to show this measurement, or give the model to measure it again");
  }
}

void RequireReportTable(const View& view, bool several_devices) {
  std::vector<std::string> names = ReportTableNames();
  // Only reports of `etprof isa`, whose default table it is, have the table of a ladder.
  if (view.default_table != "ladder") std::erase(names, "ladder");
  if (view.csv.empty() || (!several_devices && std::ranges::find(names, view.Table()) != names.end())) return;
  throw Error(ExitCode::kUsage, several_devices
                                    ? "`--csv` shows a table of one device, and this measures on several"
                                    : fmt::format("`--csv={}` is not a table that every run has", view.csv))
      .Remedy(fmt::format("give one of {}, or measure first, then run `etprof report RUN --csv=TABLE`",
                          fmt::join(names, ", ")));
}

void RequireDocumentTable(const show::Document& empty_result, const View& view) {
  if (!view.csv.empty()) RequireTableId(view.csv, TableIds(empty_result));
}

void AddValueCheck(const MemberInfo& info, bool is_integer, CLI::Option& option) {
  if (!info.choices.empty()) {
    const std::vector<std::string_view> choices = SplitAt(info.choices, '|');
    option.check(CLI::IsMember(std::vector<std::string>(choices.begin(), choices.end())));
  }
  if (!info.max) return;
  const double min = info.min.value_or(0), max = *info.max;
  option.check(is_integer ? CLI::Range(static_cast<int>(min), static_cast<int>(max)) : CLI::Range(min, max));
  // CLI::Range accepts NaN, which is neither below nor above a bound.
  option.check([min, max](const std::string& text) {
    double value = 0;
    const bool is_nan = CLI::detail::lexical_cast(text, value) && std::isnan(value);
    return is_nan ? fmt::format("Value {} not in range {:f} to {:f}", text, min, max) : std::string();
  });
}

std::string OptionName(std::string_view key) {
  std::string name = fmt::format("--{}", key);
  std::ranges::replace(name, '_', '-');
  return name;
}

CLI::Option* AllowRepeats(CLI::Option* option) {
  return option->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(false);
}

std::optional<double> ReadPercentage(const std::string& option, const std::string& text, Percentage kind) {
  if (text.empty()) return std::nullopt;
  const std::optional<double> value = ParsePercent(text);
  if (!value || (kind == Percentage::kShare ? *value < 0 || *value > 1 : *value <= -1)) {
    throw Error(ExitCode::kUsage, fmt::format("`{} {}` is not a percentage{}", option, text,
                                              kind == Percentage::kShare ? " from 0% to 100%" : ""))
        .Remedy(fmt::format("give one, such as `{} 2%`", option));
  }
  return value;
}

CLI::Option* ConfigureOption(std::string_view key, const MemberInfo& info, CLI::Option* option,
                             CLI::App& app) {
  if (!info.value.empty()) option->type_name(std::string(info.value));
  if (key == "inputs" || info.value == "N,..") option->delimiter(',');
  if (key == "commit" || key == "reference" || key == "device_name")
    option->needs(app.get_option("--history"));
  // Where there is no configuration, which may have a max_temp, only --max-temp makes a measurement wait.
  if (key == "max_temp_wait" && app.get_name() != "run" && app.get_name() != "suite" &&
      app.get_name() != "check")
    option->needs(app.get_option("--max-temp"));
  return option;
}

void SetMeasureTexts(const MeasureTexts& texts, CLI::App& app) {
  for (const auto& [name, default_text] : {std::pair("--max-seconds", texts.max_seconds),
                                           {"--launches", texts.launches},
                                           {"--threads", texts.threads},
                                           {"--output-root", texts.output_root}}) {
    CLI::Option* const option = app.get_option(name);
    option->description(AddDefault(option->get_description(), default_text));
  }
  CLI::Option* const threads = app.get_option("--threads");
  texts.several_threads ? threads->delimiter(',')->type_name("N,..") : threads->expected(1);
  CLI::Option* const device = app.get_option("--device");
  if (!texts.several_devices) {
    device->expected(1);
    return;
  }
  device->description(device->get_description() + ". May be repeated to measure on several at once");
}

void AddTimeScaleOption(CLI::App& app, EtdumpOptions& etdump) {
  const auto add = [&app](const char* name, auto& nanoseconds, const char* help) {
    const auto parse = [name, &nanoseconds](const std::string& scale) {
      nanoseconds = NanosecondsPerTick(name, scale);
    };
    app.add_option_function<std::string>(name, parse, help);
  };
  add("--time-scale", etdump.nanoseconds_per_tick,
      "Tick of the ETDumps' clock: ns, us, ms, s, a frequency (24MHz), or a number of nanoseconds "
      "(default: ns)");
  add("--delegate-time-scale", etdump.delegate_nanoseconds_per_tick,
      "The same of the events that delegates write (default: --time-scale)");
}

void AddAlias(CLI::App& app, const std::string& names, CLI::Option* option) {
  app.add_option_function<std::vector<std::string>>(
         names,
         [option](const std::vector<std::string>& values) {
           option->add_result(values);
           option->run_callback();
         },
         option->get_description())
      ->group("");
}

}  // namespace etprof
