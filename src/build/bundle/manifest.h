#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "device/bundle.h"

namespace etprof {

// The text of bundle.json, with a newline at the end.
std::string ToJsonText(const BundleManifest& manifest);

// Lists the files of a folder, sorted by name, with sizes and digests. Throws as MappedFile::Open.
std::vector<BundleManifest::File> ListFiles(const std::filesystem::path& folder);

// Whether `folder` contains exactly the files in `manifest`, and a bundle.json that equals it.
bool IsUpToDate(const std::filesystem::path& folder, const BundleManifest& manifest);

}  // namespace etprof
