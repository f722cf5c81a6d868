// A library for --load that sets one option of XNNPACK's delegate before any model is loaded: KEY to VALUE
// (-D). ExecuTorch 1.5.1, backends/xnnpack/runtime/XNNPACKBackend.h.
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/backend/options.h>

#include <cstdlib>

namespace {

const bool kIsSet = [] {
  executorch::runtime::BackendOptions<1> options;
  if (options.set_option(KEY, VALUE) != executorch::runtime::Error::Ok ||
      executorch::runtime::set_option("XnnpackBackend", options.view()) != executorch::runtime::Error::Ok)
    std::abort();
  return true;
}();

}  // namespace
