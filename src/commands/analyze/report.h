#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "commands/terminal/output.h"
#include "report/devices.h"
#include "report/report.h"

namespace etprof {

// True if the file of a report's `--out` is an HTML page; other files are Markdown.
bool IsHtmlFile(const std::filesystem::path& file);
// True if the value of a report's `--out` is a folder.
bool IsFolderPath(const std::string& out);

// Makes the report of a results directory, an ETDump, or a timeline CSV. If `etprof analyze` has run on the
// directory, the report lists the files of that analysis. Writes nothing. Throws Error.
Report MakeReportFromPath(const std::string& path);

// Writes report.md and report.html into `out`, a folder, or one of the two as the file `out` ("-": stdout).
// With `brief`, writes the short form instead: report_brief.md, or the file. If `out` is empty, writes into
// the folder of `path`, the input of the report; if that is not a results directory of etprof, existing files
// are not replaced. Returns the written files. Throws Error (kBadInput, kDeviceFailed).
std::vector<std::filesystem::path> WriteReport(const Report& report, const std::string& path,
                                               const std::string& out, bool brief,
                                               const FileWriter& write = WriteOutputRejectingStdout);

// Writes devices_report.md, and next to it devices_report.json, into `out`, a folder, or as the file `out`
// (.html: a page; else Markdown; "-": stdout, and no JSON). If `out` is empty, writes into the folder that
// holds all results directories, or into the current folder if they have no common parent. Returns the
// report's file. Throws Error (kDeviceFailed).
std::filesystem::path WriteDevicesReport(const DevicesReport& report, const std::string& out,
                                         const FileWriter& write = WriteOutputRejectingStdout);

}  // namespace etprof
