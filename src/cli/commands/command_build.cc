#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "bundle/bundle.h"
#include "cli/build_executorch.h"
#include "cli/command_schemas.h"
#include "cli/commands.h"
#include "cli/locate.h"
#include "cli/say.h"
#include "core/error.h"
#include "core/json.h"
#include "core/json_schema_of.h"

namespace etprof {
namespace {

struct BuildOptions {
  std::string target;
  std::string output;
  int jobs = 0;
  bool json = false;
};

BundleTarget TargetNamed(const std::string& name) {
  for (const BundleTarget target : {BundleTarget::kLinuxAarch64, BundleTarget::kAndroid,
                                    BundleTarget::kMacosArm64, BundleTarget::kNative}) {
    if (Name(target) == name) return target;
  }
  throw Error(ExitCode::kUsage, fmt::format("unknown target `{}`", name))
      .Remedy("the targets are linux-aarch64, android, macos-arm64 and native");
}

int BuildPortableRunner(const BuildOptions& options) {
  const std::optional<std::filesystem::path> checkout = CheckoutRoot();
  if (!checkout) {
    throw Error(ExitCode::kBadInput, "is not in a checkout, and a bundle is built from etprof's sources")
        .InFile(ExecutablePath().string())
        .Remedy("run `build/etprof` in a checkout");
  }
  BundleOptions bundle_options;
  bundle_options.checkout = *checkout;
  bundle_options.target = TargetNamed(options.target);
  bundle_options.output = options.output;
  bundle_options.jobs = options.jobs;
  bundle_options.progress = [](const std::string& step) { Say("{}\n", step); };
  const Bundle bundle = BuildBundle(bundle_options);
  if (options.json) {
    Print("{}\n", JsonText(ToJson(bundle), 2));
    return 0;
  }
  Print("{}: {} files, {:.1f} MB, executorch {}{}\n", bundle.folder.string(), bundle.manifest.files.size(),
        static_cast<double>(bundle.bytes) / 1e6, bundle.manifest.executorch,
        bundle.changed ? "" : ", unchanged");
  return 0;
}

}  // namespace

nlohmann::ordered_json BuildSchema() {
  return SchemaOf<Bundle>("`etprof build --target --json`", "The bundle that was built (docs/build.md).");
}

CommandSpec BuildCommand() {
  return {"build", "make the runner of a device: one folder to push; or ExecuTorch's own, in your checkout",
          "etprof build --target linux-aarch64", [](CLI::App& app) {
            const auto options = std::make_shared<BuildOptions>();
            const auto executorch = std::make_shared<BuildExecutorchOptions>();
            CLI::Option* const target =
                app.add_option("--target", options->target, "linux-aarch64, android, macos-arm64 or native");
            app.add_option("--output", options->output,
                           "the folder to make; build/bundles/TARGET unless given")
                ->needs(target)
                ->type_name("DIR");
            app.add_option("--jobs,-j", options->jobs, "compile so many files at once")
                ->check(CLI::Range(1, 1024));
            app.add_flag("--json", options->json, "say on stdout what was built, as JSON");
            AddBuildExecutorchOptions(app, *executorch);
            return [=] {
              if (options->target.empty() == executorch->folder.empty())
                throw Error(ExitCode::kUsage, "give either --target NAME or --executorch DIR");
              if (!options->target.empty()) return BuildPortableRunner(*options);
              executorch->jobs = options->jobs;
              executorch->json = options->json;
              return BuildExecutorch(*executorch);
            };
          }};
}

}  // namespace etprof
