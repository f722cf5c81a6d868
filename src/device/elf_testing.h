#pragma once

#include <cstdint>
#include <string>

namespace etprof::example {

// The header of a 64-bit little-endian ELF file, and two empty program headers at offsets 64 and 64 + 56,
// which the test fills in.
struct ElfStart {
  std::string file = std::string(64 + 2 * 56, '\0');

  ElfStart() {
    Put(0, 0x464c457f, 4);
    Put(4, 2, 1);
    Put(5, 1, 1);
    Put(32, 64, 8);  // program headers
    Put(54, 56, 2);
    Put(56, 2, 2);
  }

  // Writes the lowest `size` bytes of the value at offset `at`, little-endian. The file grows if needed.
  void Put(std::size_t at, std::uint64_t value, unsigned size) {
    if (file.size() < at + size) file.resize(at + size);
    for (unsigned i = 0; i < size; ++i) file[at + i] = static_cast<char>(value >> (8 * i));
  }
};

}  // namespace etprof::example
