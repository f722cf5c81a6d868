#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/devices.h"
#include "report/report.h"
#include "workflow/output.h"

namespace etprof {

// What the option `--out` of a report says: a page (else Markdown), a folder.
bool IsPage(const std::filesystem::path& file);
bool NamesFolder(const std::string& out);

// The report of a results directory, an ETDump or a timeline CSV, from its files: where `etprof analyze` has
// made one, with its list of files. Nothing is written. Throws Error.
Report ReadReport(const std::string& path);

// Writes report.md and report.html into `out`, a folder, or one of the two as the file `out` ("-": stdout).
// With `brief` the short form instead of them: report_brief.md, or the file. `out` empty: into the folder of
// `path`, which the report is of; where that is no results directory of etprof, only what is not there yet.
// Returns what was written. Throws Error (kBadInput, kDeviceFailed).
std::vector<std::filesystem::path> WriteReport(const Report& report, const std::string& path,
                                               const std::string& out, bool brief,
                                               const Output& write = WriteNamedFile);

// The results directories of several devices, or of one at several times, side by side.
DevicesReport ReadDevices(const std::vector<std::string>& paths);

// Writes devices_report.md and, beside it, devices_report.json into `out`, a folder, or as the file `out`
// (.html: a page; else Markdown; "-": stdout, and no JSON). `out` empty: into the folder that holds all
// results directories; where they lie in different ones, the current folder. Returns the file. Throws Error
// (kDeviceFailed).
std::filesystem::path WriteDevices(const DevicesReport& report, const std::string& out,
                                   const Output& write = WriteNamedFile);

}  // namespace etprof
