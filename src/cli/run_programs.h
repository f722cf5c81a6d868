#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "analysis/profile.h"
#include "measure/store/run_data.h"
#include "program/program.h"
#include "program/source_map.h"

namespace etprof {

// The programs that a run measured, with the .etrecord beside each, read when they are first asked for.
class RunPrograms {
 public:
  // `etrecord`: in place of the one beside the model; empty: that one.
  explicit RunPrograms(std::filesystem::path etrecord = {}) : etrecord_(std::move(etrecord)) {}

  // Sets Profile::program where the run says which model it measured; its `problem` where that is not at hand
  // any more or is another file now. Throws Error (kBadInput) for an .etrecord that was asked for and is
  // none.
  void Join(const RunData& run, const ExperimentData& data, Profile& profile);

 private:
  struct Entry {
    std::optional<Program> program;
    SourceMap sources;
    std::string problem, no_sources;  // as ProgramJoin's
  };
  const Entry& Find(const RunData& run, const ExperimentData& data);
  Entry Read(const std::filesystem::path& model) const;

  std::filesystem::path etrecord_;
  std::map<std::string, Entry> entries_;
};

}  // namespace etprof
