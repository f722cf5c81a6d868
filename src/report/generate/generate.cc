#include "report/generate/generate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <tuple>

#include "core/text/text.h"
#include "core/views.h"
#include "measure/schedule/clean_runs.h"
#include "measure/store/peaks.h"
#include "report/kernels/matrix_kernels.h"
#include "report/run/pair.h"
#include "stats/distribution.h"

namespace etprof {
namespace {

// Returns the sums of the parts' times by launch, for launches with clean runs of all parts. A part counts
// with all of its steps if `all_steps`, else with one step.
LaunchValues LaunchTimes(const Report& report, const std::vector<std::size_t>& parts, bool all_steps) {
  LaunchValues times;
  bool first = true;
  for (const std::size_t part : parts) {
    const ExperimentData& data = report.DataAt(part);
    const LaunchValues medians = CollectValues({&data}, &Launch::CleanLatency);
    const double steps = all_steps ? static_cast<double>(data.place->times) : 1;
    for (const auto& [launch, median] : medians)
      if (first || times.contains(launch)) times[launch] += median * steps;
    std::erase_if(times, [&](const auto& time) { return !medians.contains(time.first); });
    first = false;
  }
  return times;
}

bool IsEmulated(const Report& report, const GenerationTest& test) {
  return std::ranges::any_of(test.parts, [&](std::size_t part) { return report.DataAt(part).emulated; });
}

// Returns the geometric mean of the launches' times and its interval; absent: too few launches.
std::optional<stats::MeanInterval> EstimateMeanTime(const std::vector<double>& times, double confidence) {
  const auto estimate =
      stats::EstimateRatio(MapEach(times, [](double time) { return std::log(time); }), confidence);
  if (!estimate) return std::nullopt;
  return stats::MeanInterval{std::exp(estimate->log_ratio), std::exp(estimate->log_low),
                             std::exp(estimate->log_high)};
}

void FillTimes(const Report& report, GenerationTest& test) {
  test.confidence = report.run.schedule.confidence;
  test.samples = MapValues(LaunchTimes(report, test.parts, true));
  if (IsEmulated(report, test)) return;
  const auto interval = EstimateMeanTime(test.samples, report.run.schedule.IntervalConfidence());
  if (!interval) return;
  test.ns = interval->mean;
  test.low = interval->low;
  test.high = interval->high;
}

bool AreInterleaved(const ReportComparison* pair) {
  return pair != nullptr && pair->comparison.pairing == Pairing::kLaunches;
}

// Compares values of undisturbed launches in the same way as latencies. `a` and `b` are the experiments that
// the values are from.
TimeComparison CompareLaunchValues(const Report& report, std::size_t a, std::size_t b,
                                   const LaunchValues& baseline, const LaunchValues& candidate,
                                   double baseline_waited, double candidate_waited) {
  const bool paired = AreInterleaved(FindComparison(report, a, b));
  const CompareOptions options = MakeCompareOptions(report.run);
  TimeComparison time_comparison;
  std::size_t common = std::min(baseline.size(), candidate.size());
  if (paired) {
    common = static_cast<std::size_t>(
        std::ranges::count_if(baseline, [&](const auto& value) { return candidate.contains(value.first); }));
  }
  const std::size_t launches = std::min(report.DataAt(a).launches.size(), report.DataAt(b).launches.size());
  time_comparison.estimate =
      EstimateLaunches(baseline, candidate, paired, report.run.schedule.IntervalConfidence(), options.drift);
  if (!time_comparison.estimate || (paired && AreTooFewClean(common, launches))) {
    time_comparison.estimate.reset();
    time_comparison.verdict = common < launches ? stats::Verdict::kContended : stats::Verdict::kInconclusive;
    return time_comparison;
  }
  time_comparison.estimate =
      WithWaitingError(*time_comparison.estimate, baseline_waited, candidate_waited, 1);
  time_comparison.baseline_ns = time_comparison.estimate->baseline();
  time_comparison.candidate_ns = time_comparison.estimate->candidate();
  time_comparison.verdict = stats::DecideVerdict(time_comparison.estimate->log_low,
                                                 time_comparison.estimate->log_high, options.margin);
  return time_comparison;
}

// Compares a test of two variants. A test with one part in each variant is one of the run's comparisons;
// several parts are compared by their sums.
TimeComparison CompareTests(const Report& report, const GenerationTest& baseline,
                            const GenerationTest& candidate) {
  if (baseline.parts.size() == 1 && candidate.parts.size() == 1) {
    const ReportComparison* const pair = FindComparison(report, baseline.parts[0], candidate.parts[0]);
    const std::int64_t steps = report.DataAt(baseline.parts[0]).place->times;
    if (pair != nullptr && report.DataAt(candidate.parts[0]).place->times == steps) {
      const auto times = static_cast<double>(steps);
      TimeComparison time_comparison = pair->comparison.latency;
      for (std::optional<double>* ns : {&time_comparison.baseline_ns, &time_comparison.candidate_ns})
        if (*ns) **ns *= times;
      if (time_comparison.estimate && time_comparison.estimate->log_middle)
        *time_comparison.estimate->log_middle += std::log(times);
      return time_comparison;
    }
  }
  if (IsEmulated(report, baseline) || IsEmulated(report, candidate)) {
    TimeComparison time_comparison;
    time_comparison.verdict = stats::Verdict::kEmulated;
    return time_comparison;
  }
  const auto waited_share = [&](const GenerationTest& test) {
    double share = 0;
    for (const std::size_t part : test.parts) share = std::max(share, report.DataAt(part).WaitedShare());
    return share;
  };
  return CompareLaunchValues(
      report, baseline.parts[0], candidate.parts[0], LaunchTimes(report, baseline.parts, true),
      LaunchTimes(report, candidate.parts, true), waited_share(baseline), waited_share(candidate));
}

std::int64_t SumRange(const std::vector<std::int64_t>& values, std::size_t from, std::size_t to) {
  std::int64_t sum = 0;
  for (std::size_t i = from; i < std::min(to, values.size()); ++i) sum += values[i];
  return sum;
}

// The text that a launch generated (protocol::GenerateTextReply), split into the prompt's steps and those
// after it.
struct LaunchGeneration {
  const protocol::GenerateTextReply* reply = nullptr;
  int launch = 0;
  std::size_t prompt_steps = 0;
  std::optional<Nanoseconds> load = 0;  // ns of loading before it; absent: disturbed

