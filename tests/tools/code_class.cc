// Reads functions, one per line: architecture ("x86-64", "aarch64") and hexadecimal code. Writes for each,
// separated by tabs: the name of its class, its features as "feature=instructions", the numbers of
// instructions, vector instructions, and unknown stretches, and its features with all features that they
// require. tests/devices/test_code_class.py compares them with binutils.
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
    const auto found = etprof::isa::ClassifyCode(bytes, target);
    etprof::isa::FeatureSet features;
    std::cout << found.name << '\t';
    for (const auto& use : found.features) {
      std::cout << (&use == found.features.data() ? "" : " ") << use.feature << '=' << use.instructions;
      features.insert(use.feature);
    }
    std::cout << '\t' << found.instructions << '\t' << found.vector << '\t' << found.unknown << '\t';
    for (const auto& feature : etprof::isa::WithDependencies(target, features)) std::cout << feature << ' ';
    std::cout << '\n';
  }
  std::cout.flush();
  return std::cout ? 0 : 1;
}
