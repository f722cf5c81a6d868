#pragma once

#include <map>
#include <string>

#include "analysis/profile.h"

namespace etprof {

// What the operators of a profile are called in tables. Events of different delegates and kernels may have
// one name ("Fully Connected (NC, F32) GEMM #1"): of these it is said which is meant. Plain text.
class OperatorNames {
 public:
  explicit OperatorNames(const Profile& profile);

  // "Convolution (NHWC, F32) IGEMM #2"; a framework span's row is what it takes beside its children:
  // "DELEGATE_CALL (overhead)".
  std::string Plain(std::size_t op) const;
  // Where another operator has that name: " (features.3, call 7)", the layer where it is known, the call
  // where layers do not tell them apart. Else "".
  std::string Where(std::size_t op) const;
  std::string Of(std::size_t op) const { return Plain(op) + Where(op); }

 private:
  const Profile& profile_;
  std::map<std::string, int> named_;                               // how many have a plain name
  std::map<std::pair<std::string, std::string>, int> named_here_;  // and in one layer
};

}  // namespace etprof
