#pragma once

#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

namespace etprof {

// Owns a file descriptor, which the destructor closes. A negative number means that there is no descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { Close(); }

  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  // Returns the errno of close(2), or 0: a full disk may be reported only there.
  int Close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0 ? 0 : errno; }

 private:
  int number_;
};

// Writes the whole text. Returns the errno of write(2), or 0.
inline int WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count > 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      return count == 0 ? EIO : errno;
    }
  }
  return 0;
}

}  // namespace etprof
