// Replays corpus files through a fuzz target: `etprof_replay TARGET FILE_OR_FOLDER...`. Says which file it is
// at before each, so that a crash names its input, and fails when there was none.
// `etprof_replay TARGET --seeded N`: N inputs of random bytes, each from its number, for targets whose inputs
// are decisions (mutate_json.h). `--from M` begins with the number M.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>
#include <vector>

#include "fuzz.h"

namespace {

void TrySeeded(etprof::fuzz::Target target, std::uint32_t from, std::uint32_t count) {
  for (std::uint32_t number = from; number < from + count; ++number) {
    if (number % 1000 == 0) std::fprintf(stderr, "%u\n", number);
    std::mt19937 random(number);
    std::vector<std::uint8_t> input(1 + random() % 64);
    for (std::uint8_t& byte : input) byte = static_cast<std::uint8_t>(random());
    try {
      target(input.data(), input.size());
    } catch (...) {
      std::fprintf(stderr, "seeded input %u\n", number);
      throw;
    }
  }
  std::printf("%u inputs\n", count);
}

}  // namespace

int main(int argc, char** argv) {
  const etprof::fuzz::Target target = argc < 2 ? nullptr : etprof::fuzz::Find(argv[1]);
  if (target == nullptr) {
    std::fprintf(stderr, "etprof_replay: no target %s\n", argc < 2 ? "is named" : argv[1]);
    return 2;
  }
  if (argc > 3 && std::string_view(argv[2]) == "--seeded") {
    const auto number = [&](int at) {
      return static_cast<std::uint32_t>(std::strtoul(argv[at], nullptr, 10));
    };
    TrySeeded(target, argc > 5 ? number(5) : 0, number(3));
    return 0;
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
