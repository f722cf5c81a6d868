#include "measure/config/suite_config.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/file/file.h"
#include "core/text/escape.h"
#include "core/text/text.h"
#include "device/conditions/clusters.h"
#include "device/conditions/power_mode.h"
#include "device/device.h"
#include "format/program/static_facts.h"
#include "measure/config/config.h"
#include "measure/config/device_groups.h"
#include "measure/config/json_fields.h"
#include "measure/config/variant.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSuiteRemedy = "see docs/guides/suites.md";
constexpr std::size_t kMaxCells = 10'000;

// The last part of a source as the name of a folder: "Net" for "models/net.py:Net".
std::string NameFromSource(const std::string& source) {
  const std::size_t slash = source.rfind('/');
  std::string name = slash == std::string::npos ? source : source.substr(slash + 1);
  if (name.ends_with(".pte")) name = ModelId(name);
  std::ranges::replace_if(name, [](char c) { return !IsFolderName({'_', c}); }, '_');
  return SafeFileName(name);
}

class SuiteReader {
 public:
  SuiteReader(const std::string& text, const fs::path& file) : source_{text, file} {}

  SuiteConfig Read() {
    const nlohmann::json root = ParseConfigText(source_, kSuiteRemedy);
    JsonFields fields(root, source_, "");
    SuiteConfig suite;
    suite.file = source_.file;
    suite.output_root = "out_" + source_.file.stem().string();
    ReadKeys(fields, suite);
    suite.output_root = fs::absolute(suite.output_root).lexically_normal();
    ReadModels(fields, suite);
    for (const std::string& dtype : suite.dtypes) {
      if (dtype.empty() || dtype != SafeFileName(dtype) || dtype.front() == '-')
        throw fields.KeyError("dtypes", fmt::format("\"{}\" is not a data type", dtype));
    }
    CheckKeptOperators(fields, suite);
    fields.CheckValue("devices", [&] { CheckDeviceNames(suite.devices); });
    fields.CheckValue("variants", [&] {
      for (const std::string& spec : suite.variants) ParseVariant(spec);
    });
    suite.include = ReadRules("include", fields);
    suite.exclude = ReadRules("exclude", fields);
    if (!suite.cpus.empty()) fields.CheckValue("cpus", [&] { CheckCpus(suite.cpus); });
    if (!suite.period.empty() && !ParsePeriod(suite.period)) {
      throw fields.KeyError("period", fmt::format("\"{}\" is not a duration", suite.period))
          .Remedy(kPeriodRemedy);
    }
    if (!suite.power_mode.empty()) fields.CheckValue("power_mode", [&] { FindPowerMode(suite.power_mode); });
    if (const auto runner = fields.Text("runner_path")) suite.runner = source_.Resolve(*runner);
    for (std::string& library : suite.load) library = source_.Resolve(library).string();
    if (const auto slowdown = fields.Text("max_slowdown")) {
      suite.max_slowdown = ParsePercent(*slowdown);
      if (!suite.max_slowdown || *suite.max_slowdown <= -1) {
        throw fields.KeyError("max_slowdown", fmt::format("\"{}\" is not a percentage", *slowdown))
            .Remedy("give one, such as \"2%\"");
      }
    }
    fields.AddVariables("env", suite.environment);
    fields.Finish();
    return suite;
  }

 private:
  static std::map<std::string, std::string> Texts(const std::string& key, JsonFields& fields) {
    std::map<std::string, std::string> texts;
    const nlohmann::json* object = fields.Find(key);
    if (object == nullptr) return texts;
    if (!object->is_object()) throw fields.KeyError(key, "must be an object");
    for (const auto& [name, value] : object->items()) {
      if (!value.is_string()) throw fields.KeyError(key, fmt::format("\"{}\" must be a text", name));
      texts[name] = value.get<std::string>();
    }
    return texts;
  }

  // Resolves the path in what `etprof export --model` takes: "nets/net.py:Net", but not "mobilenet_v3_small".
  std::string ResolveSource(const std::string& text) const {
    const std::size_t colon = text.rfind(':');
    const std::string path = text.substr(0, colon);
    const bool is_name =
        colon == std::string::npos && path.find('/') == std::string::npos && !path.ends_with(".py");
    if (is_name || Exists(path) || !Exists(source_.file.parent_path() / path)) return text;
    return source_.Resolve(path).string() + text.substr(path.size());
  }

