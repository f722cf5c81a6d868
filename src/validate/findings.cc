#include "validate/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace etprof {
namespace {

std::ptrdiff_t CheckIndex(std::string_view check) {
  return std::ranges::find(kChecks, check) - std::begin(kChecks);
}

}  // namespace

bool Findings::HasViolation(std::string_view check) const {
  return std::ranges::any_of(findings_, [&](const ValidationFinding& finding) {
    return finding.check == check && finding.severity == ValidationFinding::Severity::kBroken;
  });
}

bool Findings::HasFile(const std::string& file) const {
  return std::ranges::any_of(findings_,
                             [&](const ValidationFinding& finding) { return finding.file == file; });
}

void Findings::Add(ValidationFinding::Severity severity, std::string_view check, const std::string& file,
                   const std::string& problem) {
  if (CheckIndex(check) == std::ssize(kChecks)) {
    throw std::logic_error(fmt::format("no such check: {}", check));
  }
  ValidationFinding finding{severity, std::string(check), file, problem};
  auto repetition = std::ranges::find_if(repetitions_, [&](const Repetition& other) {
    return other.example.severity == severity && other.example.check == check && other.example.file == file;
  });
  if (repetition == repetitions_.end())
    repetition = repetitions_.insert(repetitions_.end(), Repetition{finding, 0});
  if (repetition->count++ < kMaxPerFile) findings_.push_back(std::move(finding));
}

std::vector<ValidationFinding> Findings::Take() {
  for (Repetition& repetition : repetitions_) {
    if (repetition.count <= kMaxPerFile) continue;
    repetition.example.problem = fmt::format("and {} more", repetition.count - kMaxPerFile);
    findings_.push_back(std::move(repetition.example));
  }
  std::ranges::stable_sort(findings_, [](const ValidationFinding& a, const ValidationFinding& b) {
    return CheckIndex(a.check) != CheckIndex(b.check) ? CheckIndex(a.check) < CheckIndex(b.check)
                                                      : a.file < b.file;
  });
  repetitions_.clear();
  return std::move(findings_);
}

}  // namespace etprof
