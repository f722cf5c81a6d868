#include "report/generate/generate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <tuple>

#include "measure/schedule/clean_runs.h"
#include "measure/store/peaks.h"
#include "report/kernels/matrix_kernels.h"
#include "report/run/pair.h"
#include "stats/distribution.h"

namespace etprof {
namespace {

const ExperimentData& PlaceData(const Report& report, std::size_t experiment) {
  return report.run.experiments[report.experiments[experiment].index];
}

// By launch: the median latency of clean runs.
LaunchValues LaunchMedians(const ExperimentData& data) {
  LaunchValues medians;
  for (const Launch& launch : data.launches) {
    if (launch.status != Launch::Status::kComplete) continue;
    if (const auto median = launch.CleanLatency(); median && *median > 0) medians[launch.index] = *median;
  }
  return medians;
}

// By launch: parts together, of launches that have clean runs of each. `all` are all of their steps, else one
// step of each.
LaunchValues LaunchTimes(const Report& report, const std::vector<std::size_t>& parts, bool all) {
  LaunchValues times;
  bool first = true;
  for (const std::size_t part : parts) {
    const ExperimentData& data = PlaceData(report, part);
    const LaunchValues medians = LaunchMedians(data);
    const double steps = all ? static_cast<double>(data.place->times) : 1;
    for (const auto& [launch, median] : medians)
      if (first || times.contains(launch)) times[launch] += median * steps;
    std::erase_if(times, [&](const auto& time) { return !medians.contains(time.first); });
    first = false;
  }
  return times;
}

bool IsEmulated(const Report& report, const GenerateTest& test) {
  return std::ranges::any_of(test.parts, [&](std::size_t part) { return PlaceData(report, part).emulated; });
}

// Of times of launches: the geometric mean and its interval. Absent: too few.
std::optional<stats::MeanInterval> IntervalOfTimes(const std::vector<double>& times, double confidence) {
  std::vector<double> logs;
  for (const double time : times) logs.push_back(std::log(time));
  const auto estimate = stats::EstimateRatio(std::span<const double>(logs), confidence);
  if (!estimate) return std::nullopt;
  return stats::MeanInterval{std::exp(estimate->log_ratio), std::exp(estimate->log_low),
                             std::exp(estimate->log_high)};
}

void FillTimes(const Report& report, GenerateTest& test) {
  test.confidence = report.run.schedule.confidence;
  for (const auto& [launch, time] : LaunchTimes(report, test.parts, true)) test.samples.push_back(time);
  if (IsEmulated(report, test)) return;
  const auto interval = IntervalOfTimes(test.samples, report.run.schedule.Level());
  if (!interval) return;
  test.ns = interval->mean;
  test.low = interval->low;
  test.high = interval->high;
}

bool AreInterleaved(const ReportComparison* pair) {
  return pair != nullptr && pair->comparison.pairing == Pairing::kLaunches;
}

// Compares values of launches as latencies are compared, by those that are undisturbed. `a` and `b` are the
// experiments that they are from.
Quantity CompareClean(const Report& report, std::size_t a, std::size_t b, const LaunchValues& baseline,
                      const LaunchValues& candidate, double waited, double other_waited) {
  const bool paired = AreInterleaved(FindComparison(report, a, b));
  const CompareOptions options = MakeCompareOptions(report.run);
  Quantity quantity;
  std::size_t both = std::min(baseline.size(), candidate.size());
  if (paired) {
    both = static_cast<std::size_t>(
        std::ranges::count_if(baseline, [&](const auto& value) { return candidate.contains(value.first); }));
  }
  const std::size_t measured =
      std::min(PlaceData(report, a).launches.size(), PlaceData(report, b).launches.size());
  quantity.estimate =
      EstimateLaunches(baseline, candidate, paired, report.run.schedule.Level(), options.drift);
  if (!quantity.estimate || (paired && both < std::min<std::size_t>(measured, kMinCleanLaunches))) {
    quantity.estimate.reset();
    quantity.verdict = both < measured ? stats::Verdict::kContended : stats::Verdict::kInconclusive;
    return quantity;
  }
  quantity.estimate = WithWaitingError(*quantity.estimate, waited, other_waited, 1);
  quantity.baseline_ns = quantity.estimate->baseline();
  quantity.candidate_ns = quantity.estimate->candidate();
  quantity.verdict =
      stats::DecideVerdict(quantity.estimate->log_low, quantity.estimate->log_high, options.margin);
  return quantity;
}

// A part is a whole test: its pair is one of the run's comparisons. Several parts are compared by their sums.
Quantity Compared(const Report& report, const GenerateTest& baseline, const GenerateTest& candidate) {
  if (baseline.parts.size() == 1 && candidate.parts.size() == 1) {
    const ReportComparison* const pair = FindComparison(report, baseline.parts[0], candidate.parts[0]);
    const std::int64_t steps = PlaceData(report, baseline.parts[0]).place->times;
    if (pair != nullptr && PlaceData(report, candidate.parts[0]).place->times == steps) {
      const auto times = static_cast<double>(steps);
      Quantity quantity = pair->comparison.latency;
      for (std::optional<double>* ns : {&quantity.baseline_ns, &quantity.candidate_ns})
        if (*ns) **ns *= times;
      if (quantity.estimate && quantity.estimate->log_middle)
        *quantity.estimate->log_middle += std::log(times);
      return quantity;
    }
  }
  if (IsEmulated(report, baseline) || IsEmulated(report, candidate)) {
    Quantity quantity;
    quantity.verdict = stats::Verdict::kEmulated;
    return quantity;
  }
  const auto waited = [&](const GenerateTest& test) {
    double share = 0;
    for (const std::size_t part : test.parts) share = std::max(share, PlaceData(report, part).WaitedShare());
    return share;
  };
  return CompareClean(report, baseline.parts[0], candidate.parts[0],
                      LaunchTimes(report, baseline.parts, true), LaunchTimes(report, candidate.parts, true),
                      waited(baseline), waited(candidate));
}

std::int64_t SumOf(const std::vector<std::int64_t>& values, std::size_t from, std::size_t to) {
  std::int64_t sum = 0;
  for (std::size_t i = from; i < std::min(to, values.size()); ++i) sum += values[i];
  return sum;
}

// A walk, and how many of its steps are the prompt's.
struct Walked {
  const protocol::WalkReply* walk = nullptr;
  int launch = 0;
  std::size_t prompt_steps = 0;
  std::optional<Nanoseconds> load = 0;  // before it; absent: it was not undisturbed