  LaunchGeneration(const protocol::GenerateTextReply& generate_reply, int launch_index)
      : reply(&generate_reply), launch(launch_index) {
    std::int64_t tokens = 0;
    while (prompt_steps < generate_reply.tokens.size() &&
           tokens < std::ssize(generate_reply.prompt) + generate_reply.features.value_or(0))
      tokens += generate_reply.tokens[prompt_steps++];
  }
  // Returns whether the columns have consistent lengths; they are from a file, which may contain anything.
  bool IsComplete() const {
    const std::size_t steps = reply->tokens.size();
    return !reply->prompt.empty() && !reply->generated.empty() && prompt_steps > 0 &&
           steps == prompt_steps + reply->generated.size() - 1 && reply->positions.size() == steps &&
           reply->inputs_ns.size() == steps && reply->execute_ns.size() == steps &&
           reply->argmax_ns.size() == steps && reply->between_ns.size() == steps &&
           reply->wait_ns.size() == steps;
  }
  // The time between the last prompt step and the next step is excluded: the token is already known.
  FirstToken MakeFirstToken() const {
    FirstToken first;
    first.prompt = std::ssize(reply->prompt);
    first.steps = static_cast<std::int64_t>(prompt_steps);
    first.features = reply->features.value_or(0);
    first.encode = reply->encode_ns.value_or(0);
    first.prefill = SumRange(reply->execute_ns, 0, prompt_steps);
    first.inputs = SumRange(reply->inputs_ns, 0, prompt_steps);
    first.argmax = SumRange(reply->argmax_ns, 0, prompt_steps);
    first.between_steps = SumRange(reply->between_ns, 0, prompt_steps - 1);
    first.load = load.value_or(0);
    first.total =
        first.load + first.encode + first.prefill + first.inputs + first.argmax + first.between_steps;
    return first;
  }
  std::vector<double> DecodeStepTimes() const {
    std::vector<double> steps;
    for (std::size_t i = prompt_steps; i < reply->tokens.size(); ++i)
      steps.push_back(static_cast<double>(reply->execute_ns[i]));
    return steps;
  }
  bool IsClean(std::size_t from, std::size_t to) const {
    const std::int64_t time =
        SumRange(reply->execute_ns, from, to) + (from == 0 ? reply->encode_ns.value_or(0) : 0);
    std::int64_t waited = 0;
    for (std::size_t i = from; i < to; ++i) waited += std::max<std::int64_t>(0, reply->wait_ns[i]);
    return IsCleanRun(time, waited);
  }
};

std::vector<LaunchGeneration> CollectGenerations(
    const ExperimentData& data,
    std::optional<protocol::GenerateTextReply> Launch::*member = &Launch::generated_text) {
  std::vector<LaunchGeneration> generations;
  for (const Launch& launch : data.launches) {
    const std::optional<protocol::GenerateTextReply>& reply = launch.*member;
    if (launch.status != Launch::Status::kComplete || !reply) continue;
    LaunchGeneration generation(*reply, launch.index);
    if (member == &Launch::cold_generated_text) generation.load = launch.CleanLoad();
    if (generation.IsComplete()) generations.push_back(generation);
  }
  return generations;
}

// Describes the texts whose threads did not wait before the first token, by the text with the median total.
std::optional<FirstToken> SummarizeFirstToken(const std::vector<LaunchGeneration>& generations,
                                              double confidence) {
  std::vector<FirstToken> first_tokens;
  LaunchValues totals;
  std::vector<double> total_ns;
  for (const LaunchGeneration& generation : generations) {
    if (!generation.load || !generation.IsClean(0, generation.prompt_steps)) continue;
    first_tokens.push_back(generation.MakeFirstToken());
    totals[generation.launch] = static_cast<double>(std::max<Nanoseconds>(1, first_tokens.back().total));
    total_ns.push_back(totals[generation.launch]);
  }
  if (first_tokens.empty()) return std::nullopt;
  std::ranges::sort(first_tokens, {}, &FirstToken::total);
  FirstToken median = first_tokens[(first_tokens.size() - 1) / 2];
  median.launches = static_cast<int>(first_tokens.size());
  median.totals = totals;
  if (const auto interval = EstimateMeanTime(total_ns, confidence)) {
    median.low = interval->low;
    median.high = interval->high;
  }
  return median;
}

void AddGeneratedText(const Report& report, const ExperimentData& data, GenerationVariant& variant) {
  const std::vector<LaunchGeneration> generations = CollectGenerations(data);
  if (generations.empty()) return;
  const double confidence = report.run.schedule.confidence;
  GeneratedText text;
  text.prompt = std::ssize(generations.front().reply->prompt);
  text.tokens = generations.front().reply->generated;
  std::vector<double> steps, excesses;
  for (const LaunchGeneration& generation : generations) {
    ++text.launches;
    text.same_in_all_launches = text.same_in_all_launches && generation.reply->generated == text.tokens;
    text.nan_steps = std::max(text.nan_steps, generation.reply->nan_steps.value_or(0));
    if (!generation.IsClean(generation.prompt_steps, generation.reply->tokens.size())) {
      ++text.disturbed;
      continue;
    }
    const std::vector<double> step_times = generation.DecodeStepTimes();
    steps.insert(steps.end(), step_times.begin(), step_times.end());
    if (!variant.line || !variant.line->fits || step_times.empty()) continue;
    const auto line = variant.line->launch_lines.find(generation.launch);
    if (line == variant.line->launch_lines.end()) continue;
    double expected = 0, measured = 0;
    for (std::size_t i = 0; i < step_times.size(); ++i) {
      expected +=
          line->second.At(static_cast<double>(generation.reply->positions[generation.prompt_steps + i]));
      measured += step_times[i];
    }
    if (expected > 0) excesses.push_back(measured / expected - 1);
  }
  variant.text = text;
  if (data.emulated) return;
  variant.text->step = stats::Summarize(steps);
  if (excesses.size() >= 2) variant.text->excess_over_line = stats::IntervalOfMean(excesses, confidence);
  variant.first_token = SummarizeFirstToken(generations, confidence);
  if (variant.first_token) variant.first_token->waited_share = data.WaitedShare();
  variant.cold_first_token =
      SummarizeFirstToken(CollectGenerations(data, &Launch::cold_generated_text), confidence);
}

// Names the part to which an operator's time is added.
using PartNameFunction = std::string (*)(const Profile& profile, std::size_t op);

constexpr const char* kNoLayer = "No layer";

std::string OperatorCategory(const Profile& profile, std::size_t op) {
  return std::string(profile.operators[op].category.name);
}

std::string OperatorKeyName(const Profile& profile, std::size_t op) {
  return KeyText(profile.operators[op].key);
}

// The outermost module with a number ("model.layers.3"), else the outermost module.
std::string OutermostLayer(const Profile& profile, std::size_t op) {
  if (!profile.program || !profile.program->operators[op].place) return kNoLayer;
  std::string outermost;
  for (const SourceModule& module : profile.program->places[*profile.program->operators[op].place].modules) {
    const std::string last = module.path.substr(module.path.find_last_of('.') + 1);
    if (!last.empty() && std::ranges::all_of(last, IsDigit)) return module.path;
    if (outermost.empty()) outermost = module.path;
  }
  return outermost.empty() ? kNoLayer : outermost;
}

using MeansByLaunch = std::map<int, std::map<std::string, double>>;

// Returns mean self times over the steady runs, by launch and by part. The common set would give too narrow
// intervals, since it lacks runs that are far from the others.
MeansByLaunch MeanSelfTimes(const Profile& profile, PartNameFunction part_name) {
  MeansByLaunch sums;
  std::map<int, double> runs;
  for (const std::size_t run : profile.SteadyOrCommonRuns()) {
    const ProfiledRun& profiled_run = profile.runs[run];
    ++runs[profiled_run.label.launch];
    sums[profiled_run.label.launch][kClipped] += static_cast<double>(profiled_run.clipped);
  }
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    const std::string part = part_name(profile, op);
    for (const std::size_t run : profile.SteadyOrCommonRuns()) {
      const Nanoseconds self = profile.Self(op)[run];
      if (self != Profile::kAbsent) sums[profile.runs[run].label.launch][part] += static_cast<double>(self);
    }
  }
  for (auto& [launch, row] : sums)
    for (auto& [part, sum] : row) sum /= runs[launch];
  return sums;
}

// Returns the sums over the methods of a step, for launches that traced all of them. Empty: a method was not
// traced, or only disturbed runs were.
MeansByLaunch MeanSelfTimes(const Report& report, const std::vector<std::size_t>& step,
                            PartNameFunction part_name) {
  MeansByLaunch sums;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const ReportExperiment& experiment = report.experiments[step[i]];
    if (!experiment.profile || experiment.TablesAreDisturbed()) return {};
    const MeansByLaunch method_means = MeanSelfTimes(*experiment.profile, part_name);
    for (const auto& [launch, row] : method_means) {
      if (i > 0 && !sums.contains(launch)) continue;
      for (const auto& [part, mean] : row) sums[launch][part] += mean;
    }
    std::erase_if(sums, [&](const auto& launch) { return !method_means.contains(launch.first); });
  }
  return sums;
}

