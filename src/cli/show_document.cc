#include "cli/show_document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>

#include "cli/stdout_terminal.h"
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
