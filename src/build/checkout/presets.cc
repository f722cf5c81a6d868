#include "build/checkout/presets.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json/json.h"

namespace etprof {
namespace {

using nlohmann::ordered_json;  // keeps the order of keys

// The SME2 profiling kit uses the same names for its folders.
constexpr std::string_view kTraceSuffix = "-xnnlog";
constexpr std::string_view kSme2OffSuffix = "-sme2-off";

std::string_view RemoveSuffix(std::string_view name, std::string_view suffix) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

std::string PresetName(const ordered_json& preset) {
  return preset.is_object() && preset.contains("name") && preset["name"].is_string()
             ? preset["name"].get<std::string>()
             : std::string();
}

ordered_json Parse(std::string_view text) {
  if (NestsTooDeep(text)) return ordered_json(ordered_json::value_t::discarded);
  return ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
}

Error RefusePresets(std::string reason) {
  return Error(ExitCode::kBadInput, std::move(reason) + ", so etprof's presets were not added to it")
      .Remedy("fix the file, or move it away, then run this again");
}

ordered_json ParseExisting(const std::string& text) {
  ordered_json file = Parse(text);
  if (file.is_discarded()) {
    const bool only_comments =
        !NestsTooDeep(text, /*with_comments=*/true) &&
        !ordered_json::parse(text, nullptr, /*allow_exceptions=*/false, /*ignore_comments=*/true)
             .is_discarded();
    if (only_comments) {
      throw RefusePresets("has comments, which writing it would lose").Remedy("move them away, or the file");
    }
    throw RefusePresets("is not valid JSON");
  }
  if (!file.is_object()) throw RefusePresets("is not an object");
  if (file.contains("configurePresets") && !file["configurePresets"].is_array())
    throw RefusePresets("has a \"configurePresets\" that is not a list");
  if (file.contains("version") && !file["version"].is_number_integer())
    throw RefusePresets("has a \"version\" that is not an integer");
  return file;
}

// The indentation of the first indented line of `text`; 2 if there is none.
int DetectIndent(const std::string& text) {
  const std::size_t newline = text.find('\n');
  if (newline == std::string::npos) return 2;
  const std::size_t text_begin = text.find_first_not_of(' ', newline + 1);
  const std::size_t spaces = text_begin == std::string::npos ? 0 : text_begin - newline - 1;
  return spaces >= 1 && spaces <= 8 ? static_cast<int>(spaces) : 2;
}

}  // namespace

std::vector<RunnerPreset> RunnerPresets() {
  std::vector<RunnerPreset> presets;
  const ordered_json file = Parse(PresetsText());
  for (const ordered_json& entry : file.at("configurePresets")) {
    if (entry.value("hidden", false)) continue;
    RunnerPreset preset;
    preset.name = PresetName(entry);
    if (preset.name.starts_with("mac-")) preset.platform = RunnerPreset::Platform::kMac;
    if (preset.name.starts_with("android-")) preset.platform = RunnerPreset::Platform::kAndroid;
    preset.trace_enabled = preset.name.ends_with(kTraceSuffix);
    if (preset.platform != RunnerPreset::Platform::kNative)
      preset.sme2 = !RemoveSuffix(preset.name, kTraceSuffix).ends_with(kSme2OffSuffix);
    presets.push_back(preset);
  }
  return presets;
}

RunnerPreset MakeTraceEnabledPreset(const RunnerPreset& preset) {
  RunnerPreset traced = preset;
  if (!traced.trace_enabled) traced.name += kTraceSuffix;
  traced.trace_enabled = true;
  return traced;
}

bool DifferInSme2Only(const std::string& name, const std::string& other) {
  const std::string_view a = RemoveSuffix(name, kTraceSuffix), b = RemoveSuffix(other, kTraceSuffix);
  return !a.empty() && a != b && RemoveSuffix(a, kSme2OffSuffix) == RemoveSuffix(b, kSme2OffSuffix);
}

std::set<std::string> PresetNames(std::string_view text) {
  std::set<std::string> names;
  const ordered_json file = Parse(text);
  if (!file.is_object() || !file.contains("configurePresets")) return names;
  for (const ordered_json& preset : file["configurePresets"]) names.insert(PresetName(preset));
  names.erase("");
  return names;
}

MergedPresets MergePresets(const std::optional<std::string>& existing,
                           const std::set<std::string>& checkout_names) {
  const ordered_json etprof_presets = Parse(PresetsText());
  MergedPresets merged;
  ordered_json file = existing ? ParseExisting(*existing) : ordered_json::object();
  const ordered_json before = file;
  // A later version of the format allows everything that an earlier one does.
  if (!file.contains("version") || file["version"] < etprof_presets.at("version"))
    file["version"] = etprof_presets.at("version");

  ordered_json merged_list = ordered_json::array();
  const std::set<std::string> etprof_names = PresetNames(PresetsText());
  if (file.contains("configurePresets")) {
    for (const ordered_json& preset : file["configurePresets"]) {
      if (!etprof_names.contains(PresetName(preset))) merged_list.push_back(preset);
    }
  }
  for (const ordered_json& preset : etprof_presets.at("configurePresets")) {
    if (checkout_names.contains(PresetName(preset))) {
      merged.conflicting_presets.push_back(PresetName(preset));
    } else {
      merged_list.push_back(preset);
    }
  }
  file["configurePresets"] = std::move(merged_list);
  merged.changed = !existing || file != before;
  merged.text = merged.changed ? file.dump(existing ? DetectIndent(*existing) : 2) + "\n" : *existing;
  return merged;
}

}  // namespace etprof
