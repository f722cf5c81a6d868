#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "cli/file_sink.h"
#include "report/report.h"

namespace etprof {

// Writes the summary files of one experiment (render/kit_files.h): `stem`_category_summary.csv and so on.
// Returns what was written. Throws as WriteFileAtomically.
std::vector<std::filesystem::path> WriteSummaryFiles(const Report& report, const ReportExperiment& experiment,
                                                     const std::filesystem::path& stem,
                                                     const FileSink& write_file = ToDisk);

// Writes <model>_comparison.csv and <model>_robust_comparison.json into `folder`; where several pairs are
// compared, one of each a pair, named <model>_<candidate>_vs_<baseline>_comparison.csv.
std::vector<std::filesystem::path> WriteComparisonFiles(const Report& report,
                                                        const std::filesystem::path& folder,
                                                        const FileSink& write_file = ToDisk);

// The model's name as the beginning of a file name: "toy_cnn", "model" where it is not known.
std::string ModelFileName(const Report& report);

}  // namespace etprof