// Estimates the least time (ns) to read the bytes of a step, at the bandwidth of the memory level that holds
// as many bytes. This run measured the bandwidth with the experiment's threads.
std::optional<double> EstimateReadTime(const Report& report, const ExperimentData& data) {
  if (data.place->read_bytes <= 0 || data.emulated || !report.run.peaks) return std::nullopt;
  const PeaksEntry* const peaks = FindPeaks(*report.run.peaks, data.label);
  const auto rate = peaks != nullptr ? BytesPerSecond(*peaks, "read", data.place->read_bytes) : std::nullopt;
  return rate && *rate > 0 ? std::optional(static_cast<double>(data.place->read_bytes) * 1e9 / *rate)
                           : std::nullopt;
}

// The experiments of each step, one per method.
using StepParts = std::vector<std::vector<std::size_t>>;

bool IsInAll(int launch, const auto& maps) {
  return std::ranges::all_of(maps, [&](const auto& map) { return map.contains(launch); });
}

// Adds the parts of the steps by `part_name`, with their lines. Returns the line of their sum, which is
// Method::execute.
std::optional<stats::LineEstimate> AddLineParts(const Report& report, const StepParts& steps,
                                                const std::vector<double>& positions,
                                                PartNameFunction part_name,
                                                std::vector<DecodeLine::Part>& parts) {
  const std::vector<MeansByLaunch> traced =
      MapEach(steps, [&](const auto& step) { return MeanSelfTimes(report, step, part_name); });
  std::map<std::string, std::vector<std::vector<double>>> rows;
  std::vector<std::vector<double>> totals;
  for (const auto& [launch, row] : traced.front()) {
    if (!IsInAll(launch, traced)) continue;
    totals.emplace_back(positions.size());
    for (std::size_t p = 0; p < traced.size(); ++p) {
      for (const auto& [part, mean] : traced[p].at(launch)) {
        rows[part].resize(totals.size(), std::vector<double>(positions.size()));
        rows[part].back()[p] = mean;
        totals.back()[p] += mean;
      }
    }
  }
  const double confidence = report.run.schedule.confidence;
  for (auto& [part, values] : rows) {
    values.resize(totals.size(), std::vector<double>(positions.size()));
    std::vector<double> means(positions.size());
    for (const std::vector<double>& launch : values)
      for (std::size_t p = 0; p < means.size(); ++p)
        means[p] += launch[p] / static_cast<double>(values.size());
    if (std::ranges::all_of(means, [](double mean) { return mean == 0; })) continue;
    parts.push_back({part, "", "", means, stats::EstimateLine(positions, values, confidence)});
  }
  std::ranges::stable_sort(parts, std::ranges::greater(),
                           [](const DecodeLine::Part& part) { return part.means.back(); });
  return totals.empty() ? std::nullopt : stats::EstimateLine(positions, totals, confidence);
}

