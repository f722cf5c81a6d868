#include "cli/run_programs.h"

#include <fmt/format.h>

#include <vector>

#include "analysis/join.h"
#include "core/error.h"
#include "core/file.h"
#include "core/sha256.h"
#include "program/program_reader.h"
#include "program/source_fit.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

// Where the run's manifest says, or, when everything has moved together, in the artifacts beside the runs.
std::optional<fs::path> Locate(const RunData& run, const ExperimentData& data) {
  std::vector<fs::path> places = {data.model};
  if (!run.folder.empty())
    places.push_back(run.folder.parent_path().parent_path() / "artifacts" / data.model.filename());
  for (const fs::path& place : places) {
    std::error_code error;
    if (fs::is_regular_file(place, error)) return place;
  }
  return std::nullopt;
}

// The one that the profile's runs executed: by its name, or where there is no choice.
const Method* MethodOf(const Program& program, const Profile& profile) {
  const std::string name = profile.operators.empty() ? "" : profile.operators.front().key.method;
  for (const Method& method : program.methods) {
    if (method.name == name) return &method;
  }
  return program.methods.size() == 1 ? &program.methods.front() : nullptr;
}

}  // namespace

RunPrograms::Entry RunPrograms::Read(const fs::path& model) const {
  Entry entry;
  try {
    entry.program = ReadProgramFile(model);
  } catch (const Error& error) {
    entry.problem = error.Message();
    return entry;
  }
  const fs::path beside = model.string() + ".etrecord";
  if (!etrecord_.empty()) {
    entry.sources = ReadEtrecordOf(*entry.program, etrecord_);
  } else if (Exists(beside)) {
    try {
      entry.sources = ReadEtrecordOf(*entry.program, beside);
    } catch (const Error& problem) {
      entry.no_sources = problem.Message();
    }
  } else {
    entry.no_sources =
        fmt::format("there is no {}, which says what layers operators belong to", beside.filename().string());
  }
  return entry;
}

const RunPrograms::Entry& RunPrograms::Find(const RunData& run, const ExperimentData& data) {
  const auto [place, is_new] = entries_.try_emplace(data.model.string() + '\n' + data.model_sha256);
  Entry& entry = place->second;
  if (!is_new) return entry;
  const auto model = Locate(run, data);
  if (!model) {
    entry.problem = fmt::format("{} is not there any more", data.model.string());
  } else if (!data.model_sha256.empty() && Sha256HexOfFile(*model) != data.model_sha256) {
    entry.problem = fmt::format("{} is not the file that was measured", model->string());
  } else {
    entry = Read(*model);
  }
  return entry;
}

void RunPrograms::Join(const RunData& run, const ExperimentData& data, Profile& profile) {
  if (data.model.empty()) return;
  const Entry& entry = Find(run, data);
  const Method* method = entry.program ? MethodOf(*entry.program, profile) : nullptr;
  if (method == nullptr) {
    profile.program.emplace();
    profile.program->operators.resize(profile.operators.size());
    profile.program->problem = !entry.problem.empty() ? entry.problem
                                                      : fmt::format("which method of {} ran is not known",
                                                                    data.model.filename().string());
    return;
  }
  const auto sources = entry.sources.methods.find(method->name);
  profile.program = JoinProgram(profile, *entry.program, *method,
                                sources == entry.sources.methods.end() ? nullptr : &sources->second);
  if (!entry.no_sources.empty()) profile.program->no_sources = entry.no_sources;
}

}  // namespace etprof
