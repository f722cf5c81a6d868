
#include <memory>

#include "format/etdump/reader.h"
#include "format/etdump/verified.h"

namespace etprof {

std::string MergeEtdumps(const std::vector<std::filesystem::path>& inputs) {
  ::etdump::ETDumpT merged;
  std::vector<std::unique_ptr<::etdump::RunDataT>> executions;
  for (const std::filesystem::path& path : inputs) {
    const auto part = WithFile(path, kMaxTableBytes, [&](ByteView bytes) {
      return std::unique_ptr<::etdump::ETDumpT>(VerifyEtdump(bytes, path.string()).UnPack());
    });
    merged.version = part->version;
    for (auto& run : part->run_data) {
      (run->name == "Execute" ? executions : merged.run_data).push_back(std::move(run));
    }
  }
  for (auto& run : executions) merged.run_data.push_back(std::move(run));
  flatbuffers::FlatBufferBuilder builder;
  ::etdump::FinishSizePrefixedETDumpBuffer(builder, ::etdump::ETDump::Pack(builder, &merged));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

}  // namespace etprof
