#pragma once

#include <ostream>

#include "report/check.h"

namespace etprof {

// docs/guides/ci.md has the keys. What is not defined is null.
void RenderCheckJson(const CheckReport& check, std::ostream& out);

// A JUnit file of one test suite with a test case for each pair, as Jenkins, GitLab and others read it
// (github.com/jenkinsci/xunit-plugin, junit-10.xsd): a pair that fails has a <failure>, one that could not be
// measured an <error>, one that could not be decided is <skipped>, or a <failure> where the check requires a
// decision. Times are seconds; the pairs are measured together, so each has its equal part.
void RenderJunit(const CheckReport& check, std::ostream& out);

}  // namespace etprof
