// Replays corpus files through a fuzz target: `etprof_replay TARGET FILE_OR_FOLDER...`. Prints the name of
// each file first, so that a crash names its input, and fails if there are no files. `etprof_replay TARGET
// --seeded N`: N inputs of random bytes, each generated from its number, for targets whose inputs are
// decisions (mutate_json.h). `--from M` starts with number M. `etprof_replay program --mutated N
// FILE.pte...`: N programs with changed fields (mutate_program.h), each generated from its number and one of
// the files in rotation.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "fuzz.h"
#include "mutate_program.h"

namespace {

using GeneratedInput = std::optional<std::vector<std::uint8_t>>;

// Calls the target with the inputs that `generate` makes from `count` numbers. Absent: no input for this
// number.
void RunGeneratedInputs(etprof::fuzz::Target target, std::uint32_t from, std::uint32_t count,
                        const std::function<GeneratedInput(std::uint32_t)>& generate) {
  std::uint32_t tried = 0;
  for (std::uint32_t number = from; number < from + count; ++number) {
    if (number % 1000 == 0) std::fprintf(stderr, "%u\n", number);
    const GeneratedInput input = generate(number);
    if (!input) continue;
    ++tried;
    try {
      target(input->data(), input->size());
    } catch (...) {
      std::fprintf(stderr, "input of number %u\n", number);
      throw;
    }
  }
  std::printf("%u inputs\n", tried);
}

GeneratedInput GenerateRandomBytes(std::uint32_t number) {
  std::mt19937 random(number);
  std::vector<std::uint8_t> input(1 + random() % 64);
  for (std::uint8_t& byte : input) byte = static_cast<std::uint8_t>(random());
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  const etprof::fuzz::Target target = argc < 2 ? nullptr : etprof::fuzz::FindTarget(argv[1]);
  if (target == nullptr) {
    std::fprintf(stderr, "etprof_replay: no target %s\n", argc < 2 ? "is named" : argv[1]);
    return 2;
  }
  if (argc > 3 && std::string_view(argv[2]) == "--seeded") {
    const auto number = [&](int at) {
      return static_cast<std::uint32_t>(std::strtoul(argv[at], nullptr, 10));
    };
    RunGeneratedInputs(target, argc > 5 ? number(5) : 0, number(3), GenerateRandomBytes);
    return 0;
  }
  if (argc > 4 && std::string_view(argv[2]) == "--mutated") {
    std::vector<std::string> programs;
    for (int i = 4; i < argc; ++i) programs.push_back(etprof::ReadTextFile(argv[i]));
    RunGeneratedInputs(target, 0, static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10)),
                       [&](std::uint32_t number) {
                         const std::string& program = programs[number % programs.size()];
                         return etprof::fuzz::MutateProgram(std::as_bytes(std::span(program)), number);
                       });
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
