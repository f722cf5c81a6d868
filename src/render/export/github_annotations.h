#pragma once

#include <filesystem>
#include <ostream>

#include "say/gates.h"

namespace etprof {

// What did not pass, as GitHub's workflow commands, a line each: `::error` with the file and line of the
// model where they are known, `::warning` for what could not be decided. Files are named as below
// `workspace`; those elsewhere are left out.
// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
void RenderGithubAnnotations(const say::TestSuite& suite, const std::filesystem::path& workspace,
                             std::ostream& out);

}  // namespace etprof
