#include "format/program/read/source.h"

#include <fmt/format.h>

namespace etprof {
namespace {

constexpr std::size_t kMaxCopiesPerByte = 64;  // a file rarely refers to a text or list twice
constexpr std::size_t kAlignment = 16;         // the largest alignment that the schemas need

}  // namespace

Error Source::MakeError(const std::string& problem, std::uint64_t offset) const {
  return Error(ExitCode::kBadInput, problem)
      .InFile(file_)
      .AtOffset(offset)
      .Remedy("copy it again, or export the model again");
}

ByteView Source::Slice(std::uint64_t offset, std::uint64_t length, const std::string& name) const {
  if (offset > bytes_.size() || length > bytes_.size() - offset) {
    throw MakeError(fmt::format("{} ({} bytes at {}) points outside the file of {} bytes", name, length,
                                offset, bytes_.size()),
                    std::min<std::uint64_t>(offset, bytes_.size()));
  }
  return bytes_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
}

void Source::RequireSegment(std::size_t index, std::size_t segments, const std::string& name,
                            std::uint64_t offset) const {
  if (index >= segments)
    throw MakeError(fmt::format("{} in segment {} of {}", name, index, segments), offset);
}

void Source::AddCopyBudget(std::size_t flatbuffer_bytes) {
  opened_bytes_ += flatbuffer_bytes;
  if (opened_bytes_ > 2 * bytes_.size())
    throw MakeError("is malformed: payloads of delegates overlap", bytes_.size());
  copy_budget_ += kMaxCopiesPerByte * flatbuffer_bytes;
}

void Source::SpendCopyBudget(std::size_t bytes) {
  if (bytes > copy_budget_) {
    throw MakeError("is malformed: its lists and texts refer to each other too often", bytes_.size());
  }
  copy_budget_ -= bytes;
}

std::string Source::Text(const flatbuffers::String* text) {
  if (text == nullptr) return {};
  SpendCopyBudget(text->size() + sizeof(std::string));
  return text->str();
}

Buffer::Buffer(Source& source, std::uint64_t offset, ByteView bytes) : offset_(offset), size_(bytes.size()) {
  if (size_ >= FLATBUFFERS_MAX_BUFFER_SIZE)
    throw source.MakeError("holds a FlatBuffer of 2 GiB or more, which cannot be", offset);
  source.AddCopyBudget(size_);
  if (size_ < 8) throw source.MakeError(fmt::format("ends after {} bytes of a FlatBuffer", size_), offset);
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % kAlignment != 0) {
    copy_.assign(bytes.begin(), bytes.end());
    bytes = copy_;
  }
  data_ = reinterpret_cast<const std::uint8_t*>(bytes.data());
}

}  // namespace etprof
