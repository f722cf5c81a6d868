#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "profile/analysis/operators.h"
#include "profile/analysis/profile.h"

namespace etprof {
namespace {

// Sums the self times that operators have in `runs` (`get_self`) into rows by `get_row` (operator -> index
// into `rows`) and appends the "Clipped" row.
template <typename GetSelf, typename GetRowIndex>
Breakdown SumRows(const Profile& profile, const std::vector<std::size_t>& runs, const GetSelf& get_self,
                  std::vector<AdditiveRow> rows, const GetRowIndex& get_row) {
  Breakdown breakdown;
  breakdown.runs = static_cast<std::int64_t>(runs.size());
  breakdown.rows = std::move(rows);
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    AdditiveRow& row = breakdown.rows[get_row(op)];
    row.total += get_self(op);
    ++row.operators;
  }
  AdditiveRow clipped{kClipped, 0, 0};
  for (const std::size_t run : runs) {
    breakdown.total += profile.runs[run].total;
    clipped.total += profile.runs[run].clipped;
  }
  breakdown.rows.push_back(std::move(clipped));
  return breakdown;
}

// Sums the self times of the common set.
template <typename GetRowIndex>
Breakdown SumRows(const Profile& profile, std::vector<AdditiveRow> rows, const GetRowIndex& get_row) {
  return SumRows(
      profile, profile.CommonSet(), [&](std::size_t op) { return profile.statistics[op].total_self; },
      std::move(rows), get_row);
}

std::vector<AdditiveRow> MakeGroupRows() {
  std::vector<AdditiveRow> rows;
  for (const OperatorGroup group : kAllOperatorGroups)
    rows.push_back({std::string(OperatorGroupName(group)), 0, 0});
  return rows;
}

std::size_t GroupIndex(const Profile& profile, std::size_t op) {
  return static_cast<std::size_t>(profile.operators[op].category.group);
}

}  // namespace

std::optional<double> AdditiveRow::Mean(const Breakdown& breakdown) const {
  return QuotientIfDefined(total, breakdown.runs);
}
std::optional<double> AdditiveRow::Share(const Breakdown& breakdown) const {
  return QuotientIfDefined(total, breakdown.total);
}

bool AdditiveRow::IsOutsideOperators() const {
  return name == kClipped || name == OperatorGroupName(OperatorGroup::kFrameworkOverhead) ||
         name == OperatorGroupName(OperatorGroup::kDelegateOverhead);
}

Breakdown ByGroup(const Profile& profile) {
  std::vector<AdditiveRow> rows = MakeGroupRows();
  for (std::size_t i = 0; i < profile.groups.size(); ++i) rows[i].self = profile.groups[i];
  return SumRows(profile, std::move(rows), [&](std::size_t op) { return GroupIndex(profile, op); });
}

Nanoseconds SumSelf(const Profile& profile, std::size_t op, const std::vector<std::size_t>& runs) {
  const auto self = profile.Self(op);
  Nanoseconds sum = 0;
  for (const std::size_t run : runs) {
    if (self[run] != Profile::kAbsent) sum += self[run];
  }
  return sum;
}

Breakdown ByGroup(const Profile& profile, const std::vector<std::size_t>& runs) {
  return SumRows(
      profile, runs, [&](std::size_t op) { return SumSelf(profile, op, runs); }, MakeGroupRows(),
      [&](std::size_t op) { return GroupIndex(profile, op); });
}

namespace {

// Rows sorted by the names that `get_name(operator)` gives.
template <typename GetRowName>
Breakdown ByName(const Profile& profile, const GetRowName& get_name) {
  std::map<std::string, std::size_t> index;
  for (const Operator& op : profile.operators) index[get_name(op)] = 0;
  std::vector<AdditiveRow> rows;
  for (auto& [name, row] : index) {
    row = rows.size();
    rows.push_back({name, 0, 0});
  }
  return SumRows(profile, std::move(rows),
                 [&](std::size_t op) { return index.at(get_name(profile.operators[op])); });
}

}  // namespace

Breakdown ByNameInOrder(const Profile& profile, OperatorNameFunction get_name) {
  std::map<std::string, std::size_t> index;
  std::vector<AdditiveRow> rows;
  const auto is_overhead = [&](std::size_t op) { return IsOverhead(profile.operators[op].category.group); };
  const auto name = [&](std::size_t op) -> std::string {
    if (is_overhead(op)) return std::string(OperatorGroupName(profile.operators[op].category.group));
    return get_name(profile, op).value_or(kNotAttributed);
  };
  // Operators with a name come first, then those without, then overheads.
  const auto rank = [&](std::size_t op) { return is_overhead(op) ? 2 : get_name(profile, op) ? 0 : 1; };
  for (const int current_rank : {0, 1, 2}) {
    for (std::size_t op = 0; op < profile.operators.size(); ++op) {
      if (rank(op) == current_rank && index.try_emplace(name(op), rows.size()).second)
        rows.push_back({name(op), 0, 0});
    }
  }
  return SumRows(profile, std::move(rows), [&](std::size_t op) { return index.at(name(op)); });
}

Breakdown ByCategory(const Profile& profile) {
  Breakdown categories = ByName(profile, [](const Operator& op) { return std::string(op.category.name); });
  for (const auto& [name, self] : profile.categories)
    std::ranges::find(categories.rows, name, &AdditiveRow::name)->self = self;
  return categories;
}

std::optional<std::string> LayerName(const Profile& profile, std::size_t op) {
  return profile.program ? ModulePath(*profile.program, op) : std::nullopt;
}

std::optional<std::string> SourceLineName(const Profile& profile, std::size_t op) {
  return profile.program ? SourceLine(*profile.program, op) : std::nullopt;
}

std::optional<std::string> DelegateName(const Profile& profile, std::size_t op) {
  const Operator& op_info = profile.operators[op];
  if (op_info.key.kind == SpanKind::kKernel) return "portable";
  if (!IsOperator(op_info)) return std::nullopt;
  return (op_info.backend.empty() ? "delegate" : op_info.backend) + " at instruction " +
         std::to_string(op_info.key.instruction);
}

std::optional<std::string> KernelName(const Profile& profile, std::size_t op) {
  const Operator& op_info = profile.operators[op];
  if (!IsOperator(op_info)) return std::nullopt;
  return op_info.type;
}

Breakdown ByDelegation(const Profile& profile) {
  return ByName(profile, [](const Operator& op) -> std::string {
    if (IsOverhead(op.category.group)) return std::string(OperatorGroupName(op.category.group));
    if (op.portable) return "Portable";
    return op.backend.empty() ? "Delegated" : "Delegated (" + op.backend + ")";
  });
}

}  // namespace etprof