  Walked(const protocol::WalkReply& of, int of_launch) : walk(&of), launch(of_launch) {
    std::int64_t tokens = 0;
    while (prompt_steps < of.tokens.size() && tokens < std::ssize(of.prompt) + of.features.value_or(0))
      tokens += of.tokens[prompt_steps++];
  }
  // Whether the rows have what they are said to have: a file may hold anything.
  bool IsWhole() const {
    const std::size_t steps = walk->tokens.size();
    return !walk->prompt.empty() && !walk->generated.empty() && prompt_steps > 0 &&
           steps == prompt_steps + walk->generated.size() - 1 && walk->at.size() == steps &&
           walk->inputs_ns.size() == steps && walk->execute_ns.size() == steps &&
           walk->argmax_ns.size() == steps && walk->between_ns.size() == steps &&
           walk->wait_ns.size() == steps;
  }
  // The token is there before what is between this step and the next.
  FirstToken First() const {
    FirstToken first;
    first.prompt = std::ssize(walk->prompt);
    first.steps = static_cast<std::int64_t>(prompt_steps);
    first.features = walk->features.value_or(0);
    first.encode = walk->encode_ns.value_or(0);
    first.prefill = SumOf(walk->execute_ns, 0, prompt_steps);
    first.inputs = SumOf(walk->inputs_ns, 0, prompt_steps);
    first.argmax = SumOf(walk->argmax_ns, 0, prompt_steps);
    first.between = SumOf(walk->between_ns, 0, prompt_steps - 1);
    first.load = load.value_or(0);
    first.total = first.load + first.encode + first.prefill + first.inputs + first.argmax + first.between;
    return first;
  }
  std::vector<double> Steps() const {
    std::vector<double> steps;
    for (std::size_t i = prompt_steps; i < walk->tokens.size(); ++i)
      steps.push_back(static_cast<double>(walk->execute_ns[i]));
    return steps;
  }
  bool IsClean(std::size_t from, std::size_t to) const {
    const std::int64_t time =
        SumOf(walk->execute_ns, from, to) + (from == 0 ? walk->encode_ns.value_or(0) : 0);
    std::int64_t waited = 0;
    for (std::size_t i = from; i < to; ++i) waited += std::max<std::int64_t>(0, walk->wait_ns[i]);
    return IsCleanRun(time, waited);
  }
};

std::vector<Walked> WalksOf(const ExperimentData& data,
                            std::optional<protocol::WalkReply> Launch::*which = &Launch::walk) {
  std::vector<Walked> walks;
  for (const Launch& launch : data.launches) {
    const std::optional<protocol::WalkReply>& walk = launch.*which;
    if (launch.status != Launch::Status::kComplete || !walk) continue;
    Walked walked(*walk, launch.index);
    if (which == &Launch::cold_walk) walked.load = launch.CleanLoad();
    if (walked.IsWhole()) walks.push_back(walked);
  }
  return walks;
}

// Of the walks whose threads did not wait before the first token.
std::optional<FirstToken> FirstTokenOf(const std::vector<Walked>& walks, double confidence) {
  std::vector<FirstToken> firsts;
  LaunchValues totals;
  std::vector<double> all;
  for (const Walked& walked : walks) {
    if (!walked.load || !walked.IsClean(0, walked.prompt_steps)) continue;
    firsts.push_back(walked.First());
    totals[walked.launch] = static_cast<double>(std::max<Nanoseconds>(1, firsts.back().total));
    all.push_back(totals[walked.launch]);
  }
  if (firsts.empty()) return std::nullopt;
  std::ranges::sort(firsts, {}, &FirstToken::total);
  FirstToken first = firsts[(firsts.size() - 1) / 2];
  first.launches = static_cast<int>(firsts.size());
  first.totals = totals;
  if (const auto interval = IntervalOfTimes(all, confidence)) {
    first.low = interval->low;
    first.high = interval->high;
  }
  return first;
}

void AddWalks(const Report& report, const ExperimentData& data, GenerateSide& side) {
  const std::vector<Walked> walks = WalksOf(data);
  if (walks.empty()) return;
  const double confidence = report.run.schedule.confidence;
  GeneratedText text;
  text.prompt = std::ssize(walks.front().walk->prompt);
  text.tokens = walks.front().walk->generated;
  std::vector<double> steps, over;
  for (const Walked& walked : walks) {
    ++text.launches;
    text.same = text.same && walked.walk->generated == text.tokens;
    if (!walked.IsClean(walked.prompt_steps, walked.walk->tokens.size())) {
      ++text.disturbed;
      continue;
    }
    const std::vector<double> of_walk = walked.Steps();
    steps.insert(steps.end(), of_walk.begin(), of_walk.end());
    if (!side.line || !side.line->fits || of_walk.empty()) continue;
    const auto line = side.line->launches.find(walked.launch);
    if (line == side.line->launches.end()) continue;
    double expected = 0, took = 0;
    for (std::size_t i = 0; i < of_walk.size(); ++i) {
      expected += line->second.At(static_cast<double>(walked.walk->at[walked.prompt_steps + i]));
      took += of_walk[i];
    }
    if (expected > 0) over.push_back(took / expected - 1);
  }
  side.text = text;
  if (data.emulated) return;
  side.text->step = stats::Describe(steps);
  if (over.size() >= 2) side.text->over_line = stats::IntervalOfMean(over, confidence);
  side.first_token = FirstTokenOf(walks, confidence);
  if (side.first_token) side.first_token->waited_share = data.WaitedShare();
  side.cold_first_token = FirstTokenOf(WalksOf(data, &Launch::cold_walk), confidence);
}

// What the operators of a profile are summed by.
using PartName = std::string (*)(const Profile& profile, std::size_t op);

constexpr const char* kNoLayer = "No layer";

std::string OperatorCategory(const Profile& profile, std::size_t op) {
  return std::string(profile.operators[op].category.name);
}

std::string OperatorKeyName(const Profile& profile, std::size_t op) {
  return KeyText(profile.operators[op].key);
}

// The outermost module with a number ("model.layers.3"), else the outermost one.
std::string OutermostLayer(const Profile& profile, std::size_t op) {
  if (!profile.program || !profile.program->operators[op].place) return kNoLayer;
  std::string outermost;
  for (const SourceModule& module : profile.program->places[*profile.program->operators[op].place].modules) {
    const std::string last = module.path.substr(module.path.find_last_of('.') + 1);
    if (!last.empty() && std::ranges::all_of(last, [](char c) { return c >= '0' && c <= '9'; }))
      return module.path;
    if (outermost.empty()) outermost = module.path;
  }
  return outermost.empty() ? kNoLayer : outermost;
}

using MeansByLaunch = std::map<int, std::map<std::string, double>>;

// By launch, and by `name`: the mean self time in its steady runs. The common set lacks runs that are far
// from the others, without which intervals would be too narrow.
MeansByLaunch MeanSelfTimes(const Profile& profile, PartName name) {
  MeansByLaunch sums;
  std::map<int, double> runs;
  for (const std::size_t run : profile.DescribedRuns()) {
    const ProfiledRun& of = profile.runs[run];
    ++runs[of.label.launch];
    sums[of.label.launch]["Clipped"] += static_cast<double>(of.clipped);
  }
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    const std::string of_op = name(profile, op);
    for (const std::size_t run : profile.DescribedRuns()) {
      const Nanoseconds self = profile.Self(op)[run];
      if (self != Profile::kAbsent) sums[profile.runs[run].label.launch][of_op] += static_cast<double>(self);
    }
  }
  for (auto& [launch, row] : sums)
    for (auto& [of_row, sum] : row) sum /= runs[launch];
  return sums;
}

// The same of the methods of a step together, of launches that traced each. Empty: one is not traced, or only
// disturbed.
MeansByLaunch MeanSelfTimes(const Report& report, const std::vector<std::size_t>& step, PartName name) {
  MeansByLaunch all;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const ReportExperiment& experiment = report.experiments[step[i]];
    if (!experiment.profile || experiment.TablesAreDisturbed()) return {};
    const MeansByLaunch of_method = MeanSelfTimes(*experiment.profile, name);
    for (const auto& [launch, row] : of_method) {
      if (i > 0 && !all.contains(launch)) continue;
      for (const auto& [of_row, mean] : row) all[launch][of_row] += mean;
    }
    std::erase_if(all, [&](const auto& launch) { return !of_method.contains(launch.first); });
  }
  return all;
}