// Sets the names of operators, whose parts have their keys as names.
void NameOperators(const Report& report, const StepParts& steps, std::vector<DecodeLine::Part>& parts) {
  std::map<std::string, const Operator*> operators;
  for (const std::vector<std::size_t>& step : steps)
    for (const std::size_t experiment : step)
      if (const std::optional<Profile>& profile = report.experiments[experiment].profile)
        for (const Operator& op : profile->operators) operators.emplace(KeyText(op.key), &op);
  for (DecodeLine::Part& part : parts) {
    const auto found = operators.find(part.name);
    if (found == operators.end()) continue;
    part.key = part.name;
    part.name = found->second->name;
    part.category = found->second->category.name;
  }
}

// `places`: the experiments of a variant's decoding steps, a separate one for each method of a step.
std::optional<DecodeLine> MakeDecodeLine(const Report& report, std::vector<std::size_t> places) {
  const auto sort_key = [&](std::size_t experiment) {
    const protocol::TestStep& place = *report.DataAt(experiment).place;
    return std::tie(place.position, place.method);
  };
  std::ranges::stable_sort(places, [&](std::size_t a, std::size_t b) { return sort_key(a) < sort_key(b); });
  const auto is_same = [&](std::size_t a, std::size_t b) { return sort_key(a) == sort_key(b); };
  places.erase(std::unique(places.begin(), places.end(), is_same), places.end());
  StepParts steps;
  for (const std::size_t place : places) {
    const std::int64_t position = report.DataAt(place).place->position;
    if (steps.empty() || report.DataAt(steps.back().front()).place->position != position)
      steps.emplace_back();
    steps.back().push_back(place);
  }
  if (steps.size() < 2) return std::nullopt;
  DecodeLine line;
  std::vector<double> positions;
  std::vector<LaunchValues> medians;
  bool emulated = false;
  for (const std::vector<std::size_t>& step : steps) {
    line.positions.push_back(report.DataAt(step.front()).place->position);
    positions.push_back(static_cast<double>(line.positions.back()));
    medians.push_back(LaunchTimes(report, step, false));
    line.memory_ns.emplace_back();
    for (const std::size_t part : step) {
      emulated = emulated || report.DataAt(part).emulated;
      if (const auto reads = EstimateReadTime(report, report.DataAt(part))) line.memory_ns.back() = reads;
    }
    line.ns.push_back(emulated ? std::nullopt : stats::Median(MapValues(medians.back())));
  }
  if (emulated) return line;
  std::vector<std::vector<double>> launches;
  for (const auto& first : medians.front()) {
    const int launch = first.first;
    if (!IsInAll(launch, medians)) continue;
    launches.push_back(MapEach(medians, [&](const LaunchValues& step) { return step.at(launch); }));
    line.launch_lines[launch] = stats::FitLine(positions, launches.back());
  }
  if (launches.size() >= 2)
    line.line = stats::EstimateLine(positions, launches, report.run.schedule.confidence);
  line.fits = line.line && line.line->misfit.value_or(0) <= DecodeLine::kMaxMisfit;

  line.traced = AddLineParts(report, steps, positions, OperatorCategory, line.parts);
  AddLineParts(report, steps, positions, OperatorKeyName, line.operators);
  NameOperators(report, steps, line.operators);
  AddLineParts(report, steps, positions, OutermostLayer, line.layers);
  if (line.layers.size() < 2) line.layers.clear();
  return line;
}

