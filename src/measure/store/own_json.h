#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/json_members.h"

namespace etprof {

// A described value from a file that etprof wrote into a results directory beside the measurement itself.
// Throws Error (kBadInput) for a damaged one, which says that it does not hold `what` and that the run is
// sound without it.
template <typename T>
T ReadOwnJson(const std::filesystem::path& path, const std::string& what) {
  const auto damaged = [&](const std::string& problem) {
    return Error(ExitCode::kBadInput, problem).InFile(path.string()).Remedy("measure again, or remove it");
  };
  const nlohmann::json json = ParseJson(ReadTextFile(path));
  if (json.is_discarded()) throw damaged("is not JSON, or is cut short");
  try {
    return json.get<T>();
  } catch (const std::invalid_argument& problem) {
    throw damaged("does not hold " + what + ": " + problem.what());
  }
}

}  // namespace etprof
