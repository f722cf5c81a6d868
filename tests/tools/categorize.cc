// Reads operator names, one a line, and writes name, fine category, headline group and whether the category
// table knows it, separated by tabs. python/tests/test_categories.py holds the table against the names in
// ExecuTorch's libraries.
#include <iostream>
#include <string>

#include "analysis/categories.h"

int main() {
  std::string name;
  while (std::getline(std::cin, name)) {
    const etprof::Category category = etprof::Categorize(name);
    std::cout << name << '\t' << category.name << '\t' << etprof::GroupName(category.group) << '\t'
              << (category.known ? "known" : "unknown") << '\n';
  }
  std::cout.flush();
  return std::cout ? 0 : 1;
}
