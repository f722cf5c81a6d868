#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/file/file.h"
#include "format/program/program.h"

// Helpers for the readers of program files: bounds checks, file offsets for messages, and a limit on the
// memory that a file can make a reader allocate.
namespace etprof {

class Source {
 public:
  Source(ByteView bytes, std::string file) : bytes_(bytes), file_(std::move(file)) {}

  ByteView bytes() const { return bytes_; }
  const std::string& file() const { return file_; }

  // Makes the error for a problem of the file at a byte offset.
  Error MakeError(const std::string& problem, std::uint64_t offset) const;

  // The bytes at `offset`. Throws MakeError() if they are outside of the file: "`name` ... points outside the
  // file".
  ByteView Slice(std::uint64_t offset, std::uint64_t length, const std::string& name) const;

  // Throws MakeError() if there is no such segment: "`name` in segment 7 of 3".
  void RequireSegment(std::size_t index, std::size_t segments, const std::string& name,
                      std::uint64_t offset) const;

  // FlatBuffers may refer to one object from many places, so a small file could cause a large result.
  // AddCopyBudget() adds the number of bytes to which a buffer of this size may be copied. SpendCopyBudget()
  // subtracts from that and throws MakeError() when nothing is left.
  void AddCopyBudget(std::size_t flatbuffer_bytes);
  void SpendCopyBudget(std::size_t bytes);

  // Copies a text of the file. Empty if `text` is null.
  std::string Text(const flatbuffers::String* text);

 private:
  ByteView bytes_;
  std::string file_;
  std::size_t copy_budget_ = 0;
  std::size_t opened_bytes_ = 0;  // total bytes of the opened buffers
};

// A FlatBuffer in the file, at an aligned address.
class Buffer {
 public:
  // Throws MakeError() if the buffer has 2 GiB or more or is too short for a FlatBuffer, and as
  // AddCopyBudget().
  Buffer(Source& source, std::uint64_t offset, ByteView bytes);

  // Verifies the buffer with FlatBuffers' Verifier. Throws MakeError(), whose message begins with `name`.
  template <typename Root>
  const Root& VerifyRoot(const Source& source, const std::string& name) const {
    flatbuffers::Verifier verifier(data_, size_, /*max_depth=*/64,
                                   static_cast<flatbuffers::uoffset_t>(size_ / 4 + 1));
    if (!verifier.VerifyBuffer<Root>(nullptr)) {
      throw source.MakeError(name + " is malformed: an offset or a count in it points outside of it",
                             offset_);
    }
    return *flatbuffers::GetRoot<Root>(data_);
  }
  // FlatBuffers' Verifier checks the alignment of tables, but not of lists of 8-byte numbers. Throws
  // MakeError() if a list is not aligned.
  template <typename Number>
  void RequireAligned(const Source& source, const flatbuffers::Vector<Number>& list) const {
    if (reinterpret_cast<std::uintptr_t>(list.Data()) % alignof(Number) != 0)
      throw source.MakeError("is malformed: a list of numbers is not aligned", At(&list));
  }
  // The offset in the file of an object in this buffer.
  std::uint64_t At(const void* object) const {
    return offset_ + static_cast<std::uint64_t>(static_cast<const std::uint8_t*>(object) - data_);
  }

 private:
  std::uint64_t offset_;
  std::vector<std::byte> copy_;  // used if the file's bytes are not aligned
  const std::uint8_t* data_ = nullptr;
  std::size_t size_;
};

// Reads a list of segments, whose offsets count from `base`. Without a base, only empty segments are valid.
// `list` may be null. Throws MakeError() for a segment outside of the file.
template <typename List>
std::vector<DataSegment> ReadSegments(const Source& source, const Buffer& buffer, const List* list,
                                      std::optional<std::uint64_t> base) {
  std::vector<DataSegment> segments;
  if (list == nullptr) return segments;
  for (const auto* segment : *list) {
    const std::string name = "segment " + std::to_string(segments.size());
    std::uint64_t offset = 0;
    if ((!base && segment->size() > 0) ||
        __builtin_add_overflow(base.value_or(0), segment->offset(), &offset))
      throw source.MakeError(name + " has no place in the file", buffer.At(segment));
    source.Slice(offset, segment->size(), name);
    segments.push_back({offset, static_cast<Bytes>(segment->size())});
  }
  return segments;
}

}  // namespace etprof