GenerationVariant& FindOrAddVariant(const ExperimentData& data, GenerationReport& generation) {
  for (GenerationVariant& variant : generation.variants)
    if (variant.name == data.place->variant && variant.threads == data.threads) return variant;
  GenerationVariant& variant = generation.variants.emplace_back();
  variant.name = data.place->variant;
  variant.threads = data.threads;
  variant.model = data.model.stem().string();
  variant.model_file = data.model.string();
  variant.isa = data.isa;
  variant.backends = data.backends;
  return variant;
}

void AddPart(std::size_t experiment, const ExperimentData& data, GenerationVariant& variant) {
  const protocol::TestStep& place = *data.place;
  auto test = std::ranges::find(variant.tests, place.test, &GenerationTest::name);
  if (test == variant.tests.end()) {
    test = variant.tests.insert(test, GenerationTest());
    test->name = place.test;
    test->depth = std::numeric_limits<std::int64_t>::max();
  }
  test->parts.push_back(experiment);
  if (place.test == place.method) test->depth = 0;  // an encoder has no depth
  if (!place.method.empty()) return;                // the step's tokens are already counted
  const std::int64_t tokens = place.tokens * place.times;
  const bool is_prompt = place.test.starts_with("pp");
  (is_prompt ? test->prompt : test->generated) += tokens;
  if (is_prompt) test->chunk = std::max(test->chunk, place.tokens);
  // `place.position` is the position of the middle step.
  const std::int64_t first = place.position - (place.times - 1) * place.tokens / 2;
  test->depth = std::min(test->depth, std::max<std::int64_t>(0, first));
}

