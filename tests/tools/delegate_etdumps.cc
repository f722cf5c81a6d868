// Writes an ETDump for each delegate with ExecuTorch's own ETDumpGen. Each function logs the same events as
// the function of the backend that its comment names. Values that a CPU does not provide (bytes, cycles,
// times of another clock) are made up.
//   etprof_delegate_etdumps FOLDER INSTRUCTION   INSTRUCTION: index of the program's delegate call
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/core/event_tracer_hooks_delegate.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace {

using executorch::etdump::ETDumpGen;
using executorch::runtime::DebugHandle;
using executorch::runtime::event_tracer_end_profiling_delegate;
using executorch::runtime::event_tracer_log_profiling_delegate;
using executorch::runtime::event_tracer_start_profiling_delegate;
using executorch::runtime::EventTracer;
using executorch::runtime::EventTracerEntry;

constexpr int kRuns = 12;
constexpr auto kNoId = static_cast<DebugHandle>(-1);

// Keeps the host busy for about 50 µs.
void Compute() {
  const et_timestamp_t until = et_pal_current_ticks() + 50'000;
  while (et_pal_current_ticks() < until) {
  }
}

// An event on the host's clock that lasts as long as this object, as backends log their own code.
class HostSpan {
 public:
  HostSpan(EventTracer& tracer, const char* name, std::string metadata = "")
      : tracer_(tracer),
        entry_(event_tracer_start_profiling_delegate(&tracer, name, kNoId)),
        metadata_(std::move(metadata)) {}
  ~HostSpan() {
    event_tracer_end_profiling_delegate(&tracer_, entry_, metadata_.empty() ? nullptr : metadata_.data(),
                                        metadata_.size());
  }
  HostSpan(const HostSpan&) = delete;
  HostSpan& operator=(const HostSpan&) = delete;

 private:
  EventTracer& tracer_;
  EventTracerEntry entry_;
  std::string metadata_;
};

// Logs the events of backends/xnnpack/runtime/profiling/XNNProfiler.cpp, submit_trace, in a version that logs
// names of microkernels.
void Xnnpack(EventTracer& tracer, int) {
  et_timestamp_t time = et_pal_current_ticks();
  Compute();
  const std::string metadata = std::string("xnn_f32_igemm_minmax_ukernel_7x32__avx512f") + '\0' + "12";
  for (const char* name : {"Convolution (NHWC, F32) IGEMM #1", "Fully Connected (NC, F32) GEMM #1"}) {
    event_tracer_log_profiling_delegate(&tracer, name, kNoId, time, time + 20'000, metadata.data(),
                                        metadata.size());
    time += 20'000;
  }
}

// Logs the events of backends/qualcomm/runtime/backends/QnnProfiler.cpp, QnnProfile::ProfileData.
void Qnn(EventTracer& tracer, int run) {
  Compute();
  const auto log = [&](const char* name, et_timestamp_t value) {
    event_tracer_log_profiling_delegate(&tracer, name, kNoId, 0, value);
  };
  log("Number of HVX threads used (count)", 4);
  log("RPC (execute) time (us)", 340 + static_cast<et_timestamp_t>(run));
  log("DSP heap (bytes)", 25'165'824);
  log("Accelerator (execute) time (cycles)", 310'000);
  log("aten_convolution_default:OpId_13 (cycles)", 120'000);
  log("Input OpId_2", 2'000);
}

// Logs the events of backends/apple/coreml/runtime/sdk/model_event_logger_impl.mm,
// ModelEventLoggerImpl::log_profiling_infos, with the times of ETCoreMLModelProfiler.mm,
// get_profiling_infos_for_paths.
void Coreml(EventTracer& tracer, int) {
  const et_timestamp_t start = et_pal_current_ticks();
  Compute();
  const et_timestamp_t length = et_pal_current_ticks() - start;
  const std::string metadata =
      R"({"preferredComputeUnit":"NE","operatorName":"ios17.conv","estimatedCost":0.6})";
  const et_timestamp_t middle = start + static_cast<et_timestamp_t>(static_cast<double>(length) * 0.6);
  event_tracer_log_profiling_delegate(&tracer, "aten_convolution_default", kNoId, start, middle,
                                      metadata.data(), metadata.size());
  event_tracer_log_profiling_delegate(&tracer, "relu_out:ios17.relu", kNoId, middle, start + length,
                                      metadata.data(), metadata.size());
}

// Logs the events of backends/vulkan/runtime/VulkanBackend.cpp, VulkanBackend::execute.
void Vulkan(EventTracer& tracer, int run) {
  const HostSpan whole(tracer, "ETVK_EXECUTE");
  {
    const HostSpan copy(tracer, "ETVK_COPY_INPUTS");
    Compute();
  }
  {
    const HostSpan graph(tracer, "ETVK_COMPUTE_GRAPH_EXECUTE");
    Compute();
  }
  et_timestamp_t gpu = 77'000'000 + 1'000'000 * static_cast<et_timestamp_t>(run);
  for (int dispatch = 0; dispatch < 2; ++dispatch, gpu += 400'000) {
    const std::string name = "{conv2d_pw_tile_float, \"dispatch_id\": " + std::to_string(dispatch) + "}";
    event_tracer_log_profiling_delegate(&tracer, name.c_str(), kNoId, gpu, gpu + 400'000);
  }
  const HostSpan copy(tracer, "ETVK_COPY_OUTPUTS");
  Compute();
}

// Logs the events of backends/arm/runtime/VGFBackend.cpp, VGFBackend::execute.
void Vgf(EventTracer& tracer, int run) {
  const HostSpan whole(tracer, "VGF_EXECUTE");
  {
    const HostSpan copies(tracer, "VGF_COPY_INPUTS");
    const HostSpan copy(tracer, "VGF::input_copy", R"({"kind":"INPUT_COPY","bytes_copied":3072})");
    Compute();
  }
  {
    const HostSpan dispatch(tracer, "VGF_DISPATCH_AND_WAIT");
    const HostSpan wait(tracer, "VGF_QUEUE_SUBMIT_AND_WAIT_FENCE");
    Compute();
  }
  const HostSpan statistics(
      tracer, "VGF_NEURAL_STATISTICS",
      "{\"schema\":\"executorch.vgf.neural_statistics\",\"run\":" + std::to_string(run) + "}");
}

// Logs the events of backends/arm/runtime/EthosUBackend.cpp, EthosUBackend::execute.
void EthosU(EventTracer& tracer, int) {
  const EventTracerEntry whole = tracer.start_profiling("EthosUBackend::execute()");
  Compute();
  const EventTracerEntry npu = tracer.start_profiling("+EthosUBackend::execute()NPU");
  Compute();
  tracer.end_profiling(npu);
  tracer.end_profiling(whole);
}

// Logs the events of backends/nxp/runtime/NeutronBackend.cpp, NeutronBackend::execute.
void Neutron(EventTracer& tracer, int) {
  const et_timestamp_t start = et_pal_current_ticks();
  Compute();
  const et_timestamp_t stop = et_pal_current_ticks();
  const std::uint8_t function = 7;
  et_timestamp_t ticks = 5'000;
  DebugHandle index = 0;
  for (; index < 2; ++index, ticks += 90'000)
    event_tracer_log_profiling_delegate(&tracer, nullptr, index, ticks, ticks + 90'000, &function,
                                        sizeof(function));
  event_tracer_log_profiling_delegate(&tracer, nullptr, index, ticks, ticks + 3'000 + stop - start, &function,
                                      sizeof(function));
}

// Logs no events, as backends/openvino/runtime/OpenvinoBackend.cpp, OpenvinoBackend::execute.
void Openvino(EventTracer&, int) { Compute(); }

// A delegate that is not part of ExecuTorch. Its times are host times, but a reader of the ETDump cannot know
// that.
void Unknown(EventTracer& tracer, int) {
  const HostSpan layer(tracer, "layer_1");
  Compute();
}

// Makes the calls of runtime/executor/method.cpp, Method::execute and Method::execute_instruction.
void Write(const std::string& path, int instruction, void (*execute)(EventTracer& tracer, int run)) {
  ETDumpGen tracer;
  for (int run = 0; run < kRuns; ++run) {
    tracer.create_event_block("Execute");
    const EventTracerEntry method = tracer.start_profiling("Method::execute", -1, 0);
    tracer.set_chain_debug_handle(0, static_cast<DebugHandle>(instruction));
    const EventTracerEntry call = tracer.start_profiling("DELEGATE_CALL");
    execute(tracer, run);
    tracer.end_profiling(call);
    tracer.set_chain_debug_handle(executorch::runtime::kUnsetChainId, executorch::runtime::kUnsetDebugHandle);
    tracer.end_profiling(method);
  }
  const executorch::etdump::ETDumpResult dump = tracer.get_etdump_data();
  const std::unique_ptr<void, decltype(&std::free)> owner(dump.buf, &std::free);
  std::ofstream(path, std::ios::binary)
      .write(static_cast<const char*>(dump.buf), static_cast<std::streamsize>(dump.size));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: etprof_delegate_etdumps FOLDER INSTRUCTION\n", stderr);
    return 2;
  }
  executorch::runtime::runtime_init();
  struct {
    const char* name;
    void (*execute)(EventTracer& tracer, int run);
  } const delegates[] = {{"xnnpack", Xnnpack}, {"qnn", Qnn},           {"coreml", Coreml},
                         {"vulkan", Vulkan},   {"vgf", Vgf},           {"ethos_u", EthosU},
                         {"neutron", Neutron}, {"openvino", Openvino}, {"unknown", Unknown}};
  for (const auto& delegate : delegates)
    Write((std::filesystem::path(argv[1]) / delegate.name).string() + ".etdump", std::atoi(argv[2]),
          delegate.execute);
  return 0;
}
