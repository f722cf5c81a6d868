#include "format/program/source/export_notes.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.h"
#include "core/file/file.h"
#include "core/json/json.h"
#include "core/views.h"

namespace etprof {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxManifestBytes = std::size_t{64} << 20U;

// Returns a member of an object, or null if the object lacks the member or `object` is not an object.
const json& GetMember(const json& object, const char* key) {
  static const json kNull;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? kNull : *found;
}

std::string StringOrEmpty(const json& value) { return value.is_string() ? value.get<std::string>() : ""; }

std::vector<std::string> ReadStrings(const json& list) {
  return list.is_array() ? MapEach(list, StringOrEmpty) : std::vector<std::string>();
}

ExportHint ReadHint(const json& value) {
  ExportHint hint{StringOrEmpty(GetMember(value, "text")), StringOrEmpty(GetMember(value, "place")), 0, {}};
  if (const json& operators = GetMember(value, "operators"); operators.is_number_unsigned())
    hint.operators = operators.get<std::size_t>();
  const json& handles = GetMember(value, "debug_handles");
  if (!handles.is_array()) return hint;
  for (const json& handle : handles) {
    if (handle.is_number_unsigned() && handle.get<std::uint64_t>() <= 0xffffffffU)
      hint.debug_handles.push_back(handle.get<std::uint32_t>());
  }
  return hint;
}

// Reads the manifest. Null if the file does not exist, is too large, or is not JSON.
json ReadManifest(const std::filesystem::path& manifest) {
  std::error_code error;
  if (const auto bytes = std::filesystem::file_size(manifest, error); error || bytes > kMaxManifestBytes)
    return {};
  try {
    return ParseJson(ReadTextFile(manifest));
  } catch (const Error&) {
    return {};
  }
}

// The lowest signal-to-noise ratio of all floating-point outputs, in dB. Absent if there are no such outputs,
// or if a ratio is undefined.
std::optional<double> LowestSqnr(const json& outputs) {
  std::optional<double> lowest;
  if (!outputs.is_array()) return lowest;
  for (const json& output : outputs) {
    const json &sqnr = GetMember(output, "sqnr_db"), &largest = GetMember(output, "max_abs_diff"),
               &mismatches = GetMember(output, "nonfinite_mismatches");
    if (!GetMember(output, "problem").is_null() || (mismatches.is_number() && mismatches != 0))
      return std::nullopt;
    if (!largest.is_number()) continue;  // an integer output has no ratio
    if (!sqnr.is_number() && largest != 0) return std::nullopt;
    const double db = sqnr.is_number() ? sqnr.get<double>() : std::numeric_limits<double>::infinity();
    lowest = std::min(lowest.value_or(db), db);
  }
  return lowest;
}

}  // namespace

std::vector<std::string> ReadKeepPatterns(const std::filesystem::path& pte) {
  return ReadStrings(GetMember(ReadManifest(pte.string() + ".json"), "kept"));
}

CheckedSqnr ReadCheckedSqnr(const std::filesystem::path& pte, const std::string& sha256,
                            const std::string& method) {
  const json document = ReadManifest(pte.string() + ".json");
  const json& files = GetMember(document, "files");
  const json& cases = GetMember(GetMember(document, "check"), "cases");
  CheckedSqnr result;
  if (!files.is_object() || !cases.is_array() || std::ranges::none_of(files, [&](const json& file) {
        return StringOrEmpty(GetMember(file, "sha256")) == sha256;
      }))
    return result;
  for (const json& test_case : cases) {
    if (StringOrEmpty(GetMember(test_case, "method")) != method) continue;
    if (const auto lowest = LowestSqnr(GetMember(test_case, "outputs")))
      result[StringOrEmpty(GetMember(test_case, "inputs"))] = *lowest;
  }
  return result;
}

void AddExportNotes(const std::filesystem::path& manifest, SourceMap& sources) {
  const json document = ReadManifest(manifest);
  const json& methods = GetMember(document, "methods");
  if (!methods.is_object()) return;
  for (const auto& [name, method] : methods.items()) {
    MethodSources& method_sources = sources.methods[name];
    method_sources.inputs = ReadStrings(GetMember(method, "input_names"));
    method_sources.outputs = ReadStrings(GetMember(method, "output_names"));
    const json& hints = GetMember(GetMember(document, "hints"), name.c_str());
    if (!hints.is_array()) continue;
    for (const json& hint : hints) method_sources.hints.push_back(ReadHint(hint));
  }
}

}  // namespace etprof
