#pragma once

#include <string>

#include "core/error.h"
#include "core/file/file.h"
#include "etdump_schema_flatcc_generated.h"

namespace etprof {

// The root of an ETDump in `bytes`, whose blocks are verified separately. The root's fields and its vector of
// blocks are already verified. A block may be accessed only after Verify() accepted it.
class EtdumpRoot {
 public:
  // Throws Error (kBadInput) if the bytes are not an ETDump, are truncated, or have an invalid root.
  EtdumpRoot(ByteView bytes, const std::string& file_name);

  const ::etdump::ETDump& root() const { return *root_; }

  // Returns whether every offset in the block is valid. Thread-safe.
  bool Verify(const ::etdump::RunData& block) const;

  // Returns whether the block's own fields and its vector of events are valid; the events themselves are not
  // checked.
  bool VerifyShallow(const ::etdump::RunData& block) const;

  // The largest number of tables in a file of this size if no tables are shared: a table has at least 4
  // bytes.
  std::size_t max_tables() const { return length_ / 4 + 1; }

  // The bytes of the FlatBuffer. Its fields are aligned relative to begin(), which includes the size prefix
  // if the writer aligned the fields with it.
  const std::uint8_t* begin() const { return data_; }
  const std::uint8_t* end() const { return data_ + length_; }

  // The error to throw when Verify() returned false.
  Error MalformedError() const;

 private:
  flatbuffers::Verifier MakeVerifier() const;
  bool IsAlignedAfter(std::size_t prefix_bytes) const;

  const std::string& file_name_;
  const std::uint8_t* data_ = nullptr;
  std::size_t length_ = 0;  // bytes from data_ (the origin of alignment) to the end
  const ::etdump::ETDump* root_ = nullptr;
};

// The root of an ETDump in which all offsets are verified. Throws as EtdumpRoot, and if a block is malformed.
const ::etdump::ETDump& VerifyEtdump(ByteView bytes, const std::string& file_name);

}  // namespace etprof
