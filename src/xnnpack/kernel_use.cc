#include "xnnpack/kernel_use.h"

#include <algorithm>
#include <map>

#include "xnnpack/operator_name.h"

namespace etprof::xnnpack {
namespace {

// What tells the slots of a configuration apart besides operation and data types.
std::string Slot(const Microkernel& kernel) {
  const auto leading = [](const std::string& text) {
    std::size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
    return text.substr(0, digits);
  };
  switch (kernel.family) {
    case Family::kGemm:
    case Family::kIgemm:
      // Rows; and all else of the shape, since kernels of one shape may be for different cores.
      return kernel.name;
    case Family::kSpmm:
      return std::to_string(kernel.nr.value_or(0));
    case Family::kDwconv:
    case Family::kPool:
      return kernel.op == "dwconv2d_chw" ? kernel.shape.substr(0, kernel.shape.find('_'))
                                         : leading(kernel.shape);
    case Family::kConv:
      return kernel.shape;
    default:
      return "";
  }
}

// Two of a matrix product in one function: the later takes the earlier's place where it has as many rows and
// another number of columns, which a configuration has one of.
bool ReplacesMatrix(const Microkernel& later, const Microkernel& earlier) {
  return later.mr == earlier.mr && later.nr && earlier.nr && later.nr != earlier.nr;
}

bool Replaces(const Microkernel& later, const Microkernel& earlier) {
  if (later.name == earlier.name || later.family != earlier.family || later.op != earlier.op ||
      later.data_types != earlier.data_types || later.activation != earlier.activation) {
    return false;
  }
  if (later.family == Family::kGemm || later.family == Family::kIgemm) return ReplacesMatrix(later, earlier);
  return Slot(later) == Slot(earlier);
}

std::string Lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
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

class Finder {
 public:
  explicit Finder(const KernelLog& log) : log_(log) {}

  KernelUse Find() {
    AddKernels();
    Supersede();
    for (std::size_t graph = 0; graph < log_.graphs.size(); ++graph) AddOperators(graph);
    for (LoggedKernel& kernel : use_.kernels) {
      const bool used = std::any_of(use_.operators.begin(), use_.operators.end(),
                                    [&](const OperatorUse& op) { return op.kernel == kernel.name; });
      if (used) kernel.status = KernelStatus::kUsed;
    }
    return std::move(use_);
  }

 private:
  void AddKernels() {
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
      if (std::find(kernel.configs.begin(), kernel.configs.end(), registration.config) ==
          kernel.configs.end())
        kernel.configs.push_back(registration.config);
    }
  }

  // A kernel is superseded where every function that registered it has put another one in its place.
  void Supersede() {
    std::map<std::string, std::vector<const Registration*>> configs;
    for (const Registration& registration : log_.registrations)
      configs[registration.config].push_back(&registration);
    std::map<std::string, std::size_t> replaced;  // kernel -> in how many functions
    std::map<std::string, std::string> by;
    for (const auto& [config, registrations] : configs) {
      if (config.empty() || config.ends_with("_impl")) continue;
      // The last of each kernel, since a function may run twice.
      for (std::size_t i = 0; i < registrations.size(); ++i) {
        const LoggedKernel& earlier = use_.kernels[kernels_.at(registrations[i]->kernel)];
        for (std::size_t j = registrations.size(); earlier.parsed && j-- > i + 1;) {
          const LoggedKernel& later = use_.kernels[kernels_.at(registrations[j]->kernel)];
          if (!later.parsed || registrations[j]->role != registrations[i]->role ||
              !Replaces(*later.parsed, *earlier.parsed))
            continue;
          ++replaced[earlier.name];
          by[earlier.name] = later.name;
          break;
        }
      }
    }
    for (LoggedKernel& kernel : use_.kernels) {
      const auto found = replaced.find(kernel.name);
      if (found == replaced.end() || found->second < kernel.configs.size()) continue;
      kernel.status = KernelStatus::kSuperseded;
      kernel.superseded_by = by[kernel.name];
    }
  }

  void AddOperators(std::size_t graph) {
    std::map<std::string, int> numbers;
    for (const LoggedOperator& op : log_.graphs[graph].operators) {
      OperatorUse use;
      use.graph = graph;
      use.index = op.index;
      // ExecuTorch leaves XNNPACK's "Default" kind out of the names.
      std::string name = op.name;
      if (name.ends_with(" Default")) name.resize(name.size() - 8);
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
    for (const LoggedKernel& kernel : use_.kernels) {
      if (!kernel.parsed || kernel.status == KernelStatus::kSuperseded) continue;
      const Microkernel& parsed = *kernel.parsed;
      if (parsed.family != (gemm ? Family::kGemm : Family::kIgemm) ||
          std::find(types.begin(), types.end(), parsed.DataTypes()) == types.end()) {
        continue;
      }
      any = true;
      if (!Agrees(parsed, *op.tile)) continue;
      only = &parsed;
      use.candidates.push_back(kernel.name);
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
};

}  // namespace

std::string_view StatusName(KernelStatus status) {
  switch (status) {
    case KernelStatus::kRegistered:
      return "registered";
    case KernelStatus::kSuperseded:
      return "superseded";
    case KernelStatus::kUsed:
      return "used";
  }
  return "registered";
}

KernelUse FindUse(const KernelLog& log) { return Finder(log).Find(); }

}  // namespace etprof::xnnpack
