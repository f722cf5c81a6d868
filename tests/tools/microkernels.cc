// Reads names of microkernels, one per line, and writes for each, separated by tabs: name, family, operation,
// data types, shape, instruction set, and variant. For other names it writes only the name.
// python/tests/runs/test_microkernels.py tests the parser with the names in ExecuTorch's own libraries.
#include <iostream>
#include <string>

#include "format/xnnpack/microkernel.h"

int main() {
  std::string name;
  while (std::getline(std::cin, name)) {
    std::cout << name;
    if (const auto kernel = etprof::xnnpack::ParseMicrokernel(name)) {
      std::cout << '\t' << etprof::xnnpack::FamilyName(kernel->family) << '\t' << kernel->op << '\t'
                << kernel->DataTypes() << '\t' << kernel->Shape() << '\t' << kernel->Isa() << '\t'
                << kernel->variant;
    }
    std::cout << '\n';
  }
  std::cout.flush();
  return std::cout ? 0 : 1;
}
