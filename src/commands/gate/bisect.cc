#include "commands/gate/bisect.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "commands/gate/check.h"
#include "commands/terminal/show.h"
#include "commands/terminal/terminal_progress.h"
#include "core/error.h"
#include "core/file/process_folder.h"
#include "core/file/sha256.h"
#include "core/text/text.h"
#include "device/tool.h"
#include "show/gates.h"

namespace etprof {

namespace {

using Outcome = BisectionStep::Outcome;

constexpr double kBuildTimeoutSeconds = 24 * 3600;
constexpr int kMaxNeighbors = 3;            // neighbors to try for a commit that is undecided or not built
constexpr double kErrorProbability = 0.05;  // probability of a wrong verdict in any comparison
constexpr std::size_t kShortCommitLength = 12;
constexpr const char* kTemporaryFolder = "etprof-bisect";
constexpr const char* kCheckout = "checkout";

// The built files of one commit.
struct BuiltVersion {
  std::filesystem::path model, runner;  // absolute paths; runner empty: the same for all commits
  std::string digest;
};

// A git worktree in a temporary folder; removed by the destructor.
class TemporaryWorktree {
 public:
  TemporaryWorktree(std::string repository, WorkflowProgress& progress)
      : repository_(std::move(repository)),
        progress_(progress),
        folder_(kTemporaryFolder, "a folder for a checkout") {
    RemoveAbandoned();
  }
  TemporaryWorktree(TemporaryWorktree&&) = delete;
  ~TemporaryWorktree() {
    try {
      if (added_) RunTool({"git", "-C", repository_, "worktree", "remove", "--force", tree().string()});
    } catch (const std::exception&) {  // folder_ is removed in any case
    }
  }

  std::filesystem::path tree() const { return folder_.path() / kCheckout; }

  // Runs git in the repository and returns stdout, trimmed. Throws Error (kUsage) with git's message.
  std::string Git(std::vector<std::string> arguments) const {
    std::vector<std::string> command = {"git", "-C", repository_};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const ToolResult result = Run(command, 600);
    if (result.Success()) return std::string(Trimmed(result.output));
    throw Error(ExitCode::kUsage, fmt::format("git {}: {}", arguments.front(), LastLine(result.errors)))
        .InFile(repository_)
        .Remedy("name commits of a repository: `--good A --bad B --repository DIR`");
  }

  void Switch(const std::string& commit) {
    if (!added_) {
      Git({"worktree", "add", "--quiet", "--detach", tree().string(), commit});
      added_ = true;
      return;
    }
    const ToolResult result =
        Run({"git", "-C", tree().string(), "checkout", "--quiet", "--force", "--detach", commit}, 600);
    if (!result.Success())
      throw Error(ExitCode::kDeviceFailed, "git checkout: " + LastLine(result.errors))
          .InFile(tree().string());
  }

  // Runs the build command in the worktree. Returns the reason of a failure, or "" if the command succeeded.
  std::string Build(const std::vector<std::string>& command) const {
    std::vector<std::string> shell_command = {"sh", "-c", "cd \"$1\" && shift && exec \"$@\"", "sh",
                                              tree().string()};
    shell_command.insert(shell_command.end(), command.begin(), command.end());
    const ToolResult result = Run(shell_command, kBuildTimeoutSeconds);
    if (result.Success()) return "";
    const std::string message = LastLine(result.errors.empty() ? result.output : result.errors);
    return fmt::format("`{}` failed{}{}", command.front(), message.empty() ? "" : ": ", message);
  }

 private:
  // Removes the worktrees of killed bisections, in any repository. Does not run `git worktree prune`: other
  // worktrees may be missing only temporarily (an unmounted disk).
  static void RemoveAbandoned() {
    for (const std::filesystem::path& folder : FindAbandonedFolders(kTemporaryFolder)) {
      try {
        const std::string checkout = folder / kCheckout;
        if (std::filesystem::is_regular_file(folder / kCheckout / ".git")) {
          const ToolResult git_folder =
              RunTool({"git", "-C", checkout, "rev-parse", "--path-format=absolute", "--git-common-dir"});
          const std::string repository(Trimmed(git_folder.output));
          if (git_folder.Success())
            RunTool({"git", "--git-dir", repository, "worktree", "remove", "--force", "--force", checkout});
        }
      } catch (const std::exception&) {  // its folder is removed in any case
      }
      std::error_code ignored;
      std::filesystem::remove_all(folder, ignored);
    }
  }

