// Replays corpus files through a fuzz target: `etprof_replay TARGET FILE_OR_FOLDER...`. Says which file it is
// at before each, so that a crash names its input, and fails when there was none.

#include <algorithm>
#include <cstdio>
#include <vector>

#include "fuzz.h"

int main(int argc, char** argv) {
  const etprof::fuzz::Target target = argc < 2 ? nullptr : etprof::fuzz::Find(argv[1]);
  if (target == nullptr) {
    std::fprintf(stderr, "etprof_replay: no target %s\n", argc < 2 ? "is named" : argv[1]);
    return 2;
  }
  std::vector<std::filesystem::path> files;
  for (int i = 2; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    std::fprintf(stderr, "%s\n", file.c_str());
    const std::string text = etprof::ReadTextFile(file);
    target(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
  std::printf("%zu inputs\n", files.size());
  return files.empty() ? 1 : 0;
}