// What the bytes that a step reads at least take at the bandwidth of the memory that holds as many. The
// bandwidth is that of this run, with the experiment's threads.
std::optional<double> TimeOfReads(const Report& report, const ExperimentData& data) {
  if (data.place->read_bytes <= 0 || data.emulated || !report.run.peaks) return std::nullopt;
  const PeaksEntry* const peaks = FindPeaks(*report.run.peaks, data.label);
  const auto rate = peaks != nullptr ? BytesPerSecond(*peaks, "read", data.place->read_bytes) : std::nullopt;
  return rate && *rate > 0 ? std::optional(static_cast<double>(data.place->read_bytes) * 1e9 / *rate)
                           : std::nullopt;
}

// Steps, each the experiments of its methods.
using StepParts = std::vector<std::vector<std::size_t>>;

// Whether each of the maps has the launch.
bool IsInAll(int launch, const auto& maps) {
  return std::ranges::all_of(maps, [&](const auto& map) { return map.contains(launch); });
}

// The parts by `name`, launch by launch, at each position; all of them together are Method::execute, whose
// line is returned. `at` are the positions of the steps.
std::optional<stats::LineEstimate> AddLineParts(const Report& report, const StepParts& steps,
                                                const std::vector<double>& at, PartName name,
                                                std::vector<DecodeLine::Part>& parts) {
  std::vector<MeansByLaunch> traced;
  for (const std::vector<std::size_t>& step : steps) traced.push_back(MeanSelfTimes(report, step, name));
  std::map<std::string, std::vector<std::vector<double>>> rows;
  std::vector<std::vector<double>> totals;
  for (const auto& [launch, row] : traced.front()) {
    if (!IsInAll(launch, traced)) continue;
    totals.emplace_back(at.size());
    for (std::size_t p = 0; p < traced.size(); ++p) {
      for (const auto& [of_row, mean] : traced[p].at(launch)) {
        rows[of_row].resize(totals.size(), std::vector<double>(at.size()));
        rows[of_row].back()[p] = mean;
        totals.back()[p] += mean;
      }
    }
  }
  const double confidence = report.run.schedule.confidence;
  for (auto& [of_row, values] : rows) {
    values.resize(totals.size(), std::vector<double>(at.size()));
    std::vector<double> means(at.size());
    for (const std::vector<double>& launch : values)
      for (std::size_t p = 0; p < means.size(); ++p)
        means[p] += launch[p] / static_cast<double>(values.size());
    if (std::ranges::all_of(means, [](double mean) { return mean == 0; })) continue;
    parts.push_back({of_row, "", "", means, stats::EstimateLine(at, values, confidence)});
  }
  std::ranges::stable_sort(parts, std::ranges::greater(),
                           [](const DecodeLine::Part& part) { return part.means.back(); });
  return totals.empty() ? std::nullopt : stats::EstimateLine(at, totals, confidence);
}

