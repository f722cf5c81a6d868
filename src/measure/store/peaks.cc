#include "measure/store/peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json/json.h"
#include "core/json/json_members.h"
#include "measure/participants/worker_client.h"

namespace etprof {
namespace {

constexpr std::size_t kMaxAnswerBytes = std::size_t{4} << 20;

}  // namespace

const PeaksEntry* FindPeaks(const Peaks& peaks, std::string_view label) {
  for (const PeaksEntry& entry : peaks.entries) {
    if (std::ranges::find(entry.experiments, label) != entry.experiments.end()) return &entry;
  }
  return nullptr;
}

std::optional<double> BestMacsPerSecond(const PeaksEntry& entry, std::string_view dtype) {
  std::optional<double> best;
  for (const protocol::ComputePeak& peak : entry.peaks.compute) {
    if (peak.dtype == dtype && peak.macs.best > best.value_or(0)) best = peak.macs.best;
  }
  return best;
}

std::optional<double> BytesPerSecond(const PeaksEntry& entry, std::string_view access,
                                     Bytes working_set_bytes) {
  const protocol::MemoryPeak* best_peak = nullptr;
  const auto fits = [&](const protocol::MemoryPeak& peak) {
    return !peak.capacity_bytes || *peak.capacity_bytes >= working_set_bytes;
  };
  const auto is_inner = [](const protocol::MemoryPeak& a, const protocol::MemoryPeak& b) {
    return a.capacity_bytes && (!b.capacity_bytes || *a.capacity_bytes < *b.capacity_bytes);
  };
  for (const protocol::MemoryPeak& peak : entry.peaks.memory) {
    if (peak.access != access) continue;
    const bool is_better = best_peak == nullptr ||
                           (fits(peak) && (!fits(*best_peak) || is_inner(peak, *best_peak))) ||
                           (!fits(peak) && !fits(*best_peak) && is_inner(*best_peak, peak));
    if (is_better) best_peak = &peak;
  }
  if (best_peak == nullptr) return std::nullopt;
  return best_peak->bytes.best;
}

protocol::Peaks MeasurePeaksOnDevice(Device& device, const PeaksRequest& request, Interruption& interruption,
                                     double timeout_seconds) {
  using Kind = WorkerFailure::Kind;
  Command command = request.start;
  command.arguments.emplace_back("--measure-peaks");
  command.arguments.push_back(fmt::format("--cpu_threads={}", request.threads));
  if (!request.isa.empty()) command.arguments.push_back("--isa=" + request.isa);
  const std::unique_ptr<Process> process = device.Start(command, {});
  process->CloseInput();
  std::string text;
  while (true) {
    std::string line;
    const Process::ReadResult read = process->ReadLine(line, timeout_seconds);
    if (read == Process::ReadResult::kEnd) break;
    if (read == Process::ReadResult::kInterrupted || interruption.IsRequested())
      throw WorkerFailure(Kind::kInterrupted, "interrupted while the peaks were measured");
    if (read == Process::ReadResult::kTimeout) {
      process->Kill();
      if (process->ConnectionLost()) throw WorkerFailure(Kind::kLost, "the connection was lost");
      throw WorkerFailure(Kind::kHung,
                          fmt::format("the runner had measured no peaks after {:.4g} s", timeout_seconds));
    }
    text += line + '\n';
    if (read == Process::ReadResult::kTooLong || text.size() > kMaxAnswerBytes)
      throw WorkerFailure(Kind::kInvalidReply, "the runner writes without end");
  }
  const std::optional<ExitStatus> status = process->Wait(timeout_seconds);
  if (process->ConnectionLost()) throw WorkerFailure(Kind::kLost, "the connection was lost");
  if (!status || !status->Success()) {
    if (interruption.CausedExit(status))
      throw WorkerFailure(Kind::kInterrupted, "interrupted while the peaks were measured");
    const std::string reason(RunnerMessage(LastError(*process)));
    throw WorkerFailure(Kind::kRefused,
                        reason.empty() ? "the runner " + (status ? status->Text() : "still runs") : reason);
  }
  try {
    protocol::Peaks peaks = ParseJson(text).get<protocol::Peaks>();
    peaks.cpus = request.cpus;
    return peaks;
  } catch (const std::exception&) {
    throw WorkerFailure(Kind::kRefused, "it is not an etprof-runner of this version");
  }
}

}  // namespace etprof
