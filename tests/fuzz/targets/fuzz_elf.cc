// The input is a library whose calls a runner would watch. The corpus has a library that was made from:
//   int first(int x); int second(int x); int both(int x) { return first(x) + second(x + 1); }
//   gcc -shared -Os -nostdlib -Wl,-z,lazy,-z,noseparate-code,-z,max-page-size=4096, stripped and not

#include <algorithm>

#include "core/file/elf_file.h"
#include "fuzz.h"

ETPROF_FUZZ_TARGET(elf) {
  using namespace etprof;
  const auto file = ElfFile::Open(fuzz::ScratchFile("library.so", fuzz::Bytes(data, size)));
  if (!file) return 0;
  fuzz::Require(file->DynamicStrings(ElfFile::kNeeded).size() <= size, "no more libraries than bytes");
  for (const ElfFile::Slot& slot : file->Slots()) {
    fuzz::Require(!slot.name.empty() && slot.name.size() <= 4096, "a slot has a name");
    fuzz::Require(file->AtAddress(slot.address, 8).size() <= 8, "a slot is a word");
  }
  const std::vector<ElfFile::Function> functions = file->Functions();
  const auto is_before = [](const auto& a, const auto& b) { return a.address < b.address; };
  fuzz::Require(std::ranges::is_sorted(functions, is_before), "functions are sorted by address");
  for (const ByteView part : file->Code()) fuzz::Require(part.size() <= size, "code lies in the file");
  for (const ElfFile::Function& function : functions) {
    const ByteView bytes = file->AtAddress(function.address, function.size);
    fuzz::Require(bytes.size() <= size && bytes.size() <= function.size, "a function lies in the file");
  }
  fuzz::Require(file->machine() <= 0xffff, "a machine is 16 bits");
  return 0;
}
