#pragma once

#include <string>
#include <vector>

#include "show/document.h"

namespace etprof {
struct CpuFeatures;
struct DataFile;
struct DeviceSurvey;
struct DevicesReport;
struct DoctorReport;
struct GenerationReport;
struct KernelReport;
struct Program;
struct ProgramDiff;
struct QuickTestResult;
struct Report;
struct SourceMap;
struct Validations;
namespace protocol {
struct Peaks;
}
}  // namespace etprof

// Documents about subjects other than a run (show/subjects/run/report.h) and a gate (show/gates.h).
namespace etprof::show {

// The features of a CPU, and the measurements that they allow.
Document MakeCpuFeaturesDocument(const CpuFeatures& cpu);

// The devices and their states. `notes` say why further devices may be missing.
Document MakeDeviceListDocument(const std::vector<DeviceSurvey>& devices,
                                const std::vector<std::string>& notes);

// The measured peak compute and bandwidth of a device.
Document MakePeaksDocument(const protocol::Peaks& peaks, const std::string& device, bool emulated);

// The results of one or several models on several devices. The headings are those of the SME2 profiling kit.
Document MakeDeviceComparisonDocument(const DevicesReport& report);
// CPU features as seen by the device's runners, else as reported by its system: "sme2 sme i8mm ...".
std::vector<std::string> GetFeatures(const Report& run);
// The differences that comparisons between devices, or between runs of one device, cannot exclude.
std::string UnpairedText(std::size_t distinct_devices);

// The contents of a .pte: sizes, then each method's inputs, outputs, and steps in program order. `data` is
// the .ptd in which its external data are looked up; null: no .ptd is known. `sources` has
// the names of inputs and outputs, source locations, and hints; null: not known.
Document MakeInspectDocument(const Program& program, const std::string& file, const DataFile* data,
                             const SourceMap* sources = nullptr);
// The contents of a .ptd: its size and every piece of data with its name.
Document MakeInspectDocument(const DataFile& data, const std::string& file);

// The speed of a language model: tests in tokens per second, time to the first token, decoding by position.
Document MakeGenerationDocument(const GenerationReport& generation);

// The differences between two programs, operator by operator, with times if both were measured. Equal
// programs give empty tables. `warnings` are for the reader.
Document MakeDiffDocument(const ProgramDiff& diff, const std::string& baseline, const std::string& candidate,
                          const std::vector<std::string>& warnings);

// The requirements of the commands, one section per group, and whether this machine can measure.
Document MakeDoctorDocument(const DoctorReport& doctor);
// The steps of the quick test and their results.
Document MakeQuickTestDocument(const QuickTestResult& result);
// Problems with results directories, one section each.
Document MakeValidationDocument(const Validations& validations);

// One section per log, then the differences between two logs, then the kernels that operators' names prove.
Document MakeKernelsDocument(const KernelReport& report);

}  // namespace etprof::show
