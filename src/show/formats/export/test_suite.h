#pragma once

#include <filesystem>
#include <ostream>

#include "show/gates.h"

namespace etprof {

// Writes one test suite as a JUnit file for Jenkins, GitLab, and others (github.com/jenkinsci/xunit-plugin,
// junit-10.xsd). Times are seconds. All cases are measured together, so each case gets an equal part of the
// suite's time.
void RenderJunit(const show::TestSuite& suite, std::ostream& out);

// Writes every case that did not pass as a GitHub workflow command, one per line: `::error` with the file and
// line of the model if known, `::warning` for undecided cases. File names are relative to `workspace`; files
// outside of it are left out.
// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
void RenderGithubAnnotations(const show::TestSuite& suite, const std::filesystem::path& workspace,
                             std::ostream& out);

}  // namespace etprof
