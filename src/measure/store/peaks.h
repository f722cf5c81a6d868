#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "protocol/peaks.h"

namespace etprof {

struct Interruption;

// The machine peaks for those experiments of a run that share mask, threads, CPUs, and runner.
struct PeaksEntry {
  std::vector<std::string> experiments;  // labels of the experiments (ExperimentData::label)
  protocol::Peaks peaks;                 // `peaks.cpus`: the CPUs as configured

  static void Describe(auto& v) {
    v("experiments", &PeaksEntry::experiments, {.meaning = "labels, as in the manifest", .non_empty = true});
    v.Flat(&PeaksEntry::peaks);
  }
};
// The contents of peaks.json.
struct Peaks {
  std::vector<PeaksEntry> entries;

  static constexpr bool kRequiresAllKeys = true;
  static void Describe(auto& v) {
    DescribeSchemaVersion(v);
    v("entries", &Peaks::entries,
      {.meaning = "one for all experiments that have mask, threads, CPUs and runner in common",
       .non_empty = true});
  }
};

// Reads peaks.json of a results directory; absent: no such file. Throws Error (kBadInput) for an invalid
// file.
std::optional<Peaks> LoadPeaks(const std::filesystem::path& run_directory);

// The entry of an experiment; null: none (emulated CPU, third-party runner, kernel-log run).
const PeaksEntry* FindPeaks(const Peaks& peaks, std::string_view label);

// The highest rate of MACs per second that any allowed ISA level reached with operands of `dtype` ("fp32",
// "fp16", "bf16", "int8"). Absent: no allowed level computes in this type (fp16 on x86-64 without
// AVX512-FP16, where kernels convert to fp32).
std::optional<double> BestMacsPerSecond(const PeaksEntry& entry, std::string_view dtype);

// The bandwidth in bytes per second of `access` ("read", "write", "copy") to a working set that is traversed
// repeatedly. This is the bandwidth of the innermost memory level that holds `working_set_bytes` (of all
// threads together), or of the outermost level if none does. Absent: not measured.
std::optional<double> BytesPerSecond(const PeaksEntry& entry, std::string_view access,
                                     Bytes working_set_bytes);

// The runner and the settings that a measurement of peaks uses.
struct PeaksRequest {
  Command start;  // starts etprof-runner on its CPUs, without the runner's own arguments
  int threads = 1;
  std::string cpus;  // as in the configuration; copied into Peaks::cpus
  std::string isa;   // mask of disabled CPU features
};

// Lets the runner measure the peaks, which takes one or two seconds. Throws WorkerFailure, whose kind says
// whether a retry makes sense (kRefused: not an etprof-runner of this version, or the runner reports an
// error), and Error as Device::Start does.
protocol::Peaks MeasurePeaksOnDevice(Device& device, const PeaksRequest& request, Interruption& interruption,
                                     double timeout_seconds);

}  // namespace etprof
