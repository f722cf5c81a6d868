#include "fuzz.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <stdexcept>

namespace etprof::fuzz {
namespace {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code ignored;
    const std::filesystem::path base = std::filesystem::is_directory("/dev/shm", ignored)
                                           ? std::filesystem::path("/dev/shm")
                                           : std::filesystem::temp_directory_path();
    path_ = base / ("etprof_fuzz_" + std::to_string(::getpid()));
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::map<std::string, Target, std::less<>>& Targets() {
  static std::map<std::string, Target, std::less<>> targets;
  return targets;
}

}  // namespace

bool RegisterTarget(const char* name, Target target) { return Targets().emplace(name, target).second; }

Target FindTarget(std::string_view name) {
  const auto found = Targets().find(name);
  return found == Targets().end() ? nullptr : found->second;
}

void Require(bool holds, const char* promise) {
  if (!holds) throw std::logic_error(std::string("broken promise: ") + promise);
}

bool Accepts(std::initializer_list<ExitCode> codes, const std::function<void()>& read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    Require(std::find(codes.begin(), codes.end(), error.exit_code()) != codes.end(),
            "an input is refused with a documented exit code");
    Require(!error.problem().empty() && error.Message().find('\n') == std::string::npos,
            "a refusal is one line that says what is wrong");
    return false;
  }
}

std::filesystem::path ScratchFolder() {
  static const TemporaryFolder scratch;
  return scratch.path();
}

std::filesystem::path ScratchFile(std::string_view name, ByteView bytes) {
  const std::filesystem::path path = ScratchFolder() / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  Require(static_cast<bool>(file), "the scratch file could be written");
  return path;
}

}  // namespace etprof::fuzz

// The entry point of libFuzzer. A program with libFuzzer has exactly one target.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return etprof::fuzz::Targets().begin()->second(data, size);
}
