#pragma once

#include <ostream>

#include "say/gates.h"

namespace etprof {

// A JUnit file of one test suite, as Jenkins, GitLab and others read it (github.com/jenkinsci/xunit-plugin,
// junit-10.xsd). Times are seconds; the cases are measured together, so each has its equal part.
void RenderJunit(const say::TestSuite& suite, std::ostream& out);

}  // namespace etprof
