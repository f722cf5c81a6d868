#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "say/document.h"

namespace etprof {

// Adds --csv TABLE, in place of the command's --json, for a result that is a document. `table` stays empty
// where it was not given. `names`: what it may be; empty: that depends on the result, and ShowDocument
// refuses others.
void AddTableOption(CLI::App& app, std::string& table, const std::vector<std::string>& names = {});

// Adds an option for each format of files that documents have: --html FILE, ... `files`: by the format's
// name.
using DocumentFiles = std::map<std::string, std::string>;
void AddDocumentFiles(CLI::App& app, DocumentFiles& files);
// Writes those that were asked for; true where one of them is stdout, which then shows nothing else. Throws
// Error (kDeviceFailed).
bool WriteDocumentFiles(const say::Document& document, const DocumentFiles& files);

// Shows it on stdout: the table of that id as CSV, else the screen, with `more` (where the whole is; empty:
// nowhere) below it. Throws Error (kUsage) for a table that it does not have.
void ShowDocument(const say::Document& document, const std::string& table, const std::string& more,
                  bool all = false);

}  // namespace etprof
