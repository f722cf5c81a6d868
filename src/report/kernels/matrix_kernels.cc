#include "report/kernels/matrix_kernels.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "format/xnnpack/operator_name.h"
#include "isa/features.h"
#include "profile/analysis/operators.h"
#include "report/kernels/watched.h"

namespace etprof {
namespace {

using Kernels = KleidiaiUsage::Kernels;

bool Contains(const std::vector<std::string>& features, std::string_view feature) {
  return std::ranges::find(features, feature) != features.end();
}

// Returns whether the CPU has a known Arm feature; each Arm CPU has at least one.
bool IsArm(const protocol::IsaState& isa) {
  const auto& features = isa::Features(isa::Architecture::kAarch64);
  return std::ranges::any_of(
      features, [&](const isa::Feature& feature) { return Contains(isa.detected, feature.name); });
}

// The kernels of an operator by its name; absent: the operator does not multiply matrices.
std::optional<Kernels> KernelsByName(const Profile& profile, std::size_t op) {
  const std::string& type = profile.operators[op].type;
  if (const auto name = xnnpack::ParseOperatorName(type)) {
    if (xnnpack::NeedsSme(*name))
      return xnnpack::RunsOnKleidiai(*name) ? std::optional(Kernels::kSme) : std::nullopt;
    if (xnnpack::RunsOnKleidiai(*name)) return Kernels::kKleidiai;
    return MultipliesMatrices(type) ? std::optional(Kernels::kXnnpack) : std::nullopt;
  }
  if (profile.program && profile.program->operators[op].kleidiai) return Kernels::kPortable;
  return std::nullopt;
}

// The reason why an operator that supports KleidiAI's SME2 kernels did not use them.
std::string NoSmeReason(const std::optional<protocol::IsaState>& isa) {
  if (!isa) return "SME2 was off, or the CPU or the runner has none";
  if (Contains(isa->enabled, "sme2")) return "by its types it could: why it did not is not known";
  return Contains(isa->detected, "sme2") ? "SME2 was masked" : "the CPU has no SME2";
}

void AddReason(const Profile& profile, std::size_t op, const std::optional<protocol::IsaState>& isa,
               MatrixKernelRow& row) {
  if (row.kernels == Kernels::kSme) return;
  if (row.kernels == Kernels::kKleidiai) {
    row.reason = row.observed_code.empty()
                     ? "dynamically quantized (QP8): the name does not say whether with SME2"
                     : NoSmeReason(isa);
    return;
  }
  if (!profile.program) {
    row.reason = "not known without the .pte";
    return;
  }
  const std::optional<KleidiaiUsage>& usage = profile.program->operators[op].kleidiai;
  if (!usage || usage->kernels == Kernels::kUnknown) {
    row.reason = "not known";
  } else if (usage->kernels == Kernels::kSme || usage->kernels == Kernels::kKleidiai) {
    row.reason = NoSmeReason(isa);
  } else {
    row.reason = usage->reason;
    row.change = usage->change;
  }
}

}  // namespace

bool MultipliesMatrices(std::string_view name) {
  const auto parsed = xnnpack::ParseOperatorName(name);
  if (!parsed) return false;
  for (const char* type : {"Convolution", "Deconvolution", "Fully Connected", "Batch Matrix Multiply"})
    if (parsed->type == type) return true;
  return false;
}

bool RanOnArm(const Profile& profile, const std::optional<protocol::IsaState>& isa) {
  if (isa && IsArm(*isa)) return true;
  return std::ranges::any_of(profile.operators, [](const Operator& op) {
    const auto name = xnnpack::ParseOperatorName(op.type);
    return name && xnnpack::RunsOnKleidiai(*name);
  });
}

std::vector<MatrixKernelRow> FindMatrixKernels(const Profile& profile,
                                               const std::optional<protocol::IsaState>& isa,
                                               std::span<const WatchedRow> watched) {
  std::vector<MatrixKernelRow> rows;
  std::map<std::string_view, const WatchedRow*> watched_by_key;
  for (const WatchedRow& row : watched) watched_by_key[row.key] = &row;
  const auto runs = static_cast<double>(profile.CommonSet().size());
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    if (!IsOperator(profile.operators[op])) continue;
    const auto named_kernels = KernelsByName(profile, op);
    if (!named_kernels) continue;
    MatrixKernelRow row;
    row.kernels = *named_kernels;
    const auto observed_row = watched_by_key.find(KeyText(profile.operators[op].key));
    if (observed_row != watched_by_key.end() && !observed_row->second->code.empty() &&
        row.kernels != Kernels::kPortable) {
      row.observed_code = observed_row->second->code;
      row.kernels = !observed_row->second->runs_kleidiai   ? Kernels::kXnnpack
                    : row.observed_code.starts_with("SME") ? Kernels::kSme
                                                           : Kernels::kKleidiai;
      // The data type QP8 in a name implies KleidiAI's kernels, but not their instruction set.
      row.contradicts = *named_kernels == Kernels::kKleidiai ? row.kernels == Kernels::kXnnpack
                                                             : row.kernels != *named_kernels;
    }
    AddReason(profile, op, isa, row);
    auto found = std::ranges::find_if(rows, [&](const MatrixKernelRow& other) {
      return std::tie(other.kernels, other.observed_code, other.contradicts, other.reason, other.change) ==
             std::tie(row.kernels, row.observed_code, row.contradicts, row.reason, row.change);
    });
    if (found == rows.end()) found = rows.insert(found, std::move(row));
    found->operators.push_back(op);
    if (runs > 0) found->mean_ns += static_cast<double>(profile.statistics[op].total_self) / runs;
  }
  std::ranges::stable_sort(rows, {},
                           [](const MatrixKernelRow& row) { return std::tuple(row.kernels, -row.mean_ns); });
  return rows;
}

std::vector<std::string> ListSmeOperators(const Profile& profile, std::span<const MatrixKernelRow> rows) {
  std::map<std::size_t, bool> observed_sme;  // keyed by observed operator: whether it ran with SME
  for (const MatrixKernelRow& row : rows) {
    for (const std::size_t op : row.operators)
      if (!row.observed_code.empty()) observed_sme[op] = row.kernels == Kernels::kSme;
  }
  std::map<std::string, std::int64_t> types;
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    const Operator& profiled_operator = profile.operators[op];
    const auto name = xnnpack::ParseOperatorName(profiled_operator.type);
    const auto observed_row = observed_sme.find(op);
    const bool name_implies_sme = name && xnnpack::NeedsSme(*name);
    if (IsOperator(profiled_operator) &&
        (observed_row == observed_sme.end() ? name_implies_sme : observed_row->second))
      ++types[profiled_operator.type];
  }
  std::vector<std::string> evidence;
  for (const auto& [type, count] : types)
    evidence.push_back(type + (count > 1 ? " (" + std::to_string(count) + " operators)" : ""));
  return evidence;
}

}  // namespace etprof
