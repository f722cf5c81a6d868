#include "program/read/source.h"

#include <fmt/format.h>

#include <cstring>

namespace etprof {
namespace {

constexpr std::size_t kCopies = 64;  // of each byte of a buffer, at most; texts and lists are shared rarely
constexpr std::size_t kAlignment = 16;  // the largest that the schemas ask for within a table

}  // namespace

Error Source::Bad(const std::string& problem, std::uint64_t offset) const {
  return Error(ExitCode::kBadInput, problem)
      .InFile(file_)
      .AtOffset(offset)
      .Remedy("copy it again, or export the model again");
}

ByteView Source::Part(std::uint64_t offset, std::uint64_t length, const std::string& what) const {
  if (offset > bytes_.size() || length > bytes_.size() - offset) {
    throw Bad(fmt::format("{} ({} bytes at {}) points outside the file of {} bytes", what, length, offset,
                          bytes_.size()),
              std::min<std::uint64_t>(offset, bytes_.size()));
  }
  return bytes_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
}

void Source::RequireSegment(std::size_t index, std::size_t segments, const std::string& what,
                            std::uint64_t at) const {
  if (index >= segments) throw Bad(fmt::format("{} in segment {} of {}", what, index, segments), at);
}

void Source::Allow(std::size_t flatbuffer_bytes) {
  opened_ += flatbuffer_bytes;
  if (opened_ > 2 * bytes_.size()) throw Bad("is malformed: payloads of delegates overlap", bytes_.size());
  allowance_ += kCopies * flatbuffer_bytes;
}

void Source::Spend(std::size_t bytes) {
  if (bytes > allowance_) {
    throw Bad("is malformed: its lists and texts refer to each other too often", bytes_.size());
  }
  allowance_ -= bytes;
}

std::string Source::Text(const flatbuffers::String* text) {
  if (text == nullptr) return {};
  Spend(text->size() + sizeof(std::string));
  return text->str();
}

Buffer::Buffer(Source& source, std::uint64_t offset, ByteView bytes) : offset_(offset), size_(bytes.size()) {
  if (size_ >= FLATBUFFERS_MAX_BUFFER_SIZE)
    throw source.Bad("holds a FlatBuffer of 2 GiB or more, which cannot be", offset);
  source.Allow(size_);
  if (size_ < 8) throw source.Bad(fmt::format("ends after {} bytes of a FlatBuffer", size_), offset);
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % kAlignment != 0) {
    copy_.assign(bytes.begin(), bytes.end());
    bytes = copy_;
  }
  data_ = reinterpret_cast<const std::uint8_t*>(bytes.data());
}

bool Buffer::HasIdentifier(const char* identifier) const {
  return std::memcmp(data_ + 4, identifier, 4) == 0;
}

}  // namespace etprof
