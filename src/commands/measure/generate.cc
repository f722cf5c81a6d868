#include "commands/measure/generate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <tuple>

#include "commands/analyze/analyze.h"
#include "commands/terminal/show.h"
#include "commands/terminal/terminal.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/text/text.h"
#include "core/units.h"
#include "format/program/language_model.h"
#include "format/program/read/program_reader.h"
#include "measure/config/variant.h"
#include "measure/store/run_files.h"
#include "report/generate/generate.h"
#include "show/formats/export/llama_bench.h"
#include "show/subjects.h"

namespace etprof {

namespace {

constexpr double kSecondsPerVariant = 60;
constexpr std::int64_t kMinContext = 16;
constexpr std::int64_t kDefaultGeneratedTokens = 128;
constexpr int kDefaultDepths = 4;

LanguageModel ReadLanguageModel(const std::filesystem::path& path) {
  LanguageModel model = FindLanguageModel(ReadProgramFile(path));
  if (model.rejection.empty() && *model.context - model.encoder_positions < kMinContext) {
    model.rejection = fmt::format("has room for {} only", CountedText(*model.context, "token"));
    if (model.encoder_positions > 0)
      model.rejection += fmt::format(", and its encoders give up to {}", model.encoder_positions);
  }
  if (!model.rejection.empty()) {
    throw Error(ExitCode::kBadInput, "is no language model that can generate: " + model.rejection)
        .InFile(path.string())
        .Remedy(
            "measure its methods one by one, with inputs for each: `etprof profile --method NAME --inputs "
            "FILE` "
            "(docs/guides/llms.md#one-step-by-hand)");
  }
  return model;
}

// The tests to measure, with all defaults filled in.
struct ResolvedTests {
  std::vector<std::int64_t> prompts, depths, chunks;
  std::int64_t generate = 0;
};

Error MakeNoRoomError(const std::string& request, std::int64_t room) {
  return Error(ExitCode::kUsage,
               fmt::format("{}: the model has room for {}", request, CountedText(room, "token")))
      .Remedy("give smaller numbers, or export it for a longer context");
}

ResolvedTests ResolveTests(const TokenTests& options, const std::vector<LanguageModel>& models,
                           const char* generate_option) {
  std::int64_t context = std::numeric_limits<std::int64_t>::max(), max_chunk = context;
  for (const LanguageModel& model : models) {
    context = std::min(context, *model.context);
    max_chunk = std::min(max_chunk, model.steps.front().tokens);
  }
  ResolvedTests tests;
  tests.generate = options.generate.value_or(std::min(kDefaultGeneratedTokens, context / 4));
  tests.prompts.assign(options.prompts.begin(), options.prompts.end());
  tests.depths.assign(options.depths.begin(), options.depths.end());
  tests.chunks.assign(options.chunks.begin(), options.chunks.end());
  if (tests.generate > context)
    throw MakeNoRoomError(fmt::format("`{} {}`", generate_option, tests.generate), context);
  const std::int64_t max_depth = context - tests.generate;
  if (tests.prompts.empty()) {
    // A default prompt has at most one chunk, so it is one step. If the generated tokens fill the context, it
    // has one token, since a step without tokens cannot be measured.
    const std::int64_t longest_prompt = std::max<std::int64_t>(
        1, std::min({std::int64_t{512}, std::max<std::int64_t>(max_chunk, 32), max_depth}));
    if (longest_prompt > 128) tests.prompts.push_back(128);
    tests.prompts.push_back(longest_prompt);
  }
  if (tests.depths.empty()) {
    for (int i = 0; i < kDefaultDepths; ++i) tests.depths.push_back(max_depth * i / (kDefaultDepths - 1));
  }
  for (std::vector<std::int64_t>* list : {&tests.prompts, &tests.depths, &tests.chunks}) {
    std::ranges::sort(*list);
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  for (const std::int64_t prompt : tests.prompts)
    if (prompt > context) throw MakeNoRoomError(fmt::format("`--prompt {}`", prompt), context);
  for (const std::int64_t depth : tests.depths)
    if (depth > max_depth)
      throw MakeNoRoomError(
          fmt::format("`--depth {}` and {} generated", depth, CountedText(tests.generate, "token")), context);
  for (const std::int64_t chunk : tests.chunks) {
    if (chunk <= max_chunk) {
      const bool is_supported = std::ranges::all_of(
          models, [&](const LanguageModel& model) { return model.FindStep(chunk) != nullptr; });
      if (is_supported) continue;
      throw Error(ExitCode::kUsage,
                  fmt::format("`--chunk {}`: no method takes {} at once", chunk, CountedText(chunk, "token")))
          .Remedy("`etprof inspect` shows how many each takes");
    }
    throw Error(ExitCode::kUsage, fmt::format("`--chunk {}`: the model takes at most {} at once", chunk,
                                              CountedText(max_chunk, "token")))
        .Remedy("give a smaller chunk, or export it for longer sequences");
  }
  return tests;
}

// Lists the steps that a variant's tests need, with the number of tokens and the position of each step.
class TestSteps {
 public:
  TestSteps(const LanguageModel& model, const ResolvedTests& tests, const std::string& variant)
      : model_(model), variant_(variant) {
    std::vector<std::int64_t> chunks = tests.chunks;
    if (chunks.empty()) chunks = {model.steps.front().tokens};
    for (const std::int64_t prompt : tests.prompts) {
      for (const std::int64_t chunk : chunks)
        AddPrompt(prompt, chunk,
                  fmt::format("pp{}{}", prompt, chunks.size() > 1 ? fmt::format(" chunk {}", chunk) : ""));
    }
    for (const std::int64_t depth : tests.depths) {
      // Costs grow linearly with the position, so their mean over the tokens is the value at the middle.
      Add({1, depth + (tests.generate - 1) / 2}, tests.generate,
          depth == 0 ? fmt::format("tg{}", tests.generate)
                     : fmt::format("tg{} @ d{}", tests.generate, depth));
    }
    protocol::GenerateTextRequest& generate_text = steps_.front().generate_text.emplace();
    const std::int64_t room = *model.context - model.encoder_positions;
    generate_text.prompt = std::min(tests.prompts.back(), room - 1);
    generate_text.generate = std::min(tests.generate, room - generate_text.prompt);
    generate_text.chunk = chunks.back();
    const std::int64_t chunk = generate_text.chunk;
    AddEmbeddings();
    for (const std::string& encoder : model.encoders) Add({1, 0, encoder}, 1, encoder);
    std::vector<std::string> methods;
    for (const TokenStep& step : model.steps)
      for (const std::string& method : {step.method, step.embedding_method})
        if (!method.empty()) AppendUnique(method, methods);
    methods.insert(methods.end(), model.encoders.begin(), model.encoders.end());
    for (protocol::TestStep& step : steps_) {
      step.chunk = chunk;
      step.cache_bytes = model.state;
      // A step reads all its weights, and the cache entries of the tokens before it.
      if (const TokenStep* const token_step = model_.FindStep(step.tokens);
          step.tokens == 1 && step.method.empty() && token_step != nullptr && token_step->weights)
        step.read_bytes = *token_step->weights + model_.state_per_token.value_or(0) * step.position;
      if (methods.size() > 1) step.methods = methods;
    }
  }

  const std::vector<protocol::TestStep>& steps() const { return steps_; }
  std::string MethodAt(const protocol::TestStep& step) const {
    return step.method.empty() ? model_.FindStep(step.tokens)->method : step.method;
  }

 private:
  void Add(const protocol::StepPlace& place, std::int64_t times, const std::string& test) {
    protocol::TestStep& step = steps_.emplace_back();
    static_cast<protocol::StepPlace&>(step) = place;
    step.times = times;
    step.test = test;
    step.variant = variant_;
  }

  // Adds the embeddings of all steps that take embeddings: the embedding is a separate method.
  void AddEmbeddings() {
    const std::size_t token_steps = steps_.size();
    for (std::size_t i = 0; i < token_steps; ++i) {
      const protocol::TestStep step = steps_[i];
      const std::string& embedding = model_.FindStep(step.tokens)->embedding_method;
      if (!embedding.empty()) Add({step.tokens, step.position, embedding}, step.times, step.test);
    }
  }

  // Adds a prompt: its full chunks, of which only the middle chunk is measured, and its remaining tokens.
  void AddPrompt(std::int64_t prompt, std::int64_t chunk, const std::string& test) {
    std::int64_t position = 0;
    const std::int64_t full_chunk = std::min(chunk, prompt);
    if (model_.FindStep(full_chunk) != nullptr) {
      const std::int64_t times = prompt / full_chunk;
      Add({full_chunk, (times - 1) * full_chunk / 2}, times, test);
      position = times * full_chunk;
    }
    const std::int64_t remaining = prompt - position;
    if (remaining == 0) return;
    if (model_.FindStep(remaining) != nullptr) return Add({remaining, position}, 1, test);
    Add({1, position + (remaining - 1) / 2}, remaining, test);
  }

  const LanguageModel& model_;
  const std::string& variant_;
  std::vector<protocol::TestStep> steps_;
};

std::string MakeExperimentName(const std::string& experiment, const protocol::TestStep& step, int part) {
  std::string name = experiment + "_";
  for (const char c : step.test)
    if (c != ' ' && c != '@') name += c;
  if (!step.method.empty() && step.method != step.test) name += "_" + step.method;
  return part > 0 ? fmt::format("{}_{}", name, part + 1) : name;
}

// A part of a test, by which the experiments of two variants are paired: the test, the method, and a number.
using TestPart = std::tuple<std::string, std::string, int>;

}  // namespace

Config MakeGenerateConfig(const Config& profile, const TokenTests& token_tests, const char* generate_option) {
  std::vector<LanguageModel> models;
  for (const ExperimentConfig& experiment : profile.experiments)
    models.push_back(ReadLanguageModel(experiment.model));
  const ResolvedTests tests = ResolveTests(token_tests, models, generate_option);
  Config config = profile;
  config.experiments.clear();
  config.pairs.clear();
  std::map<std::string, std::map<TestPart, std::string>> names;  // keyed by experiment of the profile
  for (std::size_t i = 0; i < profile.experiments.size(); ++i) {
    const ExperimentConfig& experiment = profile.experiments[i];
    const TestSteps test_steps(models[i], tests, experiment.label);
    std::map<std::pair<std::string, std::string>, int> parts;  // keyed by test and method
    for (const protocol::TestStep& step : test_steps.steps()) {
      const int part = parts[{step.test, step.method}]++;
      ExperimentConfig& test_experiment = config.experiments.emplace_back(experiment);
      test_experiment.method = test_steps.MethodAt(step);
      test_experiment.place = step;
      test_experiment.name = MakeExperimentName(experiment.name, step, part);
      test_experiment.label = fmt::format(
          "{}, {}{}{}", experiment.label, step.test, part > 0 ? fmt::format(" part {}", part + 1) : "",
          step.method.empty() || step.method == step.test ? "" : " " + step.method);
      names[experiment.name][{step.test, step.method, part}] = test_experiment.name;
    }
  }
  for (const PairConfig& pair : profile.pairs) {
    for (const auto& [part, name] : names[pair.baseline.experiment]) {
      const auto candidate_name = names[pair.candidate.experiment].find(part);
      if (candidate_name == names[pair.candidate.experiment].end()) continue;
      const std::string& test = std::get<0>(part);
      PairConfig test_pair = pair;
      test_pair.baseline.experiment = name;
      test_pair.candidate.experiment = candidate_name->second;
      for (PairVariantConfig* variant : {&test_pair.baseline, &test_pair.candidate})
        if (!variant->label.empty()) variant->label += ", " + test;
      config.pairs.push_back(std::move(test_pair));
    }
  }
  config.pairs_given = true;  // otherwise experiments of the same variant would be paired
  if (!config.max_seconds && !config.launches)
    config.max_seconds = kSecondsPerVariant * static_cast<double>(1 + profile.experiments.size());
  return config;
}

void RequireDefaultMethodAndInputs(const MeasureRequest& request, const std::string& command) {
  for (const auto& [is_given, option] :
       {std::pair(!request.inputs.empty(), "--inputs"), {request.method != "forward", "--method"}}) {
    if (!is_given) continue;
    throw Error(ExitCode::kUsage, fmt::format("`{}` and `{}` exclude each other", option, command))
        .Remedy("it chooses methods and inputs itself; `etprof profile` takes them");
  }
}

MeasureJobs MakeJobs(const GenerateOptions& options) {
  RequireValidVariants(options.vs, options.threads.size());
  RequireValidRequest(options);
  RequireDefaultMethodAndInputs(options, "etprof generate");
  // Report invalid models and tests before a device is opened.
  {
    std::vector<LanguageModel> models = {ReadLanguageModel(options.model)};
    for (const std::string& spec : options.vs)
      if (const Variant variant = ParseVariant(spec); variant.model)
        models.push_back(ReadLanguageModel(*variant.model));
    ResolveTests(options.tests, models, "--generate");
  }
  const auto configure = [&options](Device& device, const DeviceProperties& properties) {
    Config profile = MakeProfileConfig(MakeExperimentConfig(options, options.model, device, properties),
                                       MakeVariants(options.vs, properties));
    Apply(options, profile);
    if (profile.output_root.empty())
      profile.output_root = DefaultRunDirectory(options.model, properties.platform + "-generate");
    return MakeGenerateConfig(profile, options.tests);
  };
  return {{{options.FirstDevice(), configure}},
          false,
          "generate " + std::filesystem::path(options.model).stem().string()};
}

namespace {

struct GenerateArguments {
  GenerateOptions options;  // `model` may be the results directory of an earlier measurement
  View view;
  std::string llama_bench;
};

void ShowGenerated(const Report& report, const GenerateArguments& arguments) {
  const std::optional<GenerationReport> generation_report = MakeGenerationReport(report);
  if (!generation_report) {
    throw Error(ExitCode::kBadInput, "is not a run of `etprof generate`")
        .InFile(report.run.folder.string())
        .Remedy("run `etprof generate MODEL.pte`, or show any run with `etprof analyze`");
  }
  if (!arguments.llama_bench.empty()) {
    Print("{}", LlamaBenchText(*generation_report, arguments.llama_bench));
    return;
  }
  ShowDocument(show::MakeGenerationDocument(*generation_report), arguments.view, *generation_report,
               (report.run.folder / kReportPage).string());
}

int RunGenerate(const GenerateArguments& arguments) {
  const GenerateOptions& options = arguments.options;
  if (IsFolder(options.model)) {
    ShowGenerated(MakeReport(OpenRunDirectory(options.model)), arguments);
    return 0;
  }
  return MeasureAndShow(MakeJobs(options), options, arguments.view,
                        [&arguments](const Report& report) { ShowGenerated(report, arguments); });
}

}  // namespace

std::function<int()> GenerateCommand(CLI::App& app) {
  const auto arguments = std::make_shared<GenerateArguments>();
  GenerateOptions& options = arguments->options;
  AddOption(app, "model MODEL.pte|RUN", options.model,
            "Language model to measure, or the results directory of an earlier measurement to show")
      ->required();
  AddOption(
      app, "--vs SPEC", options.vs,
      "Variant to compare with: isa=-avx2, threads=2, cpus=0, runner=PATH, model=OTHER.pte, label=NAME, "
      "or several of these, separated by commas. May be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  AddOption(app, "-p,--prompt N,..", options.tests.prompts, kPromptHelp)->delimiter(',');
  AddOption(app, "-n,--generate N", options.tests.generate, kGenerateHelp);
  AddOption(app, "-d,--depth N,..", options.tests.depths, kDepthHelp)->delimiter(',');
  AddDescribedOptions(app, options);
  AddOption(app, "--llama-bench FORMAT", arguments->llama_bench,
            "Print the tests as llama-bench does: json, jsonl, csv, md, or sql",
            CLI::IsMember({"json", "jsonl", "csv", "md", "sql"}));
  SetMeasureTexts({.max_seconds = "60 and 60 for each variant",
                   .threads = "1; several are measured side by side",
                   .output_root = "out_<model>/runs/<platform>-generate"},
                  app);
  // The steps of a language model determine the method and the inputs. These options exist only so that their
  // use is reported as an error.
  for (const char* const option : {"--method", "--inputs"}) app.get_option(option)->group("");
  AddViewOptions(app, arguments->view, "Show the result as JSON", "tests");
  for (const std::string& option : ViewOptionNames())
    app.get_option("--llama-bench")->excludes(app.get_option(option));
  return [arguments, &app] {
    if (const std::string& run = arguments->options.model; IsFolder(run))
      RefuseMeasurementOptions(app, run, {"--llama-bench"});
    return RunGenerate(*arguments);
  };
}

}  // namespace etprof
