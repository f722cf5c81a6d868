// Reads operator names, one per line, and writes for each, separated by tabs: name, category, category group,
// whether the category table has the operator, and whether XNNPACK can take it.
// python/tests/runs/test_categories.py and test_delegable.py compare the tables with ExecuTorch's own.
#include <iostream>
#include <string>

#include "format/program/xnn/delegable.h"
#include "profile/analysis/categories.h"

int main() {
  std::string name;
  while (std::getline(std::cin, name)) {
    const etprof::Category category = etprof::Categorize(name);
    std::cout << name << '\t' << category.name << '\t' << etprof::OperatorGroupName(category.group) << '\t'
              << (category.known ? "known" : "unknown") << '\t'
              << (etprof::IsSupportedByXnnpack(name) ? "delegable" : "-") << '\n';
  }
  std::cout.flush();
  return std::cout ? 0 : 1;
}
