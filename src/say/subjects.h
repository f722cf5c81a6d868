#pragma once

#include <string>
#include <vector>

#include "say/document.h"

namespace etprof {
struct CpuFeatures;
struct DataFile;
struct DeviceSurvey;
struct DevicesReport;
struct Examination;
struct KernelReport;
struct Program;
struct ProgramDiff;
struct QuickTestResult;
struct Report;
struct Validations;
namespace protocol {
struct Peaks;
}
}  // namespace etprof

// Documents about subjects other than a run (say/run/report.h) and a gate (say/gates.h).
namespace etprof::say {

// The features of a CPU, and what can be measured with it.
Document SayCpuFeatures(const CpuFeatures& cpu);

// The devices and their states. `notes` say why others may be missing.
Document SayDeviceList(const std::vector<DeviceSurvey>& devices, const std::vector<std::string>& notes);

// The measured peak compute and bandwidth of a device.
Document SayPeaks(const protocol::Peaks& peaks, const std::string& device, bool emulated);

// One or several models on several devices. The headings are those of the SME2 profiling kit.
Document SayDevices(const DevicesReport& report);
// CPU features as seen by the device's runners, else as reported by its system: "sme2 sme i8mm ...".
std::vector<std::string> FeaturesOfRun(const Report& run);
// What comparisons between devices, or between runs of one device, cannot exclude.
std::string UnpairedText(std::size_t distinct_devices);

// The contents of a .pte: sizes, then each method's inputs, outputs, and steps in program order. `data` is
// the .ptd in which its external data are looked up; null: none was given.
Document SayInspect(const Program& program, const std::string& file, const DataFile* data);
// The contents of a .ptd: its size and every piece of data with its name.
Document SayInspect(const DataFile& data, const std::string& file);

// The differences between two programs, operator by operator, with times if both were measured. Equal
// programs give empty tables. `warnings` are for the reader.
Document SayDiff(const ProgramDiff& diff, const std::string& baseline, const std::string& candidate,
                 const std::vector<std::string>& warnings);

// The requirements of the commands, one section per group, and whether this machine can measure.
Document SayExamination(const Examination& found);
// The steps of the quick test and their results.
Document SayQuickTest(const QuickTestResult& result);
// Problems with results directories, one section each.
Document SayValidations(const Validations& validations);

// One section per log, then the differences between two logs, then what the operators' names prove.
Document SayKernels(const KernelReport& report);

}  // namespace etprof::say
