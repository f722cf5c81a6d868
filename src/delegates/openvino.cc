#include "delegates/delegate.h"

// backends/openvino/runtime/OpenvinoBackend.cpp, OpenvinoBackend::execute: nothing. Its call is one whole.
namespace etprof::delegates {

const Delegate kOpenvino = {"OpenvinoBackend", nullptr, false,
                            [](const Event& event) { return Read(nullptr, event); }};

}  // namespace etprof::delegates
