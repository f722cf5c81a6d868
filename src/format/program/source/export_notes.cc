#include "format/program/source/export_notes.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.h"
#include "core/file/file.h"
#include "core/json/json.h"

namespace etprof {
namespace {

using nlohmann::json;

constexpr std::size_t kMostManifestBytes = std::size_t{64} << 20U;

// A member of an object, or null.
const json& MemberOf(const json& object, const char* key) {
  static const json kNull;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? kNull : *found;
}

std::string TextIn(const json& value) { return value.is_string() ? value.get<std::string>() : ""; }

std::vector<std::string> TextsIn(const json& list) {
  std::vector<std::string> texts;
  if (!list.is_array()) return texts;
  for (const json& value : list) texts.push_back(TextIn(value));
  return texts;
}

ExportHint HintIn(const json& value) {
  ExportHint hint{TextIn(MemberOf(value, "text")), TextIn(MemberOf(value, "place")), 0, {}};
  if (const json& operators = MemberOf(value, "operators"); operators.is_number_unsigned())
    hint.operators = operators.get<std::size_t>();
  const json& handles = MemberOf(value, "debug_handles");
  if (!handles.is_array()) return hint;
  for (const json& handle : handles) {
    if (handle.is_number_unsigned() && handle.get<std::uint64_t>() <= 0xffffffffU)
      hint.debug_handles.push_back(handle.get<std::uint32_t>());
  }
  return hint;
}

// Null where the file is not there, too large, or no JSON.
json ReadManifest(const std::filesystem::path& manifest) {
  std::error_code error;
  if (const auto bytes = std::filesystem::file_size(manifest, error); error || bytes > kMostManifestBytes)
    return {};
  try {
    return ParseJson(ReadTextFile(manifest));
  } catch (const Error&) {
    return {};
  }
}

// The lowest ratio of outputs that are floating-point numbers; absent: there is none, or one is undefined.
std::optional<double> LowestSqnr(const json& outputs) {
  std::optional<double> lowest;
  if (!outputs.is_array()) return lowest;
  for (const json& output : outputs) {
    const json &sqnr = MemberOf(output, "sqnr_db"), &largest = MemberOf(output, "max_abs_diff"),
               &mismatches = MemberOf(output, "nonfinite_mismatches");
    if (!MemberOf(output, "problem").is_null() || (mismatches.is_number() && mismatches != 0))
      return std::nullopt;
    if (!largest.is_number()) continue;  // integers
    if (!sqnr.is_number() && largest != 0) return std::nullopt;
    const double db = sqnr.is_number() ? sqnr.get<double>() : std::numeric_limits<double>::infinity();
    lowest = std::min(lowest.value_or(db), db);
  }
  return lowest;
}

}  // namespace

std::vector<std::string> ReadKeptPatterns(const std::filesystem::path& pte) {
  return TextsIn(MemberOf(ReadManifest(pte.string() + ".json"), "kept"));
}

CheckedSqnr ReadCheckedSqnr(const std::filesystem::path& pte, const std::string& sha256,
                            const std::string& method) {
  const json document = ReadManifest(pte.string() + ".json");
  const json& files = MemberOf(document, "files");
  const json& cases = MemberOf(MemberOf(document, "check"), "cases");
  CheckedSqnr found;
  if (!files.is_object() || !cases.is_array() || std::ranges::none_of(files, [&](const json& file) {
        return TextIn(MemberOf(file, "sha256")) == sha256;
      }))
    return found;
  for (const json& checked : cases) {
    if (TextIn(MemberOf(checked, "method")) != method) continue;
    if (const auto lowest = LowestSqnr(MemberOf(checked, "outputs")))
      found[TextIn(MemberOf(checked, "inputs"))] = *lowest;
  }
  return found;
}

void AddExportNotes(const std::filesystem::path& manifest, SourceMap& sources) {
  const json document = ReadManifest(manifest);
  const json& methods = MemberOf(document, "methods");
  if (!methods.is_object()) return;
  for (const auto& [name, method] : methods.items()) {
    MethodSources& of = sources.methods[name];
    of.inputs = TextsIn(MemberOf(method, "input_names"));
    of.outputs = TextsIn(MemberOf(method, "output_names"));
    const json& hints = MemberOf(MemberOf(document, "hints"), name.c_str());
    if (!hints.is_array()) continue;
    for (const json& hint : hints) of.hints.push_back(HintIn(hint));
  }
}

}  // namespace etprof
