#include "build/bundle/manifest.h"

#include <algorithm>

#include "core/error.h"
#include "core/file/sha256.h"
#include "core/json/json.h"
#include "core/json/json_members.h"

namespace etprof {

std::string ToJsonText(const BundleManifest& manifest) { return JsonText(ToJson(manifest), 2) + "\n"; }

std::vector<BundleManifest::File> ListFiles(const std::filesystem::path& folder) {
  std::vector<BundleManifest::File> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name == kBundleManifest) continue;
    const MappedFile file = MappedFile::Open(entry.path());
    files.push_back({name, static_cast<Bytes>(file.bytes().size()), Sha256Hex(file.bytes())});
  }
  std::ranges::sort(files, [](const auto& a, const auto& b) { return a.name < b.name; });
  return files;
}

bool IsUpToDate(const std::filesystem::path& folder, const BundleManifest& manifest) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(folder / kBundleManifest, error)) return false;
  try {
    BundleManifest actual = manifest;
    actual.files = ListFiles(folder);
    return ToJsonText(actual) == ToJsonText(manifest) &&
           ReadTextFile(folder / kBundleManifest) == ToJsonText(manifest);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace etprof
