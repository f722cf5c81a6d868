#include "cli/show_document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>

#include "cli/stdout_terminal.h"
#include "core/file.h"
#include "render/document.h"

namespace etprof {

void AddTableOption(CLI::App& app, std::string& table, const std::vector<std::string>& names) {
  const std::string those =
      names.empty() ? "a wrong name lists those that there are" : fmt::format("{}", fmt::join(names, "|"));
  CLI::Option* const option = app.add_option("--csv", table, "show one table as CSV: " + those)
                                  ->type_name("TABLE")
                                  ->excludes(app.get_option("--json"));
  if (!names.empty()) option->check(CLI::IsMember(names).description(""));
}

void AddDocumentFiles(CLI::App& app, DocumentFiles& files) {
  for (const DocumentFormat& format : DocumentFormats()) {
    app.add_option(fmt::format("--{}", format.name), files[format.name],
                   fmt::format("write it {}", format.is))
        ->type_name("FILE");
  }
}

bool WriteDocumentFiles(const say::Document& document, const DocumentFiles& files) {
  bool stdout_taken = false;
  for (const DocumentFormat& format : DocumentFormats()) {
    const auto file = files.find(format.name);
    if (file == files.end() || file->second.empty()) continue;
    WriteOutput(file->second, [&](std::ostream& out) { format.render(document, out); });
    stdout_taken = stdout_taken || IsStdout(file->second);
  }
  return stdout_taken;
}

void ShowDocument(const say::Document& document, const std::string& table, const std::string& more,
                  bool all) {
  if (!table.empty()) {
    RenderDocumentCsv(document, table, std::cout);
  } else {
    TerminalOptions options = OptionsOfStdout();
    options.more = more;
    options.all = all;
    RenderDocumentTerminal(document, options, std::cout);
  }
  FlushStdout();
}

}  // namespace etprof
