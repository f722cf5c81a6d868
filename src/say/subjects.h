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

// What commands say of other subjects than a run (say/run/report.h) and a gate (say/gates.h).
namespace etprof::say {

// What a CPU has, and what can be measured with it.
Document SayCpuFeatures(const CpuFeatures& cpu);

// Which devices there are, and how each is. `notes`: why others may be missing.
Document SayDeviceList(const std::vector<DeviceSurvey>& devices, const std::vector<std::string>& notes);

// Peak compute and bandwidth of a device, as they were measured.
Document SayPeaks(const protocol::Peaks& peaks, const std::string& device, bool emulated);

// What one model or several do on several devices. The headings are those of the SME2 profiling kit.
Document SayDevices(const DevicesReport& report);
// What the device's runners saw of the CPU, else what its system says: "sme2 sme i8mm ...".
std::vector<std::string> FeaturesOfRun(const Report& run);
// What a comparison between devices, or between runs of one, cannot know.
std::string UnpairedText(std::size_t distinct_devices);

// What is in a .pte: sizes, then each method's inputs, outputs and steps in program order. `data`: the .ptd
// that may have what it expects there; null: none was given.
Document SayInspect(const Program& program, const std::string& file, const DataFile* data);
// What is in a .ptd: its size and every piece of data, by its name.
Document SayInspect(const DataFile& data, const std::string& file);

// What differs between two programs: operator by operator, with what each takes where both were measured.
// Of equal ones every table is empty. `warnings`: what the reader has to know.
Document SayDiff(const ProgramDiff& diff, const std::string& baseline, const std::string& candidate,
                 const std::vector<std::string>& warnings);

// What commands need, a group of them a section, and whether this machine can measure.
Document SayExamination(const Examination& found);
// How far a small model came, step by step.
Document SayQuickTest(const QuickTestResult& result);
// What is wrong with results directories, each a section.
Document SayValidations(const Validations& validations);

// A log is a section, then what differs between two, then what the operators' names prove.
Document SayKernels(const KernelReport& report);

}  // namespace etprof::say