  // A model with `keep` requires a data type with kKeepSuffix, and such a data type requires a model with
  // `keep`.
  static void CheckKeptOperators(const JsonFields& fields, const SuiteConfig& suite) {
    const auto keeps = [](const SuiteModel& model) { return !model.keep.empty(); };
    bool used = false;
    for (const std::string& dtype : suite.dtypes) {
      if (!dtype.ends_with(kKeepSuffix)) continue;
      used = true;
      if (dtype != "int8+keep" && dtype != "int8dyn+keep")
        throw fields.KeyError("dtypes", fmt::format("\"{}\" is not a data type", dtype))
            .Remedy("operators are left in float in \"int8+keep\" and \"int8dyn+keep\"");
      const auto has_program = [&](const SuiteModel& model) { return model.programs.contains(dtype); };
      if (std::ranges::none_of(suite.models, keeps) && std::ranges::none_of(suite.models, has_program))
        throw fields.KeyError("dtypes", fmt::format("\"{}\" needs a model with `keep`", dtype))
            .Remedy("name the operators that stay in float: `etprof accuracy MODEL` finds them");
    }
    if (!used && std::ranges::any_of(suite.models, keeps))
      throw fields.KeyError("models", "have `keep`, and no data type keeps anything")
          .Remedy("add \"int8+keep\" or \"int8dyn+keep\" to `dtypes`");
  }

  void ReadModels(JsonFields& fields, SuiteConfig& suite) const {
    const nlohmann::json* models = fields.Find("models");
    if (models == nullptr || !models->is_array() || models->empty())
      throw fields.KeyError("models", "must be a list of models").Remedy(kSuiteRemedy);
    std::set<std::string> names;
    for (std::size_t i = 0; i < models->size(); ++i) {
      SuiteModel model = ReadModel((*models)[i], fmt::format("models[{}]", i), fields);
      if (!names.insert(model.name).second) {
        throw fields.KeyError("models", fmt::format("has two of the name \"{}\"", model.name))
            .Remedy("give one of them a `name`");
      }
      suite.models.push_back(std::move(model));
    }
  }

  SuiteModel ReadModel(const nlohmann::json& json, const std::string& path, const JsonFields& fields) const {
    SuiteModel model;
    if (json.is_string()) {
      const std::string text = json.get<std::string>();
      model.name = NameFromSource(text);
      if (text.ends_with(".pte")) {
        model.programs[""] = source_.Resolve(text);
      } else {
        model.source = ResolveSource(text);
      }
    } else {
      JsonFields model_fields(json, source_, path);
      ReadKeys(model_fields, model);
      model.source = ResolveSource(model.source);
      // Split like `--keep`, so that the patterns equal those in the export's manifest.
      std::vector<std::string> patterns;
      for (const std::string& text : std::exchange(model.keep, {})) {
        for (const std::string_view pattern : SplitAt(text, ',')) {
          if (!pattern.empty()) AppendUnique(std::string(pattern), patterns);
        }
      }
      model.keep = std::move(patterns);
      for (const auto& [dtype, program] : Texts("programs", model_fields)) {
        if (dtype.empty() || dtype != SafeFileName(dtype))
          throw model_fields.KeyError("programs", fmt::format("\"{}\" is not a data type", dtype));
        model.programs[dtype] = source_.Resolve(program);
      }
      if (model_fields.Find("name") == nullptr) model.name = NameFromSource(model.source);
      model_fields.Finish();
      if (model.source.empty() && model.programs.empty())
        throw model_fields.KeyError("model", "is missing: a model is exported, or has programs");
    }
    if (!IsFolderName(model.name)) {
      throw fields.KeyError("models", fmt::format("\"{}\" cannot be the name of a folder", model.name))
          .Remedy("give the model a `name` of letters, digits, and `_`");
    }
    return model;
  }

  std::vector<SuiteRule> ReadRules(const char* key, JsonFields& fields) const {
    std::vector<SuiteRule> result;
    const nlohmann::json* rules = fields.Find(key);
    if (rules == nullptr) return result;
    if (!rules->is_array()) throw fields.KeyError(key, "must be a list of rules").Remedy(kSuiteRemedy);
    for (std::size_t i = 0; i < rules->size(); ++i) {
      SuiteRule& rule = result.emplace_back();
      rule.json_path = fmt::format("{}[{}]", key, i);
      JsonFields rule_fields((*rules)[i], source_, rule.json_path);
      ReadKeys(rule_fields, rule);
      rule_fields.Finish();
    }
    return result;
  }

  const JsonFields::Source source_;
};

bool MatchesAny(const std::vector<std::string>& patterns, const std::string& text) {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
           return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
         });
}

