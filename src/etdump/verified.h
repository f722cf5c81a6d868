#pragma once

#include <string>

#include "core/error.h"
#include "core/file/file.h"
#include "etdump_schema_flatcc_generated.h"

namespace etprof {

// The root of an ETDump inside `bytes`, with what was not verified yet. Its own fields and its vector of
// blocks may be followed; a block only after Verify() of it said yes.
class EtdumpRoot {
 public:
  // Throws Error (kBadInput) for what is not an ETDump, is cut short or has no sound root.
  EtdumpRoot(ByteView bytes, const std::string& file_name);

  const ::etdump::ETDump& root() const { return *root_; }

  // True when every offset below the block may be followed. May be called from several threads.
  bool Verify(const ::etdump::RunData& block) const;

  // True when the block's own fields may be followed, its vector of events as far as the vector itself.
  bool VerifyShallow(const ::etdump::RunData& block) const;

  // A table takes at least 4 bytes, so a file whose tables are not shared cannot have more of them than this.
  std::size_t most_tables() const { return length_ / 4 + 1; }

  // The bytes from where alignment counts to the FlatBuffer's end.
  const std::uint8_t* begin() const { return data_; }
  const std::uint8_t* end() const { return data_ + length_; }

  // What to throw when Verify said no.
  Error Malformed() const;

 private:
  flatbuffers::Verifier MakeVerifier() const;
  bool IsAlignedAfter(std::size_t prefix) const;

  const std::string& file_name_;
  const std::uint8_t* data_ = nullptr;
  std::size_t length_ = 0;  // from data_, where alignment counts from, to the end of the FlatBuffer
  const ::etdump::ETDump* root_ = nullptr;
};

// The root of an ETDump of which every offset may be followed. Throws as EtdumpRoot, and for what is
// malformed.
const ::etdump::ETDump& VerifiedEtdump(ByteView bytes, const std::string& file_name);

}  // namespace etprof
