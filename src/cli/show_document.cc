#include "cli/show_document.h"

#include <iostream>

#include "cli/stdout_terminal.h"
#include "render/document.h"

namespace etprof {

void AddTableOption(CLI::App& app, std::string& table) {
  app.add_option("--csv", table, "show one table as CSV; a wrong name lists those that there are")
      ->type_name("TABLE");
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