// Names operators, whose parts are named by their keys.
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

// The decoding steps of a variant, a place for each method of each.
std::optional<DecodeLine> LineOf(const Report& report, std::vector<std::size_t> places) {
  const auto place_of = [&](std::size_t experiment) {
    const protocol::TestStep& place = *PlaceData(report, experiment).place;
    return std::tie(place.at, place.method);
  };
  std::ranges::stable_sort(places, [&](std::size_t a, std::size_t b) { return place_of(a) < place_of(b); });
  const auto is_same = [&](std::size_t a, std::size_t b) { return place_of(a) == place_of(b); };
  places.erase(std::unique(places.begin(), places.end(), is_same), places.end());
  StepParts steps;
  for (const std::size_t place : places) {
    const std::int64_t position = PlaceData(report, place).place->at;
    if (steps.empty() || PlaceData(report, steps.back().front()).place->at != position) steps.emplace_back();
    steps.back().push_back(place);
  }
  if (steps.size() < 2) return std::nullopt;
  DecodeLine line;
  std::vector<double> at;
  std::vector<LaunchValues> medians;
  bool emulated = false;
  for (const std::vector<std::size_t>& step : steps) {
    line.positions.push_back(PlaceData(report, step.front()).place->at);
    at.push_back(static_cast<double>(line.positions.back()));
    medians.push_back(LaunchTimes(report, step, false));
    line.memory_ns.emplace_back();
    for (const std::size_t part : step) {
      emulated = emulated || PlaceData(report, part).emulated;
      if (const auto reads = TimeOfReads(report, PlaceData(report, part))) line.memory_ns.back() = reads;
    }
    std::vector<double> all;
    for (const auto& [launch, median] : medians.back()) all.push_back(median);
    line.ns.push_back(all.empty() || emulated ? std::nullopt : stats::Median(all));
  }
  if (emulated) return line;
  std::vector<std::vector<double>> launches;
  for (const auto& [launch, median] : medians.front()) {
    if (!IsInAll(launch, medians)) continue;
    std::vector<double>& ys = launches.emplace_back();
    for (const LaunchValues& step : medians) ys.push_back(step.at(launch));
    line.launches[launch] = stats::FitLine(at, ys);
  }
  if (launches.size() >= 2) line.line = stats::EstimateLine(at, launches, report.run.schedule.confidence);
  line.fits = line.line && line.line->misfit.value_or(0) <= DecodeLine::kMaxMisfit;

  line.traced = AddLineParts(report, steps, at, OperatorCategory, line.parts);
  AddLineParts(report, steps, at, OperatorKeyName, line.operators);
  NameOperators(report, steps, line.operators);
  AddLineParts(report, steps, at, OutermostLayer, line.layers);
  if (line.layers.size() < 2) line.layers.clear();
  return line;
}

