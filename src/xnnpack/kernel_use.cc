#include "xnnpack/kernel_use.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/text/text.h"
#include "xnnpack/operator_name.h"

namespace etprof::xnnpack {
namespace {

// What the later of two registrations of one function takes the earlier's place in: the operation, its data
// types, and what tells a configuration's slots apart besides.
std::string Slot(const Registration& registration, const Microkernel& kernel) {
  const auto leading = [](const std::string& text) {
    std::size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
    return text.substr(0, digits);
  };
  std::string own;
  switch (kernel.family) {
    case Family::kGemm:
    case Family::kIgemm:
      own = std::to_string(kernel.mr.value_or(0));
      break;
    case Family::kSpmm:
      own = std::to_string(kernel.nr.value_or(0));
      break;
    case Family::kDwconv:
    case Family::kPool:
      own = kernel.op == "dwconv2d_chw" ? kernel.shape.substr(0, kernel.shape.find('_'))
                                        : leading(kernel.shape);
      break;
    case Family::kConv:
      own = kernel.shape;
      break;
    default:
      break;
  }
  return registration.config + '\n' + registration.role + '\n' + kernel.op + '\n' + kernel.DataTypes() +
         '\n' + kernel.activation + '\n' + own;
}

// Of matrix products of one slot, those with as many columns are for different cores; a configuration has one
// number of columns.
bool Replaces(const Microkernel& later, const Microkernel& earlier) {
  if (later.family == Family::kGemm || later.family == Family::kIgemm)
    return later.nr && earlier.nr && later.nr != earlier.nr;
  return later.name != earlier.name;
}

// The data types of the microkernels that an operator may run, as their names have them. XNNPACK's operators
// leave out what goes without saying, and its microkernels say more: of QC8 the activations, of F16 the
// accumulator; a dynamically quantized unsigned input (QDU8) takes the microkernels of the signed one.
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

// Whether a tile of this kernel would have been printed so.
bool Agrees(const Microkernel& kernel, const Tile& tile) {
  if (!kernel.mr || !kernel.nr) return false;
  const auto mr = static_cast<std::uint64_t>(*kernel.mr), nr = static_cast<std::uint64_t>(*kernel.nr);
  return std::min(mr, tile.m) == tile.mr && std::min(nr, tile.n) == tile.nr;
}
bool Is(const Microkernel& kernel, const Tile& tile) {
  return static_cast<std::uint64_t>(*kernel.mr) == tile.mr &&
         static_cast<std::uint64_t>(*kernel.nr) == tile.nr;
}

constexpr std::size_t kMostCandidates = 64;

class Finder {
 public:
  explicit Finder(const KernelLog& log) : log_(log) {}

  KernelUse Find() {
    AddKernels();
    Supersede();
    for (const LoggedKernel& kernel : use_.kernels) {
      if (!kernel.parsed || kernel.status == KernelStatus::kSuperseded) continue;
      const Family family = kernel.parsed->family;
      if (family == Family::kGemm || family == Family::kIgemm)
        products_[{family == Family::kGemm, kernel.parsed->DataTypes()}].push_back(&*kernel.parsed);
    }
    for (std::size_t graph = 0; graph < log_.graphs.size(); ++graph) AddOperators(graph);
    for (const OperatorUse& op : use_.operators)
      if (!op.kernel.empty()) use_.kernels[kernels_.at(op.kernel)].status = KernelStatus::kUsed;
    return std::move(use_);
  }

 private:
  void AddKernels() {
    std::set<std::pair<std::string, std::string>> configs;
    for (const Registration& registration : log_.registrations) {
      const auto [place, is_new] = kernels_.try_emplace(registration.kernel, use_.kernels.size());
      if (is_new) {
        LoggedKernel kernel;
        kernel.name = registration.kernel;
        kernel.parsed = ParseMicrokernel(registration.kernel);
        kernel.role = registration.role;
        kernel.file = registration.file;
        kernel.line = registration.line;
        use_.kernels.push_back(std::move(kernel));
      }
      LoggedKernel& kernel = use_.kernels[place->second];
      kernel.count += registration.count;
      if (configs.emplace(registration.kernel, registration.config).second)
        kernel.configs.push_back(registration.config);
    }
  }