std::string DeviceFolderName(std::string device) {
  std::ranges::replace(device, ':', '_');
  return SafeFileName(device);
}

}  // namespace

SuiteConfig ReadSuite(const fs::path& path) { return ParseSuite(ReadTextFile(path), path); }

SuiteConfig ParseSuite(const std::string& text, const fs::path& path) {
  return SuiteReader(text, path).Read();
}

std::vector<SuiteCell> ListCells(const SuiteConfig& suite) {
  std::vector<SuiteCell> cells;
  std::set<std::string> matched_rules;  // `json_path` of each rule that matched a cell or variant
  std::set<fs::path> folders;
  const auto matches = [&](const SuiteRule& rule, const SuiteCell& cell) {
    return MatchesAny(rule.model, suite.models[cell.model].name) && MatchesAny(rule.dtype, cell.dtype) &&
           MatchesAny(rule.device, cell.device);
  };
  const auto matches_variant = [&](const SuiteRule& rule, const std::string& variant) {
    const auto label = ParseVariant(variant).label;
    return MatchesAny(rule.variant, variant) || (label && MatchesAny(rule.variant, *label));
  };
  const auto add_cell = [&](SuiteCell cell) {
    std::vector<const SuiteRule*> including;
    for (const SuiteRule& rule : suite.include) {
      if (matches(rule, cell)) including.push_back(&rule);
    }
    if (!suite.include.empty() && including.empty()) return;
    bool excluded = false;
    for (const SuiteRule& rule : suite.exclude) {
      if (!rule.variant.empty() || !matches(rule, cell)) continue;
      matched_rules.insert(rule.json_path);
      excluded = true;
    }
    if (excluded) return;
    for (const SuiteRule* rule : including) {
      if (rule->variant.empty()) matched_rules.insert(rule->json_path);
    }
    for (const std::string& variant : suite.variants) {
      bool is_included = suite.include.empty();
      for (const SuiteRule* rule : including) {
        if (!rule->variant.empty() && !matches_variant(*rule, variant)) continue;
        matched_rules.insert(rule->json_path);
        is_included = true;
      }
      for (const SuiteRule& rule : suite.exclude) {
        if (rule.variant.empty() || !matches(rule, cell) || !matches_variant(rule, variant)) continue;
        matched_rules.insert(rule.json_path);
        is_included = false;
      }
      if (is_included) cell.variants.push_back(variant);
    }
    const std::string& name = suite.models[cell.model].name;
    const std::string folder = DeviceFolderName(cell.device);
    cell.folder = suite.output_root / "runs" / name / (cell.dtype.empty() ? "as_exported" : cell.dtype);
    fs::path path = cell.folder / folder;
    for (int i = 2; !folders.insert(path).second; ++i) path = cell.folder / fmt::format("{}-{}", folder, i);
    cell.folder = path;
    cells.push_back(std::move(cell));
    if (cells.size() > kMaxCells) {
      throw Error(ExitCode::kBadInput, fmt::format("has more than {} cells", kMaxCells))
          .InFile(suite.file.string())
          .Remedy("split the suite");
    }
  };
  for (std::size_t m = 0; m < suite.models.size(); ++m) {
    const SuiteModel& model = suite.models[m];
    std::vector<std::string> dtypes;
    if (model.programs.contains("")) {
      dtypes = {""};
    } else {
      for (const std::string& dtype : suite.dtypes) {
        const bool is_exported =
            !model.source.empty() && (!dtype.ends_with(kKeepSuffix) || !model.keep.empty());
        if (is_exported || model.programs.contains(dtype)) dtypes.push_back(dtype);
      }
      for (const auto& [dtype, program] : model.programs) {
        if (std::ranges::find(dtypes, dtype) == dtypes.end()) dtypes.push_back(dtype);
      }
    }
    for (const std::string& dtype : dtypes) {
      for (const std::string& device : suite.devices) add_cell({m, dtype, device, {}, {}});
    }
  }
  for (const auto* rules : {&suite.include, &suite.exclude}) {
    for (const SuiteRule& rule : *rules) {
      if (matched_rules.contains(rule.json_path)) continue;
      throw Error(ExitCode::kBadInput, fmt::format("{} matches nothing of the suite", rule.json_path))
          .InFile(suite.file.string())
          .Remedy("leave it out: `etprof suite FILE --dry-run` then lists the cells");
    }
  }
  if (cells.empty()) {
    throw Error(ExitCode::kBadInput, "no cell is left after `include` and `exclude`")
        .InFile(suite.file.string())
        .Remedy(kSuiteRemedy);
  }
  return cells;
}

}  // namespace etprof
