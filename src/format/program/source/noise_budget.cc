#include "format/program/source/noise_budget.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/error.h"
#include "core/file/file.h"
#include "core/json/json.h"
#include "core/json/json_members.h"

namespace etprof {

const DeviceOperator* NoiseBudget::FindFirstDeviation() const {
  const auto first = std::ranges::find_if(operators, &DeviceOperator::deviates);
  return first == operators.end() ? nullptr : &*first;
}

std::optional<NoiseBudget> ReadNoiseBudget(const std::filesystem::path& pte, const std::string& sha256) {
  const std::filesystem::path path = pte.string() + ".accuracy.json";
  if (!Exists(path)) return std::nullopt;
  const auto make_error = [&](const std::string& problem) {
    return Error(ExitCode::kBadInput, problem).InFile(path.string()).Remedy("run `etprof accuracy` again");
  };
  const nlohmann::json json = ParseJson(ReadTextFile(path));
  if (json.is_discarded()) throw make_error("is not JSON, or is cut short");
  try {
    auto budget = json.get<NoiseBudget>();
    return budget.pte_sha256 == sha256 ? std::optional(std::move(budget)) : std::nullopt;
  } catch (const std::invalid_argument& problem) {
    throw make_error(std::string("does not hold a noise budget: ") + problem.what());
  }
}

}  // namespace etprof
