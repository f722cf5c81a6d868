#include "etdump/verified.h"

#include <fmt/format.h>

#include <cstring>

#include "core/error.h"

namespace etprof {
namespace {

constexpr std::size_t kPrefix = 4;        // u32 length
constexpr std::size_t kIdentifierAt = 4;  // within the FlatBuffer: after the root offset
constexpr const char* kRemedy = "give an .etdump file that etprof or a runner with the event tracer wrote";

std::uint32_t ReadU32(ByteView bytes, std::size_t offset) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + offset,
              sizeof value);  // FlatBuffers are little-endian, and so are all our hosts
  return value;
}

bool HasIdentifier(ByteView bytes, std::size_t root) {
  return bytes.size() >= root + kIdentifierAt + 4 &&
         std::memcmp(bytes.data() + root + kIdentifierAt, ::etdump::ETDumpIdentifier(), 4) == 0;
}

}  // namespace

const ::etdump::ETDump& VerifiedEtdump(ByteView bytes, const std::string& file_name,
                                       std::size_t* root_offset) {
  if (bytes.empty()) {
    throw Error(ExitCode::kBadInput, "is empty (0 bytes): nothing was traced, or the writer was stopped")
        .InFile(file_name)
        .Remedy("look at the runner's log, or measure again");
  }
  std::size_t root = 0;
  std::size_t length = bytes.size();
  if (HasIdentifier(bytes, kPrefix)) {
    root = kPrefix;
    length = ReadU32(bytes, 0);
    if (length > bytes.size() - kPrefix) {
      throw Error(ExitCode::kBadInput,
                  fmt::format("is cut short: {} of {} bytes are there", bytes.size(), length + kPrefix))
          .InFile(file_name)
          .AtOffset(bytes.size())
          .Remedy("copy it again, or measure again");
    }
  } else if (HasIdentifier(bytes, 0)) {
    root = 0;
  } else {
    throw Error(ExitCode::kBadInput, "is not an ETDump: no ED00 identifier")
        .InFile(file_name)
        .AtOffset(kIdentifierAt)
        .Remedy(kRemedy);
  }
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  // A table takes at least 4 bytes, so a valid file cannot have more of them than this.
  const auto most_tables = static_cast<flatbuffers::uoffset_t>(length / 4 + 1);
  flatbuffers::Verifier verifier(data, root + length, /*max_depth=*/64, most_tables);
  // Fields are aligned from the start of the prefix where there is one, so the verifier must begin there too.
  const bool valid = root == kPrefix
                         ? verifier.VerifySizePrefixedBuffer<::etdump::ETDump>(::etdump::ETDumpIdentifier())
                         : verifier.VerifyBuffer<::etdump::ETDump>(::etdump::ETDumpIdentifier());
  if (!valid) {
    throw Error(ExitCode::kBadInput, "is malformed: an offset or a count in it points outside the file")
        .InFile(file_name)
        .Remedy("copy it again, or measure again");
  }
  if (root_offset != nullptr) *root_offset = root;
  return *flatbuffers::GetRoot<::etdump::ETDump>(data + root);
}

}  // namespace etprof
