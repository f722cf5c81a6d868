// The input is the length of the first file (two bytes), and two safetensors files of saved outputs, which
// are compared and read by the runner's reader.

#include <cmath>

#include "core/tensors/safetensors.h"
#include "fuzz.h"
#include "measure/store/outputs.h"

namespace {

using namespace etprof;

void CheckSafetensors(const std::filesystem::path& path, std::size_t size) {
  fuzz::Accepts({ExitCode::kBadInput}, [&] {
    const Safetensors file = ReadSafetensors(path);
    std::size_t bytes = 0;
    for (const auto& [name, tensor] : file.tensors) bytes += tensor.bytes.size();
    fuzz::Require(bytes <= size, "tensors lie in their file, and not upon each other");
  });
}

}  // namespace

ETPROF_FUZZ_TARGET(outputs) {
  if (size < 2) return 0;
  const ByteView bytes = fuzz::Bytes(data + 2, size - 2);
  const std::size_t first = std::min<std::size_t>(data[0] + 256U * data[1], bytes.size());
  const auto a_file = fuzz::ScratchFile("a.safetensors", bytes.first(first));
  const auto b_file = fuzz::ScratchFile("b.safetensors", bytes.subspan(first));
  CheckSafetensors(a_file, first);
  CheckSafetensors(b_file, bytes.size() - first);
  ExperimentData a, b;
  protocol::OutputDigest digest;
  digest.info = {"Float", {1}};
  digest.sha256 = "a";
  a.output_digests = {digest};
  digest.sha256 = "b";
  b.output_digests = {digest};
  const auto difference = CompareOutputs(a, b, a_file, b_file);
  for (const auto& largest : {difference.largest_absolute, difference.largest_relative}) {
    fuzz::Require(!largest || *largest >= 0, "a largest difference is a number of at least 0");
  }
  return 0;
}
