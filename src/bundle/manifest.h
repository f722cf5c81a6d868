#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "device/bundle.h"

namespace etprof {

// bundle.json's text, with a newline at its end.
std::string ToJsonText(const BundleManifest& manifest);

// The files of a folder, by name, with sizes and digests. Throws as MappedFile::Open.
std::vector<BundleManifest::File> ListFiles(const std::filesystem::path& folder);

// Whether `folder` holds exactly what `manifest` says, its bundle.json included.
bool IsUpToDate(const std::filesystem::path& folder, const BundleManifest& manifest);

}  // namespace etprof