// Steps with the same number of tokens run the same kernels, so the first watched step is enough.
void AddKernels(const Report& report, const ExperimentData& data, GenerationVariant& variant) {
  const std::int64_t tokens = data.place->tokens;
  const std::string& method = data.place->method;
  const bool is_listed = std::ranges::any_of(variant.kernels, [&](const StepKernel& kernel) {
    return kernel.tokens == tokens && kernel.method == method;
  });
  if (is_listed) return;
  std::map<std::pair<std::string, std::string>, std::int64_t> counts;
  for (const WatchedRow& row : FindWatchedRows(report.watched, data)) {
    const ObservedFunction* const kernel = row.Kernel();
    if (kernel == nullptr || !MultipliesMatrices(row.name)) continue;
    ++counts[{row.runs_kleidiai ? kernel->name : "", row.code}];
  }
  for (const auto& [kernel, count] : counts)
    variant.kernels.push_back({method, tokens, kernel.first, kernel.second, count});
  std::ranges::stable_sort(variant.kernels, std::ranges::greater(), &StepKernel::tokens);
}

void CompareVariants(const Report& report, std::size_t baseline, std::size_t candidate,
                     GenerationReport& generation) {
  GenerationPair pair;
  pair.baseline = baseline;
  pair.candidate = candidate;
  const GenerationVariant &a = generation.variants[baseline], &b = generation.variants[candidate];
  for (const GenerationTest& test : a.tests) {
    const auto other = std::ranges::find(b.tests, test.name, &GenerationTest::name);
    if (other != b.tests.end()) pair.rows.push_back({test.name, CompareTests(report, test, *other)});
  }
  if (a.first_token && b.first_token && a.first_token->prompt == b.first_token->prompt) {
    pair.first_token = {
        kFirstTokenTest,
        CompareLaunchValues(report, a.tests.front().parts.front(), b.tests.front().parts.front(),
                            a.first_token->totals, b.first_token->totals, a.first_token->waited_share,
                            b.first_token->waited_share)};
  }
  const auto is_valid = [](const std::optional<GeneratedText>& text) { return text && text->nan_steps == 0; };
  if (is_valid(a.text) && is_valid(b.text) && a.text->prompt == b.text->prompt) {
    pair.texts_compared = true;
    const std::size_t common = std::min(a.text->tokens.size(), b.text->tokens.size());
    for (std::size_t i = 0; i < common && !pair.first_difference; ++i)
      if (a.text->tokens[i] != b.text->tokens[i]) pair.first_difference = static_cast<std::int64_t>(i);
  }
  generation.pairs.push_back(std::move(pair));
}

}  // namespace