// The side that an experiment belongs to.
GenerateSide& GenerateSideOf(const ReportExperiment& experiment, const ExperimentData& data,
                             GenerateReport& of) {
  for (GenerateSide& side : of.sides)
    if (side.variant == data.place->variant && side.threads == data.threads) return side;
  GenerateSide& side = of.sides.emplace_back();
  side.variant = data.place->variant;
  side.threads = experiment.threads;
  side.model = data.model.stem().string();
  side.model_file = data.model.string();
  side.isa = data.isa;
  side.backends = data.backends;
  return side;
}

void AddPart(std::size_t experiment, const ExperimentData& data, GenerateSide& side) {
  const protocol::TestStep& place = *data.place;
  auto test = std::ranges::find(side.tests, place.test, &GenerateTest::name);
  if (test == side.tests.end()) {
    test = side.tests.insert(test, GenerateTest());
    test->name = place.test;
    test->depth = std::numeric_limits<std::int64_t>::max();
  }
  test->parts.push_back(experiment);
  if (place.test == place.method) test->depth = 0;  // an encoder
  if (!place.method.empty()) return;                // the tokens are those of the step
  const std::int64_t tokens = place.tokens * place.times;
  const bool prompt = place.test.starts_with("pp");
  (prompt ? test->prompt : test->generated) += tokens;
  if (prompt) test->chunk = std::max(test->chunk, place.tokens);
  // The steps of a part stand around its place.
  const std::int64_t first = place.at - (place.times - 1) * place.tokens / 2;
  test->depth = std::min(test->depth, std::max<std::int64_t>(0, first));
}

