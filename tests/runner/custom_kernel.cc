// A library for --load that registers the operator of models.py's missing_operator by EXECUTORCH_LIBRARY. The
// kernel takes nearly all of a run's time.
#include <executorch/extension/kernel_util/make_boxed_from_unboxed_functor.h>

#include <chrono>
#include <cstring>

namespace {

executorch::aten::Tensor& Nowhere(executorch::runtime::KernelRuntimeContext&,
                                  const executorch::aten::Tensor& x, executorch::aten::Tensor& out) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
  while (std::chrono::steady_clock::now() < end) {
  }
  std::memcpy(out.mutable_data_ptr(), x.const_data_ptr(), x.nbytes());
  return out;
}

}  // namespace

EXECUTORCH_LIBRARY(etprof_test, "nowhere.out", Nowhere);