  // A kernel is superseded where every function that registered it has put another one in its place.
  void Supersede() {
    std::map<std::string, const LoggedKernel*> last;  // of each slot
    const auto slot_of = [&](const Registration& registration) -> std::string {
      const LoggedKernel& kernel = use_.kernels[kernels_.at(registration.kernel)];
      const std::string& config = registration.config;
      return !kernel.parsed || config.empty() || config.ends_with("_impl")
                 ? ""
                 : Slot(registration, *kernel.parsed);
    };
    for (const Registration& registration : log_.registrations) {
      if (const std::string slot = slot_of(registration); !slot.empty())
        last[slot] = &use_.kernels[kernels_.at(registration.kernel)];
    }
    std::map<std::string, std::set<std::string>> replaced;  // kernel -> in which functions
    for (const Registration& registration : log_.registrations) {
      const std::string slot = slot_of(registration);
      if (slot.empty()) continue;
      LoggedKernel& kernel = use_.kernels[kernels_.at(registration.kernel)];
      if (!Replaces(*last[slot]->parsed, *kernel.parsed)) continue;
      replaced[kernel.name].insert(registration.config);
      kernel.superseded_by = last[slot]->name;
    }
    for (LoggedKernel& kernel : use_.kernels) {
      if (kernel.superseded_by.empty()) continue;
      if (replaced[kernel.name].size() == kernel.configs.size()) {
        kernel.status = KernelStatus::kSuperseded;
      } else {
        kernel.superseded_by.clear();
      }
    }
  }

  void AddOperators(std::size_t graph) {
    std::map<std::string, int> numbers;
    for (const LoggedOperator& op : log_.graphs[graph].operators) {
      OperatorUse use;
      use.graph = graph;
      use.index = op.index;
      std::string name = op.name;
      // Kinds that say nothing more are in the log, and not in an ETDump.
      for (const std::string_view kind : {" Default", ") Transpose"})
        if (name.ends_with(kind)) name.resize(name.rfind(' '));
      use.name = name + " #" + std::to_string(++numbers[name]);
      if (op.skipped) continue;
      use.calls = log_.graphs[graph].calls;
      use.tile = op.tile;
      Prove(op, use);
      use_.operators.push_back(std::move(use));
    }
  }

  void Prove(const LoggedOperator& op, OperatorUse& use) const {
    const auto name = ParseOperatorName(op.name);
    const bool gemm = name && name->kind == "GEMM";
    if (!gemm && (!name || name->kind != "IGEMM")) {
      use.reason = "XNNPACK prints tiles of matrix products only";
      return;
    }
    if (!op.tile) {
      use.reason = "no tile of its own was logged";
      return;
    }
    const std::vector<std::string> types = KernelTypes(*name);
    const Microkernel* only = nullptr;
    bool any = false;
    for (const std::string& type : types) {
      const auto found = products_.find({gemm, type});
      if (found == products_.end()) continue;
      any = true;
      for (const Microkernel* kernel : found->second) {
        if (!Agrees(*kernel, *op.tile)) continue;
        only = kernel;
        if (use.candidates.size() < kMostCandidates) use.candidates.push_back(kernel->name);
      }
    }
    if (use.candidates.empty()) {
      use.reason = any ? "no registered microkernel of its data types has its tile"
                       : "no microkernel of its data types was registered";
    } else if (use.candidates.size() > 1) {
      use.reason = op.tile->mr == op.tile->m || op.tile->nr == op.tile->n
                       ? "its tile is cut to its size, and several microkernels agree with it"
                       : "several microkernels have its tile";
    } else if (!Is(*only, *op.tile)) {
      use.reason = "its tile is cut to its size";
    } else {
      use.kernel = use.candidates.front();
      use.candidates.clear();
    }
  }

  const KernelLog& log_;
  KernelUse use_;
  std::map<std::string, std::size_t> kernels_;
  // Matrix products that are not superseded: by GEMM or IGEMM, and data types.
  std::map<std::pair<bool, std::string>, std::vector<const Microkernel*>> products_;
};

}  // namespace

KernelUse FindUse(const KernelLog& log) { return Finder(log).Find(); }

}  // namespace etprof::xnnpack
