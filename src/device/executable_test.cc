#include "device/executable.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

#include "core/file/elf_file.h"
#include "device/elf_testing.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

TEST(NeededLibraries, ReadsThisProgram) {
  if (!fs::exists("/proc/self/exe")) GTEST_SKIP() << "this system's programs are no ELF files";
  const std::vector<std::string> libraries = NeededLibraries(fs::read_symlink("/proc/self/exe"));
  EXPECT_NE(std::find(libraries.begin(), libraries.end(), "libc.so.6"), libraries.end());
  EXPECT_NE(ElfFile::Open("/proc/self/exe")->Interpreter().find("/ld-"), std::string::npos);
}

// A minimal ELF file with two DT_NEEDED entries.
std::string SmallElf() {
  example::ElfStart elf;
  const auto put = [&elf](std::size_t at, std::uint64_t value, unsigned size) { elf.Put(at, value, size); };
  const std::size_t dynamic = 64 + 2 * 56, strings = dynamic + 4 * 16;
  put(64, 1, 4);  // PT_LOAD: maps the whole file to address 0x10000
  put(64 + 16, 0x10000, 8);
  put(64 + 32, strings + 40, 8);
  put(64 + 56, 2, 4);
  put(64 + 56 + 8, dynamic, 8);
  put(64 + 56 + 32, 4 * 16, 8);
  put(dynamic, 1, 8);
  put(dynamic + 8, 1, 8);
  put(dynamic + 16, 5, 8);
  put(dynamic + 24, 0x10000 + strings, 8);
  put(dynamic + 32, 1, 8);
  put(dynamic + 40, 19, 8);
  put(dynamic + 56, 0, 8);
  return elf.file + std::string("\0libc++_shared.so\0\0libm.so\0", 27);
}

TEST(NeededLibraries, SurvivesTruncatedAndCorruptFiles) {
  const fs::path path = fs::temp_directory_path() / fmt::format("etprof-elf-{}", ::getpid());
  const std::string complete = SmallElf();
  const auto read_bytes = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    return NeededLibraries(path);
  };
  EXPECT_EQ(read_bytes(complete), (std::vector<std::string>{"libc++_shared.so", "libm.so"}));
  for (std::size_t length = 0; length < complete.size(); ++length) read_bytes(complete.substr(0, length));
  for (std::size_t at = 0; at < complete.size(); ++at) {
    std::string corrupt = complete;
    corrupt[at] = '\xff';
    read_bytes(corrupt);
  }
  EXPECT_TRUE(read_bytes("#!/bin/sh\n" + std::string(100, ' ')).empty());
  fs::remove(path);
  EXPECT_TRUE(NeededLibraries(path).empty());
}

}  // namespace
}  // namespace etprof
