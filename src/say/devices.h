#pragma once

#include <string>
#include <vector>

#include "report/devices.h"
#include "say/document.h"

namespace etprof::say {

// What one model or several do on several devices. The headings are those of the SME2 profiling kit.
Document SayDevices(const DevicesReport& report);

// What the device's runners saw of the CPU, else what its system says: "sme2 sme i8mm ...".
std::vector<std::string> FeaturesOfRun(const Report& run);
// What a comparison between devices, or between runs of one, cannot know.
std::string UnpairedText(std::size_t distinct_devices);

}  // namespace etprof::say
