#include "format/etdump/verified.h"

#include <fmt/format.h>

#include "core/file/file_kind.h"

namespace etprof {
namespace {

constexpr std::size_t kPrefixBytes = 4;       // u32 length
constexpr std::size_t kIdentifierOffset = 4;  // offset in the FlatBuffer, after the root offset

constexpr const char* kRemedy = "give an .etdump file that etprof or a runner with the event tracer wrote";

constexpr flatbuffers::uoffset_t kMaxDepth = 64;

// A file that ends in this many zeros was not written completely: an ETDump ends in texts or vtables, and at
// most a few padding bytes. After a power loss, the file's length may be stored before its bytes, and a table
// of zeros is valid and has no fields.
constexpr std::size_t kMinTrailingZeros = 64;

std::size_t CountTrailingZeros(const std::uint8_t* data, std::size_t size) {
  std::size_t zeros = 0;
  while (zeros < size && data[size - 1 - zeros] == 0) ++zeros;
  return zeros;
}

Error Damaged(const std::string& file_name, const std::string& problem) {
  return Error(ExitCode::kBadInput, problem).InFile(file_name).Remedy("copy it again, or measure again");
}

Error Truncated(const std::string& file_name, std::size_t zeros, std::size_t size) {
  return Damaged(file_name,
                 fmt::format("is truncated: its last {} of {} bytes were never written (they are zeros)",
                             zeros, size))
      .AtOffset(size - zeros);
}

// Casts a generated table to its base class, which it inherits privately.
template <typename Generated>
const flatbuffers::Table& AsTable(const Generated& table) {
  return reinterpret_cast<const flatbuffers::Table&>(table);
}

}  // namespace

EtdumpRoot::EtdumpRoot(ByteView bytes, const std::string& file_name) : file_name_(file_name) {
  if (bytes.empty()) {
    throw Error(ExitCode::kBadInput, "is empty (0 bytes): nothing was traced, or the writer was stopped")
        .InFile(file_name)
        .Remedy("look at the runner's log, or measure again");
  }
  std::size_t root = 0;
  std::size_t length = bytes.size();
  if (HasTextAt(bytes, kPrefixBytes + kIdentifierOffset, ::etdump::ETDumpIdentifier())) {
    root = kPrefixBytes;
    length = flatbuffers::ReadScalar<std::uint32_t>(bytes.data());
    if (length > bytes.size() - kPrefixBytes) {
      throw Damaged(file_name, fmt::format("is cut short: {} of {} bytes are there", bytes.size(),
                                           length + kPrefixBytes))
          .AtOffset(bytes.size());
    }
  } else if (!HasTextAt(bytes, kIdentifierOffset, ::etdump::ETDumpIdentifier())) {
    const std::size_t zeros =
        CountTrailingZeros(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    if (zeros == bytes.size()) throw Truncated(file_name, zeros, zeros);
    throw WrongFileKind(bytes, file_name, "an ETDump", "no ED00 identifier", kIdentifierOffset, kRemedy);
  }
  // The runtime aligns fields relative to the start of the prefix, so the verifier begins there, too.
  data_ = reinterpret_cast<const std::uint8_t*>(bytes.data());
  length_ = root + length;
  if (length_ >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    throw Error(ExitCode::kBadInput, "is larger than 2 GiB, the most that an ETDump (a FlatBuffer) may be")
        .InFile(file_name)
        .Remedy("trace fewer runs at once");
  }
  if (const std::size_t zeros = CountTrailingZeros(data_, length_); zeros >= kMinTrailingZeros)
    throw Truncated(file_name, zeros, length_);
  flatbuffers::Verifier verifier = MakeVerifier();
  const auto offset = verifier.VerifyOffset(root);
  if (offset == 0) throw MalformedError();
  root_ = reinterpret_cast<const ::etdump::ETDump*>(data_ + root + offset);
  using Dump = ::etdump::ETDump;
  const flatbuffers::Table& table = AsTable(*root_);
  const bool valid = table.VerifyTableStart(verifier) &&
                     table.VerifyField<std::uint32_t>(verifier, Dump::VT_VERSION, sizeof(std::uint32_t)) &&
                     table.VerifyOffset(verifier, Dump::VT_RUN_DATA) &&
                     verifier.VerifyVector(root_->run_data());
  if (!valid) throw MalformedError();
  if (root != 0 && IsAlignedAfter(root)) {
    data_ += root;
    length_ -= root;
  }
}

// Returns whether the file is a FlatBuffer without a prefix to which a prefix of `prefix_bytes` was added
// later, as ExecuTorch's Inspector requires for dumps from serialize_to_etdump_flatcc. Then the events' times
// are aligned relative to the end of the prefix.
bool EtdumpRoot::IsAlignedAfter(std::size_t prefix_bytes) const {
  if (root_->run_data() == nullptr) return false;
  for (const auto* block : *root_->run_data()) {
    flatbuffers::Verifier verifier(data_ + prefix_bytes, length_ - prefix_bytes, kMaxDepth,
                                   static_cast<flatbuffers::uoffset_t>(max_tables()));
    const bool is_valid_after = verifier.VerifyTable(block);
    // A block without times has no field that tells the two alignments apart.
    if (is_valid_after != Verify(*block)) return is_valid_after;
  }
  return false;
}

flatbuffers::Verifier EtdumpRoot::MakeVerifier() const {
  return {data_, length_, kMaxDepth, static_cast<flatbuffers::uoffset_t>(max_tables())};
}

bool EtdumpRoot::Verify(const ::etdump::RunData& block) const {
  flatbuffers::Verifier verifier = MakeVerifier();
  return verifier.VerifyTable(&block);
}

bool EtdumpRoot::VerifyShallow(const ::etdump::RunData& block) const {
  flatbuffers::Verifier verifier = MakeVerifier();
  const flatbuffers::Table& table = AsTable(block);
  return table.VerifyTableStart(verifier) && table.VerifyOffset(verifier, ::etdump::RunData::VT_EVENTS) &&
         verifier.VerifyVector(block.events());
}

Error EtdumpRoot::MalformedError() const {
  return Damaged(file_name_, "is malformed: an offset or a count in it points outside the file");
}

const ::etdump::ETDump& VerifyEtdump(ByteView bytes, const std::string& file_name) {
  const EtdumpRoot file(bytes, file_name);
  if (file.root().run_data() != nullptr) {
    for (const auto* block : *file.root().run_data()) {
      if (!file.Verify(*block)) throw file.MalformedError();
    }
  }
  return file.root();
}

}  // namespace etprof
