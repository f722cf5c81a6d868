#pragma once

#include <ostream>

#include "show/gates.h"

namespace etprof {

// Writes one test suite as a JUnit file for Jenkins, GitLab, and others (github.com/jenkinsci/xunit-plugin,
// junit-10.xsd). Times are seconds. All cases are measured together, so each case gets an equal part of the
// suite's time.
void RenderJunit(const show::TestSuite& suite, std::ostream& out);

}  // namespace etprof