// Steps of as many tokens run the same kernels: the first that was watched tells.
void AddKernels(const Report& report, const ExperimentData& data, GenerateSide& side) {
  const std::int64_t tokens = data.place->tokens;
  const std::string& method = data.place->method;
  const bool known = std::ranges::any_of(side.kernels, [&](const StepKernel& kernel) {
    return kernel.tokens == tokens && kernel.method == method;
  });
  if (known) return;
  std::map<std::pair<std::string, std::string>, std::int64_t> counts;
  for (const WatchedRow& row : FindWatchedRows(report.watched, data)) {
    const ProvenFunction* const kernel = row.Kernel();
    if (kernel == nullptr || !MultipliesMatrices(row.name)) continue;
    ++counts[{row.kleidiai ? kernel->name : "", row.code}];
  }
  for (const auto& [kernel, count] : counts)
    side.kernels.push_back({method, tokens, kernel.first, kernel.second, count});
  std::ranges::stable_sort(side.kernels, std::ranges::greater(), &StepKernel::tokens);
}

void CompareSides(const Report& report, std::size_t baseline, std::size_t candidate, GenerateReport& of) {
  GeneratePair pair;
  pair.baseline = baseline;
  pair.candidate = candidate;
  const GenerateSide &a = of.sides[baseline], &b = of.sides[candidate];
  for (const GenerateTest& test : a.tests) {
    const auto other = std::ranges::find(b.tests, test.name, &GenerateTest::name);
    if (other != b.tests.end()) pair.rows.push_back({test.name, Compared(report, test, *other)});
  }
  if (a.first_token && b.first_token && a.first_token->prompt == b.first_token->prompt) {
    pair.first_token = {kFirstTokenTest,
                        CompareClean(report, a.tests.front().parts.front(), b.tests.front().parts.front(),
                                     a.first_token->totals, b.first_token->totals,
                                     a.first_token->waited_share, b.first_token->waited_share)};
  }
  if (a.text && b.text && a.text->prompt == b.text->prompt) {
    pair.texts_compared = true;
    const std::size_t common = std::min(a.text->tokens.size(), b.text->tokens.size());
    for (std::size_t i = 0; i < common && !pair.first_difference; ++i)
      if (a.text->tokens[i] != b.text->tokens[i]) pair.first_difference = static_cast<std::int64_t>(i);
  }
  of.pairs.push_back(std::move(pair));
}

}  // namespace

