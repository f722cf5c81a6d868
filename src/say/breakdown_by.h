#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/report.h"
#include "say/document.h"

// Where the time goes by what the model is made of.
namespace etprof::say {

enum class By { kLayer, kSource, kDelegate, kKernel, kCategory };
const std::vector<std::string>& ByNames();  // "layer", "source", ...
std::optional<By> ByNamed(const std::string& name);

// A section for each pair, of both sides, and for each other experiment; of a ladder for the setting that one
// would ship. Layers are a tree: a module's time is that of all in it. What is small is in folded rows.
// Where layers are not known, a section says why; empty where nothing can be said.
std::vector<Section> SayBreakdownBy(const Report& report, By by);

}  // namespace etprof::say
