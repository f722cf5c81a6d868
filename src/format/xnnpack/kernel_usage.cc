#include "format/xnnpack/kernel_usage.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/text/text.h"
#include "format/xnnpack/operator_name.h"

namespace etprof::xnnpack {
namespace {

// The slot for which a function registers a kernel: the operation, its data types, and a variant that
// distinguishes the slots of a configuration. A later registration replaces an earlier one in the same slot.
std::string SlotKey(const Registration& registration, const Microkernel& kernel) {
  std::string variant;
  switch (kernel.family) {
    case Family::kGemm:
    case Family::kIgemm:
      variant = std::to_string(kernel.mr.value_or(0));
      break;
    case Family::kSpmm:
      variant = std::to_string(kernel.nr.value_or(0));
      break;
    case Family::kDwconv:
    case Family::kPool:
      variant = kernel.op == "dwconv2d_chw"
                    ? kernel.shape.substr(0, kernel.shape.find('_'))
                    : kernel.shape.substr(0, kernel.shape.find_first_not_of("0123456789"));
      break;
    case Family::kConv:
      variant = kernel.shape;
      break;
    default:
      break;
  }
  return registration.config + '\n' + registration.role + '\n' + kernel.op + '\n' + kernel.DataTypes() +
         '\n' + kernel.activation + '\n' + variant;
}

// Returns whether a later kernel replaces an earlier kernel in the same slot. For matrix products, kernels
// with the same number of columns do not: they are for different cores.
bool Supersedes(const Microkernel& later, const Microkernel& earlier) {
  if (later.family == Family::kGemm || later.family == Family::kIgemm)
    return later.nr && earlier.nr && later.nr != earlier.nr;
  return later.name != earlier.name;
}

// The data types, in the notation of microkernel names, of the microkernels that an operator may run.
// XNNPACK's operator names omit implied types that microkernel names contain: the activations for QC8, the
// accumulator for F16. A dynamically quantized unsigned input (QDU8) uses the microkernels for a signed
// input.
std::vector<std::string> KernelTypes(const OperatorName& name) {
  std::string joined;
  for (const std::string& type : name.data_types) {
    const std::string lower = Lower(type);
    joined += (joined.empty() ? "" : "_") + (lower == "qdu8" ? std::string("qd8") : lower);
  }
  std::vector<std::string> types = {joined};
  if (joined == "qc8" || joined == "qs8") types.emplace_back("qs8_qc8w");
  if (joined == "f16") types.emplace_back("f16_f32acc");
  if (joined == "pf16") types.emplace_back("pf16_f16");
  if (joined == "pqs8_qs8_qc8w") types.emplace_back("pqs8_qc8w");
  return types;
}

// Returns whether XNNPACK would log this tile for the kernel, whose own tile is clipped to the operator's
// size.
bool MatchesClippedTile(const Microkernel& kernel, const Tile& tile) {
  if (!kernel.mr || !kernel.nr) return false;
  const auto mr = static_cast<std::uint64_t>(*kernel.mr), nr = static_cast<std::uint64_t>(*kernel.nr);
  return std::min(mr, tile.m) == tile.mr && std::min(nr, tile.n) == tile.nr;
}
bool HasFullTile(const Microkernel& kernel, const Tile& tile) {
  return static_cast<std::uint64_t>(*kernel.mr) == tile.mr &&
         static_cast<std::uint64_t>(*kernel.nr) == tile.nr;
}

constexpr std::size_t kMaxCandidates = 64;

class KernelUsageFinder {
 public:
  explicit KernelUsageFinder(const KernelLog& log) : log_(log) {}

  KernelUsage Find() {
    AddKernels();
    MarkSuperseded();
    for (const LoggedKernel& kernel : usage_.kernels) {
      if (!kernel.parsed || kernel.status == KernelStatus::kSuperseded) continue;
      const Family family = kernel.parsed->family;
      if (family == Family::kGemm || family == Family::kIgemm)
        products_[{family == Family::kGemm, kernel.parsed->DataTypes()}].push_back(&*kernel.parsed);
    }
    for (std::size_t graph = 0; graph < log_.graphs.size(); ++graph) AddOperators(graph);
    for (const OperatorKernel& op : usage_.operators)
      if (!op.kernel.empty()) usage_.kernels[kernels_.at(op.kernel)].status = KernelStatus::kUsed;
    return std::move(usage_);
  }

 private:
  void AddKernels() {
    std::set<std::pair<std::string, std::string>> configs;
    for (const Registration& registration : log_.registrations) {
      const auto [entry, is_new] = kernels_.try_emplace(registration.kernel, usage_.kernels.size());
      if (is_new) {
        usage_.kernels.push_back({.name = registration.kernel,
                                  .parsed = ParseMicrokernel(registration.kernel),
                                  .role = registration.role,
                                  .configs = {},
                                  .file = registration.file,
                                  .line = registration.line,
                                  .superseded_by = {}});
      }
      LoggedKernel& kernel = usage_.kernels[entry->second];
      kernel.count += registration.count;
      if (configs.emplace(registration.kernel, registration.config).second)
        kernel.configs.push_back(registration.config);
    }
  }

