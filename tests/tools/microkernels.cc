// Reads names of microkernels, one a line, and writes name, family, operation, data types, shape, instruction
// set and variant of each, separated by tabs; of a name that is none the name alone.
// python/tests/runs/test_microkernels.py holds the parser against the names that ExecuTorch's own libraries
// hold.
#include <iostream>
#include <string>

#include "xnnpack/microkernel.h"

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
