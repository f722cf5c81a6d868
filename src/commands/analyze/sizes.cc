#include <filesystem>
#include <map>
#include <memory>

#include "commands/commands.h"
#include "commands/terminal/show.h"
#include "core/error.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

struct SizesOptions {
  fs::path run;
};

// The bytes of the files below a folder, by extension.
std::map<std::string, std::uintmax_t> BytesByExtension(const fs::path& folder) {
  if (!fs::is_directory(folder)) throw Error(ExitCode::kBadInput, "not a folder").InFile(folder.string());
  std::map<std::string, std::uintmax_t> bytes;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) bytes[entry.path().extension().string()] += entry.file_size();
  return bytes;
}

show::Document MakeSizesDocument(const std::map<std::string, std::uintmax_t>& bytes) {
  show::Table table{.id = "sizes", .columns = {{"extension", "extension"}, {"bytes", "bytes", true}}};
  for (const auto& [extension, size] : bytes)
    table.rows.push_back({extension, show::Size(static_cast<double>(size))});
  show::Document document;
  document.title = "etprof sizes";
  document.sections = {{"", show::Level::kUsual, {table}}};
  return document;
}

}  // namespace

std::function<int()> SizesCommand(CLI::App& app) {
  const auto parsed = std::make_shared<Parsed<SizesOptions>>();
  AddOption(app, "run RUN", parsed->options.run, "Results directory")->required();
  AddDocumentOptions(app, parsed->view, "Show the sizes as JSON", {MakeSizesDocument({})});
  return [parsed] {
    ShowDocument(MakeSizesDocument(BytesByExtension(parsed->options.run)), parsed->view, "");
    return 0;
  };
}

}  // namespace etprof
