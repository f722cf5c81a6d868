#include <fmt/format.h>

#include <memory>

#include "core/error.h"
#include "etdump/reader.h"
#include "etdump/verified.h"

namespace etprof {

void MergeEtdumps(const std::vector<std::filesystem::path>& inputs, const std::filesystem::path& output) {
  ::etdump::ETDumpT merged;
  std::vector<std::unique_ptr<::etdump::RunDataT>> executions;
  for (const std::filesystem::path& path : inputs) {
    const MappedFile file = MappedFile::Open(path);
    std::unique_ptr<::etdump::ETDumpT> part(VerifiedEtdump(file.bytes(), path.string()).UnPack());
    merged.version = part->version;
    for (auto& run : part->run_data) {
      (run->name == "Execute" ? executions : merged.run_data).push_back(std::move(run));
    }
  }
  for (auto& run : executions) merged.run_data.push_back(std::move(run));
  flatbuffers::FlatBufferBuilder builder;
  ::etdump::FinishSizePrefixedETDumpBuffer(builder, ::etdump::ETDump::Pack(builder, &merged));
  WriteFileAtomically(output, [&](std::ostream& out) {
    out.write(reinterpret_cast<const char*>(builder.GetBufferPointer()),
              static_cast<std::streamsize>(builder.GetSize()));
  });
}

}  // namespace etprof