const GenerationPair* FindGenerationPair(const GenerationReport& generation, std::size_t baseline,
                                         std::size_t candidate) {
  const auto contains = [&](std::size_t variant, std::size_t experiment) {
    return std::ranges::any_of(generation.variants[variant].tests, [&](const GenerationTest& test) {
      return std::ranges::find(test.parts, experiment) != test.parts.end();
    });
  };
  for (const GenerationPair& pair : generation.pairs)
    if (contains(pair.baseline, baseline) && contains(pair.candidate, candidate)) return &pair;
  return nullptr;
}

std::optional<GenerationReport> MakeGenerationReport(const Report& report) {
  GenerationReport result;
  result.report = &report;
  std::map<std::size_t, std::size_t> variant_by_experiment;                   // keyed by experiment
  std::map<std::size_t, std::vector<std::size_t>> decode_steps, experiments;  // keyed by variant
  for (std::size_t e = 0; e < report.experiments.size(); ++e) {
    const ExperimentData& data = report.DataAt(e);
    if (!data.place || data.place->test.empty()) continue;
    GenerationVariant& variant = FindOrAddVariant(data, result);
    const auto index = static_cast<std::size_t>(&variant - result.variants.data());
    variant_by_experiment[e] = index;
    experiments[index].push_back(e);
    AddPart(e, data, variant);
    if (data.place->tokens == 1 && data.place->test.starts_with("tg")) decode_steps[index].push_back(e);
    if (data.place->cache_bytes > 0) variant.cache = data.place->cache_bytes;
    if (const auto rss = data.PeakRss()) variant.peak_rss = std::max(variant.peak_rss.value_or(0), *rss);
  }
  if (result.variants.empty()) return std::nullopt;
  for (std::size_t s = 0; s < result.variants.size(); ++s) {
    GenerationVariant& variant = result.variants[s];
    for (GenerationTest& test : variant.tests) FillTimes(report, test);
    variant.line = MakeDecodeLine(report, decode_steps[s]);
    for (const std::size_t e : experiments[s]) {
      AddGeneratedText(report, report.DataAt(e), variant);
      AddKernels(report, report.DataAt(e), variant);
    }
  }
  for (const ComparePair& compared : report.run.pairs) {
    const auto a = variant_by_experiment.find(compared.baseline),
               b = variant_by_experiment.find(compared.candidate);
    if (a == variant_by_experiment.end() || b == variant_by_experiment.end() || a->second == b->second)
      continue;
    const bool is_compared = std::ranges::any_of(result.pairs, [&](const GenerationPair& pair) {
      return pair.baseline == a->second && pair.candidate == b->second;
    });
    if (!is_compared) CompareVariants(report, a->second, b->second, result);
  }
  return result;
}

}  // namespace etprof
