#include "build/checkout/provenance.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "build/checkout/checkout.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/file/sha256.h"
#include "core/json/json.h"
#include "core/json/json_members.h"

namespace etprof {

namespace fs = std::filesystem;

namespace {

// The parent of the `cmake-out` folder that contains the runner; empty: there is none.
fs::path FindCheckout(const fs::path& runner) {
  for (fs::path folder = runner.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
    if (folder.filename() == "cmake-out") return folder.parent_path();
  }
  return {};
}

// The record next to the runner; empty if it describes another file.
BuildRecord ReadRecord(const fs::path& runner) {
  try {
    BuildRecord record;
    ReadJsonTolerantly(ParseJson(ReadTextFile(runner.parent_path() / "etprof-build.json")), record, {});
    if (record.runner_sha256 == Sha256HexOfFile(runner)) return record;
  } catch (const std::exception&) {
    // The runner was built without etprof, or the record is damaged: nothing is known.
  }
  return {};
}

// The files in the lines of `git status --porcelain` ("XY path") that were written after `time`.
std::vector<std::string> FilesWrittenAfter(const Checkout& checkout, fs::file_time_type time) {
  std::vector<std::string> files;
  for (const std::string& line : checkout.changes) {
    if (line.size() < 4) continue;
    const std::string path = line.substr(3);
    const auto write_time = LastWriteTime(checkout.folder / path);
    if (write_time && *write_time > time) files.push_back(path);
  }
  return files;
}

}  // namespace

std::optional<RunnerProvenance> ReadProvenance(const fs::path& runner,
                                               const std::function<bool()>& interrupted) {
  std::error_code error;
  const fs::path folder = FindCheckout(fs::weakly_canonical(runner, error));
  if (error || folder.empty()) return std::nullopt;
  Checkout checkout;
  try {
    checkout = ReadCheckout(folder, interrupted);
  } catch (const Error& problem) {
    if (problem.exit_code() == ExitCode::kInterrupted) throw;
    return std::nullopt;
  }
  RunnerProvenance provenance{ReadRecord(runner), {}};
  const auto build_time = LastWriteTime(runner);
  if (!checkout.commit || !build_time) return provenance;
  const auto warn = [&](const std::string& change) {
    provenance.warnings.push_back(fmt::format(
        "the runner is older than its checkout: {}; build it again (etprof build --executorch {})", change,
        checkout.folder.string()));
  };
  if (!provenance.commit.empty() && provenance.commit != *checkout.commit) {
    warn(fmt::format("it was built from commit {:.12}, the checkout is at {:.12}", provenance.commit,
                     *checkout.commit));
    return provenance;
  }
  // Git writes this file whenever HEAD moves.
  const auto head_time = LastWriteTime(checkout.folder / ".git" / "logs" / "HEAD");
  if (provenance.commit.empty() && head_time && *head_time > *build_time) {
    warn(fmt::format("the checkout went to commit {:.12} since", *checkout.commit));
    return provenance;
  }
  const std::vector<std::string> files = FilesWrittenAfter(checkout, *build_time);
  if (!files.empty()) {
    warn(fmt::format("{}{} changed since", files.front(),
                     files.size() > 1 ? fmt::format(" and {} more", files.size() - 1) : ""));
  }
  return provenance;
}

}  // namespace etprof
