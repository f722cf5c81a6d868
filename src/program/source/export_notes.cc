#include "program/source/export_notes.h"

#include <nlohmann/json.hpp>

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

}  // namespace

void AddExportNotes(const std::filesystem::path& manifest, SourceMap& sources) {
  std::error_code error;
  if (const auto bytes = std::filesystem::file_size(manifest, error); error || bytes > kMostManifestBytes)
    return;
  json document;
  try {
    document = ParseJson(ReadTextFile(manifest));
  } catch (const Error&) {
    return;
  }
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
