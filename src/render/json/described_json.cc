
#include "core/json.h"
#include "core/json_members.h"
#include "render/check.h"
#include "render/kernels.h"
#include "render/suite.h"

// Subjects whose values in report/ are described as they are.
namespace etprof {

void RenderCheckJson(const CheckReport& check, std::ostream& out) {
  out << JsonText(ToJson(check), 2) << '\n';
}

void RenderStaticCheckJson(const StaticCheck& check, std::ostream& out) {
  out << JsonText(ToJson(check), 2) << '\n';
}

void RenderKernelsJson(const KernelReport& report, std::ostream& out) {
  out << JsonText(ToJson(report), 1) << '\n';
}

void RenderSuiteJson(const SuiteReport& suite, std::ostream& out) {
  out << JsonText(ToJson(suite), 2) << '\n';
}

}  // namespace etprof
