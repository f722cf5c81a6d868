#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/python.h"

namespace etprof {

CommandSpec ExportCommand() {
  return {"export",
          "export a PyTorch model to a .pte, with its .etrecord and inputs, and check what it computes",
          "etprof export --model mobilenet_v3_small --dtype fp32 --outdir out_mobilenet_v3_small/artifacts",
          [](CLI::App& app) {
            // Its options are those of the Python exporter, which also answers --help.
            app.prefix_command();
            app.set_help_flag();
            return [&app]() -> int { BecomePython("etprof.export", app.remaining()); };
          }};
}

}  // namespace etprof
