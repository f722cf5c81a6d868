#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "device/device.h"
#include "measure/participants/worker_client.h"
#include "measure/store/peaks_value.h"

namespace etprof {

// peaks.json of a results directory; absent: there is none. Throws Error (kBadInput) for one that is damaged.
std::optional<Peaks> LoadPeaks(const std::filesystem::path& run_directory);

// The entry of an experiment; null: it has none (emulated, a foreign runner, a kernel-log run).
const PeaksEntry* PeaksOf(const Peaks& peaks, std::string_view label);

// Multiply-adds per second: the most that any allowed level reached with operands of `dtype` ("fp32", "fp16",
// "bf16", "int8"). Absent: no allowed level computes in it (fp16 on x86-64 without AVX512-FP16, where kernels
// convert and compute in fp32).
std::optional<double> BestMacsPerSecond(const PeaksEntry& entry, std::string_view dtype);

// Bytes per second of `access` ("read", "write", "copy") where `working_set_bytes`, of all threads together,
// are passed through again and again: that of the innermost level that holds them, else of the last. Absent:
// it was not measured.
std::optional<double> BytesPerSecond(const PeaksEntry& entry, std::string_view access,
                                     Bytes working_set_bytes);

// What is to be measured, and by what.
struct PeaksRequest {
  Command start;  // of etprof-runner, without arguments of its own, and its CPUs
  int threads = 1;
  std::string cpus;  // as configured, for the entry
  std::string isa;   // the mask
};

// Asks the runner, which takes a second or two. Throws WorkerFailure, whose kind says whether trying again
// makes sense (kRefused: it is no etprof-runner of this version, or says what is wrong), and Error as
// Device::Start.
protocol::Peaks AskForPeaks(Device& device, const PeaksRequest& request, Interruption& interruption,
                            double timeout_seconds);

}  // namespace etprof
