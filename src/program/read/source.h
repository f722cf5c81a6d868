#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/file/file.h"

// What the readers of this stage share: bounds, places for messages, and a bound on what a file may make of
// itself. Not for other stages.
namespace etprof {

class Source {
 public:
  Source(ByteView bytes, std::string file) : bytes_(bytes), file_(std::move(file)) {}

  ByteView bytes() const { return bytes_; }
  const std::string& file() const { return file_; }

  // What to throw: the file, the byte, the problem.
  Error Bad(const std::string& problem, std::uint64_t offset) const;

  // The part of the file at `offset`, or Bad(): "`what` ..., points outside the file".
  ByteView Part(std::uint64_t offset, std::uint64_t length, const std::string& what) const;

  // Throws Bad(): "`what` in segment 7 of 3", where there is no such segment.
  void RequireSegment(std::size_t index, std::size_t segments, const std::string& what,
                      std::uint64_t at) const;

  // FlatBuffers may refer to one object from many places, so that a small file could ask for a large result.
  // Allow() adds what a buffer of so many bytes may be copied to, Spend() takes from it and throws Bad() when
  // nothing is left.
  void Allow(std::size_t flatbuffer_bytes);
  void Spend(std::size_t bytes);

  // A text of the file; empty where there is none.
  std::string Text(const flatbuffers::String* text);

 private:
  ByteView bytes_;
  std::string file_;
  std::size_t allowance_ = 0;
  std::size_t opened_ = 0;  // bytes of the buffers that were allowed
};

// A FlatBuffer within the file, at an address where its words may be read.
class Buffer {
 public:
  // Throws Bad() for one of 2 GiB or more, for what cannot hold a FlatBuffer's head, and where Allow() does.
  Buffer(Source& source, std::uint64_t offset, ByteView bytes);

  const std::uint8_t* data() const { return data_; }
  bool HasIdentifier(const char* identifier) const;  // four characters
  // Verifies with FlatBuffers' own Verifier; throws Bad() for `what`.
  template <typename Root>
  const Root& Verified(const Source& source, const std::string& what) const {
    flatbuffers::Verifier verifier(data_, size_, /*max_depth=*/64,
                                   static_cast<flatbuffers::uoffset_t>(size_ / 4 + 1));
    if (!verifier.VerifyBuffer<Root>(nullptr)) {
      throw source.Bad(what + " is malformed: an offset or a count in it points outside of it", offset_);
    }
    return *flatbuffers::GetRoot<Root>(data_);
  }
  // FlatBuffers' Verifier looks at where tables begin, but not at where a list of 8-byte numbers does: throws
  // Bad() for one whose numbers may not be read where they are.
  template <typename Number>
  void RequireAligned(const Source& source, const flatbuffers::Vector<Number>& list) const {
    if (reinterpret_cast<std::uintptr_t>(list.Data()) % alignof(Number) != 0)
      throw source.Bad("is malformed: a list of numbers is not aligned", At(&list));
  }
  // Where in the file an object of this buffer is.
  std::uint64_t At(const void* object) const {
    return offset_ + static_cast<std::uint64_t>(static_cast<const std::uint8_t*>(object) - data_);
  }
  std::size_t size() const { return size_; }

 private:
  std::uint64_t offset_;
  std::vector<std::byte> copy_;  // used where the file's bytes are not aligned
  const std::uint8_t* data_ = nullptr;
  std::size_t size_;
};

// Little-endian numbers of headers, at any address. The caller has checked the bounds.
template <typename Integer>
Integer LoadLittleEndian(ByteView bytes, std::size_t offset) {
  Integer value = 0;
  for (std::size_t i = sizeof value; i > 0; --i) {
    value = static_cast<Integer>(value << 8 | static_cast<Integer>(bytes[offset + i - 1]));
  }
  return value;
}

}  // namespace etprof
