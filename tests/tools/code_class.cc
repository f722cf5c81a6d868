// Reads functions, one per line: architecture ("x86-64", "aarch64") and hexadecimal code. Writes the name of
// the class of each. tests/devices/test_code_class.py compares them with binutils.
#include "isa/code_class.h"

#include <cstddef>
#include <iostream>
#include <string>
#include <vector>

int main() {
  std::string architecture, code;
  while (std::cin >> architecture && std::getline(std::cin >> std::ws, code)) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i + 1 < code.size(); i += 2) {
      bytes.push_back(static_cast<std::byte>(std::stoi(code.substr(i, 2), nullptr, 16)));
    }
    const auto target =
        architecture == "aarch64" ? etprof::isa::Architecture::kAarch64 : etprof::isa::Architecture::kX86_64;
    std::cout << etprof::isa::ClassifyCode(bytes, target) << '\n';
  }
  std::cout.flush();
  return std::cout ? 0 : 1;
}
