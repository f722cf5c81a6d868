#pragma once

#include <string>

#include "cli/show_document.h"
#include "report/check.h"

namespace etprof {

struct CheckOutputs {
  std::string junit;           // a file; empty: none
  std::string github_summary;  // a file to append to; empty: none
  bool all = false;            // of the table: what passes, too
  bool json = false;           // on stdout, in place of the screen
  std::string table;           // of the result, as CSV, likewise; empty: none
  DocumentFiles files;         // of it, in other formats
  std::string more;            // where the whole report is; empty: nowhere
};

// "true" (the flag alone) becomes the file that $GITHUB_STEP_SUMMARY names. Throws Error (kUsage) where it
// names none.
std::string GithubSummaryFile(const std::string& flag);

// Writes the files and shows the result on stdout. Throws Error (kDeviceFailed).
void WriteCheck(const CheckReport& check, const CheckOutputs& outputs);

// 0 pass, 1 fail (or not decided though that was required), 4 a pair could not be measured, 5 not decided.
int ExitCodeOf(const CheckReport& check);

}  // namespace etprof
