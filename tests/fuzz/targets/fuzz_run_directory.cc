// The input is a results directory with links, as records that end with 0x1e. A record has a path and
// contents, separated by 0x1f; contents that begin with '@' are the target of a link. Requires that reading
// the directory changes no file, and that recovering it changes no file outside.

#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

#include "fuzz.h"
#include "measure/store/run_data.h"

namespace {

using namespace etprof;
namespace fs = std::filesystem;

// The contents of all files, and the targets of all links, below a folder.
std::map<std::string, std::string> Snapshot(const fs::path& folder) {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    std::string& value = found[entry.path().string()];
    if (entry.is_symlink()) {
      value = "@" + fs::read_symlink(entry.path()).string();
    } else if (entry.is_regular_file()) {
      value = ReadTextFile(entry.path());
    }
  }
  return found;
}

void MakeFileOrLink(const fs::path& run, const std::string& record) {
  const std::size_t divider = record.find('\x1f');
  if (divider == std::string::npos || divider == 0 || divider > 200) return;
  const fs::path name = record.substr(0, divider);
  const std::string contents = record.substr(divider + 1);
  const bool leads_out =
      std::any_of(name.begin(), name.end(), [](const fs::path& part) { return part == ".."; });
  if (name.is_absolute() || leads_out || record.find('\0') < divider) return;
  const fs::path file = run / name;
  std::error_code ignored;
  // Earlier records may have made links that lead anywhere, so only real folders are entered.
  fs::path parent = run;
  for (const fs::path& part : name.parent_path()) {
    parent /= part;
    if (fs::is_symlink(parent, ignored)) return;
    fs::create_directory(parent, ignored);
  }
  if (fs::exists(fs::symlink_status(file, ignored))) return;
  if (contents.starts_with("@")) {
    if (contents.size() > 1 && contents[1] != '/' && contents.find('\0') == std::string::npos)
      fs::create_symlink(contents.substr(1), file, ignored);
    return;
  }
  fuzz::Accepts({ExitCode::kDeviceFailed}, [&] { WriteFileAtomically(file, contents); });
}

}  // namespace

ETPROF_FUZZ_TARGET(run_directory) {
  const fs::path root = fuzz::ScratchFolder() / "directory";
  fs::remove_all(root);
  const fs::path run = root / "run";
  const fs::path outside = root / "outside";
  fs::create_directories(run);
  fs::create_directories(outside / "a");
  WriteFileAtomically(outside / "thesis.txt", "precious");
  WriteFileAtomically(outside / "toy_a_t1_l000.etdump", "precious");
  WriteFileAtomically(outside / "toy_a_t1_latency.csv", "precious");
  std::istringstream records(fuzz::Text(data, size));
  int count = 0;
  for (std::string record; count < 30 && std::getline(records, record, '\x1e'); ++count)
    MakeFileOrLink(run, record);

  const auto outside_before = Snapshot(outside);
  const auto before = Snapshot(run);
  fuzz::Accepts({ExitCode::kBadInput}, [&] {
    RunData read = LoadRunDirectory(run);
    RecoverInMemory(read);
  });
  fuzz::Require(Snapshot(run) == before, "reading a results directory changes nothing");
  fuzz::Accepts({ExitCode::kBadInput, ExitCode::kDeviceFailed}, [&] {
    RecoverRunDirectory(run);
    fuzz::Require(!RecoverRunDirectory(run), "what was recovered is recovered once");
  });
  fuzz::Require(Snapshot(outside) == outside_before,
                "recovering changes nothing outside of the results directory");
  return 0;
}