  // Marks a kernel as superseded if every function that registered it has replaced it by another one.
  void MarkSuperseded() {
    std::map<std::string, const LoggedKernel*> last_in_slot;  // keyed by slot
    const auto slot_key = [&](const Registration& registration) -> std::string {
      const LoggedKernel& kernel = usage_.kernels[kernels_.at(registration.kernel)];
      const std::string& config = registration.config;
      return !kernel.parsed || config.empty() || config.ends_with("_impl")
                 ? ""
                 : SlotKey(registration, *kernel.parsed);
    };
    for (const Registration& registration : log_.registrations) {
      if (const std::string slot = slot_key(registration); !slot.empty())
        last_in_slot[slot] = &usage_.kernels[kernels_.at(registration.kernel)];
    }
    std::map<std::string, std::set<std::string>> replaced;  // kernel -> functions that replaced it
    for (const Registration& registration : log_.registrations) {
      const std::string slot = slot_key(registration);
      if (slot.empty()) continue;
      LoggedKernel& kernel = usage_.kernels[kernels_.at(registration.kernel)];
      if (!Supersedes(*last_in_slot[slot]->parsed, *kernel.parsed)) continue;
      replaced[kernel.name].insert(registration.config);
      kernel.superseded_by = last_in_slot[slot]->name;
    }
    for (LoggedKernel& kernel : usage_.kernels) {
      if (kernel.superseded_by.empty()) continue;
      if (replaced[kernel.name].size() == kernel.configs.size()) {
        kernel.status = KernelStatus::kSuperseded;
      } else {
        kernel.superseded_by.clear();
      }
    }
  }

  void AddOperators(std::size_t graph) {
    std::map<std::string, int> name_counts;
    for (const LoggedOperator& op : log_.graphs[graph].operators) {
      OperatorKernel usage;
      usage.graph = graph;
      usage.index = op.index;
      std::string name = op.name;
      // Remove kinds that carry no information. The log contains them, but an ETDump does not.
      for (const std::string_view kind : {" Default", ") Transpose"})
        if (name.ends_with(kind)) name.resize(name.rfind(' '));
      usage.name = name + " #" + std::to_string(++name_counts[name]);
      if (op.skipped) continue;
      usage.calls = log_.graphs[graph].calls;
      usage.tile = op.tile;
      FindKernel(op, usage);
      usage_.operators.push_back(std::move(usage));
    }
  }

  void FindKernel(const LoggedOperator& op, OperatorKernel& usage) const {
    const auto name = ParseOperatorName(op.name);
    if (!name || (name->kind != "GEMM" && name->kind != "IGEMM")) {
      usage.reason = "XNNPACK prints tiles of matrix products only";
      return;
    }
    if (!op.tile) {
      usage.reason = "no tile of its own was logged";
      return;
    }
    const Microkernel* match = nullptr;
    bool has_types = false;
    for (const std::string& type : KernelTypes(*name)) {
      const auto found = products_.find({name->kind == "GEMM", type});
      if (found == products_.end()) continue;
      has_types = true;
      for (const Microkernel* kernel : found->second) {
        if (!MatchesClippedTile(*kernel, *op.tile)) continue;
        match = kernel;
        if (usage.candidates.size() < kMaxCandidates) usage.candidates.push_back(kernel->name);
      }
    }
    if (usage.candidates.empty()) {
      usage.reason = has_types ? "no registered microkernel of its data types has its tile"
                               : "no microkernel of its data types was registered";
    } else if (usage.candidates.size() > 1) {
      usage.reason = op.tile->mr == op.tile->m || op.tile->nr == op.tile->n
                         ? "its tile is cut to its size, and several microkernels agree with it"
                         : "several microkernels have its tile";
    } else if (!HasFullTile(*match, *op.tile)) {
      usage.reason = "its tile is cut to its size";
    } else {
      usage.kernel = usage.candidates.front();
      usage.candidates.clear();
    }
  }

  const KernelLog& log_;
  KernelUsage usage_;
  std::map<std::string, std::size_t> kernels_;
  // Matrix product kernels that are not superseded, by kind (true: GEMM, false: IGEMM) and data types.
  std::map<std::pair<bool, std::string>, std::vector<const Microkernel*>> products_;
};

}  // namespace

KernelUsage FindKernelUsage(const KernelLog& log) { return KernelUsageFinder(log).Find(); }

}  // namespace etprof::xnnpack