  ToolResult Run(const std::vector<std::string>& command, double seconds) const {
    return RunTool(command,
                   {.timeout_seconds = seconds, .interrupted = [this] { return progress_.Interrupted(); }});
  }

  std::string repository_;
  WorkflowProgress& progress_;
  ProcessFolder folder_;
  bool added_ = false;
};

// Copies a built file, with the files that belong to a model ("net.pte.inputs"), into a separate folder,
// since the next build overwrites it. Returns the path of the copy.
std::filesystem::path CopyBuiltFile(const std::filesystem::path& built, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const std::string name = built.filename().string();
  for (const auto& entry : std::filesystem::directory_iterator(built.parent_path())) {
    const std::string other = entry.path().filename().string();
    if (other == name || other.starts_with(name + ".")) {
      std::filesystem::copy(
          entry.path(), folder / other,
          std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
    }
  }
  return std::filesystem::absolute(folder / name).lexically_normal();
}

class BisectionRun {
 public:
  BisectionRun(const BisectOptions& options, WorkflowProgress& progress)
      : options_(options), progress_(progress), checkout_(options.repository, progress) {
    folder_ = options.output_root.empty() ? "out_bisect" : options.output_root;
    bisection_.folder = folder_.string();
  }

  Bisection Run() {
    try {
      return FindCommit();
    } catch (const Error& error) {
      if (error.exit_code() != ExitCode::kInterrupted || bisection_.CountMeasured() == 0) throw;
      throw Error(ExitCode::kInterrupted, "interrupted")
          .Remedy(fmt::format("repeat the command with `--resume`; the measured steps are in `{}`",
                              folder_.string()));
    }
  }

 private:
  Bisection FindCommit() {
    ListCommits();
    std::string build_problem;
    const auto good = Build(bisection_.good, build_problem);
    if (!good) {
      throw Error(ExitCode::kBadInput,
                  fmt::format("the good version {} cannot be measured: {}",
                              bisection_.good.substr(0, kShortCommitLength), build_problem))
          .Remedy(
              "name a commit that COMMAND builds, and what it builds (`--built-model`, `--built-runner`)");
    }
    good_ = *good;
    // First compare the bad version with the good version.
    const Outcome bad = Measure(commits_.size() - 1, 0);
    const BisectionStep first = bisection_.steps.front();
    bisection_.growth = first.growth;
    bisection_.low = first.low;
    bisection_.high = first.high;
    if (bad == Outcome::kNotBuilt) {
      throw Error(ExitCode::kBadInput,
                  fmt::format("the bad version {} cannot be measured: {}",
                              bisection_.bad.substr(0, kShortCommitLength), first.reason))
          .Remedy("give a version that can be built and measured");
    }
    if (bad != Outcome::kBad) {
      bisection_.result =
          bad == Outcome::kGood ? Bisection::Result::kNotSlower : Bisection::Result::kUndecided;
      return std::move(bisection_);
    }
    // The limit is half of the bad version's slowdown, on a logarithmic scale.
    Search(std::expm1(std::log1p(first.growth.value_or(0)) / 2));
    return std::move(bisection_);
  }

  void ListCommits() {
    const auto resolve = [&](const char* option, const std::string& name) {
      try {
        return checkout_.Git({"rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"});
      } catch (const Error& error) {
        if (error.exit_code() == ExitCode::kInterrupted) throw;
        throw Error(ExitCode::kUsage, fmt::format("`{} {}` is not a commit of the repository", option, name))
            .InFile(options_.repository)
            .Remedy("name it as git does, or the repository with `--repository DIR`");
      }
    };
    bisection_.good = resolve("--good", options_.good);
    bisection_.bad = resolve("--bad", options_.bad);
    if (bisection_.good == bisection_.bad) {
      throw Error(ExitCode::kUsage, "`--good` and `--bad` are the same commit")
          .InFile(options_.repository)
          .Remedy("give `--good` an older commit of the same line");
    }
    const std::string hashes =
        checkout_.Git({"rev-list", "--reverse", "--first-parent", bisection_.good + ".." + bisection_.bad});
    for (const std::string& commit : Words(hashes)) commits_.push_back(commit);
    const std::string base =
        commits_.empty() ? "" : checkout_.Git({"merge-base", bisection_.good, bisection_.bad});
    if (commits_.empty() || base != bisection_.good) {
      throw Error(ExitCode::kUsage, "the good version is not an ancestor of the bad one")
          .InFile(options_.repository)
          .Remedy("give `--good` an older commit of the same line");
    }
    bisection_.commits = commits_.size();
    planned_comparisons_ = 1 + static_cast<std::size_t>(std::bit_width(commits_.size() - 1));
  }

  // Moves the last good and the first bad commit together until they are neighbors, or until no commit
  // between them can be decided.
  void Search(double limit) {
    std::set<std::ptrdiff_t> skipped;  // indexes into commits_
    std::ptrdiff_t good = -1, bad = std::ssize(commits_) - 1;
    while (bad - good > 1) {
      const std::ptrdiff_t middle = good + (bad - good) / 2;
      bool decided = false;
      for (int attempt = 0; attempt <= 2 * kMaxNeighbors && !decided; ++attempt) {
        const std::ptrdiff_t offset = attempt % 2 == 1 ? (attempt + 1) / 2 : -attempt / 2;
        const std::ptrdiff_t index = middle + offset;
        if (index <= good || index >= bad || skipped.contains(index)) continue;
        const Outcome outcome = Measure(static_cast<std::size_t>(index), limit);
        decided = outcome == Outcome::kGood || outcome == Outcome::kBad;
        if (outcome == Outcome::kGood) good = index;
        if (outcome == Outcome::kBad) bad = index;
        if (!decided) skipped.insert(index);
      }
      if (!decided) break;
    }
    for (std::ptrdiff_t i = good + 1; i <= bad; ++i)
      bisection_.suspects.push_back(CommitText(static_cast<std::size_t>(i)));
    bisection_.result = bad - good == 1 ? Bisection::Result::kFound : Bisection::Result::kSeveral;
  }

  std::string CommitSubject(const std::string& commit) const {
    return checkout_.Git({"show", "-s", "--no-show-signature", "--format=%s", commit});
  }
  std::string CommitText(std::size_t index) const {
    return fmt::format("{} {}", commits_[index].substr(0, kShortCommitLength),
                       CommitSubject(commits_[index]));
  }

  std::optional<BuiltVersion> Build(const std::string& commit, std::string& problem) {
    progress_.Message(fmt::format("building {}", commit.substr(0, kShortCommitLength)));
    checkout_.Switch(commit);
    problem = checkout_.Build(options_.command);
    if (!problem.empty()) return std::nullopt;
    BuiltVersion version;
    const std::filesystem::path folder = folder_ / "builds" / commit.substr(0, kShortCommitLength);
    for (const auto& [built, target] :
         {std::pair(&options_.built_model, &version.model), {&options_.built_runner, &version.runner}}) {
      if (built->empty()) continue;
      const std::filesystem::path file = checkout_.tree() / *built;
      std::error_code error;
      if (!std::filesystem::is_regular_file(file, error)) {
        problem = fmt::format("`{}` left no {}", options_.command.front(), *built);
        return std::nullopt;
      }
      if (std::filesystem::is_empty(file, error)) {
        problem = fmt::format("`{}` left an empty {}", options_.command.front(), *built);
        return std::nullopt;
      }
      *target = CopyBuiltFile(file, folder);
      version.digest += Sha256HexOfFile(*target);
    }
    if (version.model.empty()) version.model = std::filesystem::absolute(options_.model).lexically_normal();
    return version;
  }

  Outcome Measure(std::size_t index, double limit) {
    BisectionStep step;
    step.commit = commits_[index];
    step.subject = CommitSubject(commits_[index]);
    step.limit = limit;
    step.measured = false;
    const auto version = Build(commits_[index], step.reason);
    if (!version) {
      step.outcome = Outcome::kNotBuilt;
    } else if (version->digest == good_.digest) {
      step.outcome = Outcome::kGood;
      step.reason = "same bytes as the good version";
    } else if (const auto known_outcome = outcomes_.find(version->digest); known_outcome != outcomes_.end()) {
      step.outcome = known_outcome->second;
      step.reason = "same bytes as a step before";
    } else {
      step.measured = true;
      Compare(*version, step);
      // An undecided comparison is repeated for another commit with the same bytes.
      if (step.outcome != Outcome::kUndecided) outcomes_[version->digest] = step.outcome;
    }
    bisection_.steps.push_back(step);
    return step.outcome;
  }

  void Compare(const BuiltVersion& version, BisectionStep& step) {
    CheckOptions check;
    static_cast<MeasureRequest&>(check) = options_;
    check.output_root = (folder_ / fmt::format("{}_{}", bisection_.steps.size() + 1,
                                               step.commit.substr(0, kShortCommitLength)))
                            .string();
    check.baseline = good_.model.string();
    check.candidate =
        fmt::format("model={},label={}", version.model.string(), step.commit.substr(0, kShortCommitLength));
    if (!version.runner.empty()) {
      check.runner = good_.runner.string();
      check.candidate += ",runner=" + version.runner.string();
    }
    check.limits.slowdown = step.limit;
    check.limits.false_discovery_rate =
        bisection_.NextErrorProbability(kErrorProbability, planned_comparisons_);
    const CheckOutcome check_outcome = CheckVariants(check, progress_);
    if (!check_outcome.report) throw Error(ExitCode::kInterrupted, "interrupted");
    const CheckPair& pair = check_outcome.report->pairs.front();
    if (!pair.error.empty()) {
      step.reason = pair.error;
      return;
    }
    step.launches = pair.launches;
    const CheckItem& latency = pair.items.front();
    step.growth = latency.verdict.growth;
    step.low = latency.verdict.low;
    step.high = latency.verdict.high;
    step.reason = latency.inconclusive_reason;
    if (latency.verdict.decision == GateDecision::kPass) step.outcome = Outcome::kGood;
    if (latency.verdict.decision == GateDecision::kFail) step.outcome = Outcome::kBad;
  }

  const BisectOptions& options_;
  WorkflowProgress& progress_;
  TemporaryWorktree checkout_;
  std::filesystem::path folder_;
  Bisection bisection_;
  std::vector<std::string> commits_;         // the commits after the good commit, up to the bad commit
  std::map<std::string, Outcome> outcomes_;  // keyed by digest of the built files
  BuiltVersion good_;
  std::size_t planned_comparisons_ = 1;  // if every one is decided
};

}  // namespace

Bisection Bisect(const BisectOptions& options, WorkflowProgress& progress) {
  if (options.command.empty()) {
    throw Error(ExitCode::kUsage, "the command that builds a commit is missing")
        .Remedy("put it at the end: `etprof bisect --good A --bad B --built-model net.pte -- make net.pte`");
  }
  if (options.built_model.empty() && options.built_runner.empty()) {
    throw Error(ExitCode::kUsage, "it is not given what the command builds")
        .Remedy("name it, relative to the checkout: `--built-model FILE` or `--built-runner FILE`");
  }
  for (const std::string& built : {options.built_model, options.built_runner}) {
    const std::filesystem::path path = std::filesystem::path(built).lexically_normal();
    if (path.is_absolute() || (!path.empty() && *path.begin() == "..")) {
      throw Error(ExitCode::kUsage, "is not in the checkout, where the command builds")
          .InFile(built)
          .Remedy("name what the command builds relative to the checkout");
    }
  }
  if (options.built_model.empty() == options.model.empty()) {
    throw Error(ExitCode::kUsage, options.model.empty() ? "a built runner needs a model to run"
                                                        : "the model is either built or stays the same")
        .Remedy("give one of `--model FILE` and `--built-model FILE`");
  }
  if (!options.built_runner.empty() && !options.runner.empty())
    throw Error(ExitCode::kUsage, "the runner is either built or stays the same")
        .Remedy("leave out --runner");
  return BisectionRun(options, progress).Run();
}

namespace {

int RunBisect(const BisectOptions& options, const View& view) {
  const Bisection bisection = WithProgress(Bisect, options);
  ShowDocument(show::MakeBisectionDocument(bisection), view, bisection.folder);
  const bool found = bisection.result == Bisection::Result::kFound;
  const bool refuted = bisection.result == Bisection::Result::kNotSlower;
  return static_cast<int>(found     ? ExitCode::kDone
                          : refuted ? ExitCode::kCheckFailed
                                    : ExitCode::kInconclusive);
}

}  // namespace

std::function<int()> BisectCommand(CLI::App& app) {
  const auto parsed = std::make_shared<ParsedArguments<BisectOptions>>();
  auto& [options, view] = *parsed;
  app.add_option("command", options.command, "Command that builds a commit. It runs in a separate checkout")
      ->option_text("-- COMMAND...")
      ->expected(-1);
  AddOption(app, "--good SHA", options.good, "Commit that is fast")->required();
  AddOption(app, "--bad SHA", options.bad, "Later commit that is slow")->required();
  AddDescribedOptions(app, options);
  SetMeasureTexts({.max_seconds = "60 for each step",
                   .launches = "10 to 160, until the step is decided",
                   .threads = "1",
                   .output_root = "out_bisect",
                   .several_threads = false},
                  app);
  AddDocumentOptions(app, view, "Show the result as JSON", {show::MakeBisectionDocument({})});
  return [parsed] { return RunBisect(parsed->options, parsed->view); };
}

}  // namespace etprof