const GeneratePair* FindGeneratePair(const GenerateReport& of, std::size_t baseline, std::size_t candidate) {
  const auto has = [&](std::size_t side, std::size_t experiment) {
    return std::ranges::any_of(of.sides[side].tests, [&](const GenerateTest& test) {
      return std::ranges::find(test.parts, experiment) != test.parts.end();
    });
  };
  for (const GeneratePair& pair : of.pairs)
    if (has(pair.baseline, baseline) && has(pair.candidate, candidate)) return &pair;
  return nullptr;
}

std::optional<GenerateReport> MakeGenerateReport(const Report& report) {
  GenerateReport of;
  of.report = &report;
  std::map<std::size_t, std::size_t> side_of;                     // by experiment
  std::map<std::size_t, std::vector<std::size_t>> decoding, all;  // by side
  for (std::size_t e = 0; e < report.experiments.size(); ++e) {
    const ExperimentData& data = PlaceData(report, e);
    if (!data.place || data.place->test.empty()) continue;
    GenerateSide& side = GenerateSideOf(report.experiments[e], data, of);
    const auto index = static_cast<std::size_t>(&side - of.sides.data());
    side_of[e] = index;
    all[index].push_back(e);
    AddPart(e, data, side);
    if (data.place->tokens == 1 && data.place->test.starts_with("tg")) decoding[index].push_back(e);
    if (data.place->cache_bytes > 0) side.cache = data.place->cache_bytes;
    if (const auto rss = data.PeakRss()) side.peak_rss = std::max(side.peak_rss.value_or(0), *rss);
  }
  if (of.sides.empty()) return std::nullopt;
  for (std::size_t s = 0; s < of.sides.size(); ++s) {
    GenerateSide& side = of.sides[s];
    for (GenerateTest& test : side.tests) FillTimes(report, test);
    side.line = LineOf(report, decoding[s]);
    for (const std::size_t e : all[s]) {
      AddWalks(report, PlaceData(report, e), side);
      AddKernels(report, PlaceData(report, e), side);
    }
  }
  for (const ComparePair& compared : report.run.pairs) {
    const auto a = side_of.find(compared.baseline), b = side_of.find(compared.candidate);
    if (a == side_of.end() || b == side_of.end() || a->second == b->second) continue;
    const bool known = std::ranges::any_of(of.pairs, [&](const GeneratePair& pair) {
      return pair.baseline == a->second && pair.candidate == b->second;
    });
    if (!known) CompareSides(report, a->second, b->second, of);
  }
  return of;
}

}  // namespace etprof
