#pragma once

#include <vector>

#include "report/report.h"
#include "say/document.h"

namespace etprof::say {

// Several experiments against one baseline, or a thread sweep: a row a group and costly operator, a column an
// experiment.
std::vector<Section> SayMatrix(const Report& report, const Matrix& matrix);

}  // namespace etprof::say
