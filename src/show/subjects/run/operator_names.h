#pragma once

#include <map>
#include <string>

#include "profile/analysis/profile.h"

namespace etprof {

// The names of a profile's operators in tables. Events of different delegates and kernels may share a name
// ("Fully Connected (NC, F32) GEMM #1"); a location then distinguishes them. Names are plain text.
class OperatorNames {
 public:
  explicit OperatorNames(const Profile& profile);

  // "Convolution (NHWC, F32) IGEMM #2". A framework span's row has the time outside of its children:
  // "DELEGATE_CALL (overhead)".
  std::string PlainName(std::size_t op) const;
  // If another operator has the same name: " (features.3, call 7)", with the layer if it is known, and the
  // call if layers do not distinguish them. Else "".
  std::string Location(std::size_t op) const;
  std::string FullName(std::size_t op) const { return PlainName(op) + Location(op); }

 private:
  const Profile& profile_;
  std::map<std::string, int> count_by_name_;  // number of operators with each plain name
  // Number of operators with each plain name in each layer.
  std::map<std::pair<std::string, std::string>, int> count_by_name_and_layer_;
};

}  // namespace etprof
