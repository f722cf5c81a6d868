#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "core/error.h"
#include "format/etdump/reader.h"
#include "format/etdump/testing.h"
#include "profile/analysis/operators.h"
#include "profile/analysis/profile.h"
#include "profile/analysis/span_tree.h"

namespace etprof {
namespace {

using ::etprof::handmade::TraceBuilder;
const std::string kData = ETPROF_TEST_DATA;

// Invariants of all profiles: the rows add up in each run and table, and no self time is negative.
void ExpectAddsUp(const Profile& profile) {
  for (std::size_t run = 0; run < profile.runs.size(); ++run) {
    Nanoseconds sum = profile.runs[run].clipped;
    for (std::size_t op = 0; op < profile.operators.size(); ++op) {
      const Nanoseconds self = profile.Self(op)[run];
      EXPECT_TRUE(self >= 0 || self == Profile::kAbsent);
      if (self != Profile::kAbsent) sum += self;
    }
    EXPECT_EQ(sum, profile.runs[run].total) << "run " << run;
  }
  for (const Breakdown& breakdown : {ByGroup(profile), ByCategory(profile), ByDelegation(profile)}) {
    Nanoseconds sum = 0;
    for (const AdditiveRow& row : breakdown.rows) sum += row.total;
    EXPECT_EQ(sum, breakdown.total);
    EXPECT_EQ(breakdown.runs, static_cast<std::int64_t>(profile.CommonSet().size()));
  }
}

const Operator& FindOperator(const Profile& profile, const std::string& name, SpanKind kind) {
  for (const Operator& op : profile.operators) {
    if (op.name == name && op.key.kind == kind) return op;
  }
  throw std::runtime_error("no operator " + name);
}

Nanoseconds FindSelfTime(const Profile& profile, const std::string& name, std::size_t run = 0) {
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    if (profile.operators[op].name == name) return profile.Self(op)[run];
  }
  return -2;
}

// Adds a run of a delegate call with two operators and a portable kernel.
TraceBuilder& AddRun(TraceBuilder& builder, Nanoseconds at) {
  return builder.Block("Execute")
      .Backend(0, "Convolution (NHWC, F32) IGEMM #1", at + 10, at + 40)
      .Backend(0, "Add (ND) #1", at + 40, at + 50)
      .Framework(0, "DELEGATE_CALL", at + 5, at + 60)
      .Framework(1, "native_call_mean.out", at + 62, at + 70)
      .Framework(1, "OPERATOR_CALL", at + 61, at + 72)
      .Framework(-1, "Method::execute", at, at + 80);
}

TEST(Attribute, SelfTimeExcludesChildren) {
  TraceBuilder builder;
  AddRun(builder, 1000);
  const Profile profile = Attribute(builder.Take(), {});
  ASSERT_EQ(profile.runs.size(), 1U);
  EXPECT_EQ(FindSelfTime(profile, "Convolution (NHWC, F32) IGEMM #1"), 30);
  EXPECT_EQ(FindSelfTime(profile, "Add (ND) #1"), 10);
  EXPECT_EQ(FindSelfTime(profile, "DELEGATE_CALL"), 55 - 40);
  EXPECT_EQ(FindSelfTime(profile, "native_call_mean.out"), 8);
  EXPECT_EQ(FindSelfTime(profile, "OPERATOR_CALL"), 11 - 8);
  EXPECT_EQ(FindSelfTime(profile, "Method::execute"), 80 - 55 - 11);
  ExpectAddsUp(profile);
  EXPECT_TRUE(FindOperator(profile, "native_call_mean.out", SpanKind::kKernel).portable);
  EXPECT_EQ(FindOperator(profile, "native_call_mean.out", SpanKind::kKernel).type, "mean.out");
  EXPECT_EQ(FindOperator(profile, "Add (ND) #1", SpanKind::kBackend).backend, "XnnpackBackend");
  EXPECT_EQ(FindOperator(profile, "Add (ND) #1", SpanKind::kBackend).type, "Add (ND)");
}

// ExecuTorch's registration of custom kernels logs "ns::op.overload", and a kernel may log additional steps.
TEST(Attribute, FindsKernelsInOperatorCallsByPosition) {
  TraceBuilder builder;
  builder.Block("Execute")
      .Framework(0, "scout::slow.out", 2, 92)
      .Framework(0, "OPERATOR_CALL", 1, 93)
      .Framework(1, "inner step", 95, 97)
      .Framework(1, "native_call_add.out", 94, 98)
      .Framework(1, "OPERATOR_CALL", 94, 98)
      .Framework(2, "MOVE_CALL", 98, 99)
      .Framework(3, "host scope of a backend", 99, 100)
      .Framework(3, "DELEGATE_CALL", 99, 101)
      .Framework(-1, "between", 101, 102)
      .Framework(-1, "Method::execute", 0, 110);
  const Profile profile = Attribute(builder.Take(), {});
  EXPECT_EQ(FindSelfTime(profile, "scout::slow.out"), 90);
  EXPECT_EQ(FindOperator(profile, "scout::slow.out", SpanKind::kKernel).type, "scout::slow.out");
  EXPECT_EQ(FindSelfTime(profile, "inner step"), 2);
  EXPECT_EQ(FindOperator(profile, "inner step", SpanKind::kKernel).category.name, "OTHER");
  for (const char* other : {"MOVE_CALL", "host scope of a backend", "between"}) {
    EXPECT_EQ(FindOperator(profile, other, SpanKind::kOther).category.group,
              OperatorGroup::kFrameworkOverhead)
        << other;
  }
  ExpectAddsUp(profile);
}

TEST(Attribute, ACallWithoutEventsIsAnUnloggedKernel) {
  TraceBuilder builder;
  builder.Block("Execute")
      .Framework(0, "OPERATOR_CALL", 1, 8)
      .Framework(1, "native_call_add.out", 8, 9)
      .Framework(1, "OPERATOR_CALL", 8, 10)
      .Framework(-1, "Method::execute", 0, 10);
  const Profile profile = Attribute(builder.Take(), {});
  const Operator& unlogged = FindOperator(profile, std::string(kUnloggedKernel), SpanKind::kOperatorCall);
  EXPECT_TRUE(IsUnloggedKernel(unlogged) && IsOperator(unlogged) && unlogged.portable);
  EXPECT_EQ(FindSelfTime(profile, std::string(kUnloggedKernel)), 7);
  EXPECT_FALSE(IsOperator(FindOperator(profile, "OPERATOR_CALL", SpanKind::kOperatorCall)));
  EXPECT_EQ(FindSelfTime(profile, "OPERATOR_CALL"), 1);
  ExpectAddsUp(profile);
}

TEST(Attribute, DistinguishesDelegatesWithTheSameNames) {
  TraceBuilder builder;
  builder.Block("Execute")
      .Backend(0, "Fully Connected (NC, F32) GEMM #1", 1, 3)
      .Framework(0, "DELEGATE_CALL", 1, 3)
      .Backend(2, "Fully Connected (NC, F32) GEMM #1", 4, 9)
      .Framework(2, "DELEGATE_CALL", 4, 9)
      .Framework(-1, "Method::execute", 0, 10);
  const Profile profile = Attribute(builder.Take(), {});
  std::set<std::string> keys;
  for (const Operator& op : profile.operators) keys.insert(KeyText(op.key));
  EXPECT_EQ(keys.size(), 5U);
  EXPECT_EQ(keys.count("forward/0/backend/0"), 1U);
  EXPECT_EQ(keys.count("forward/2/backend/0"), 1U);
}

TEST(Attribute, NumbersRepeatedInstructions) {
  TraceBuilder builder;
  builder.Block("Execute");
  for (int i = 0; i < 2; ++i) {
    builder.Framework(3, "native_call_add.out", 10 * i + 1, 10 * i + 5)
        .Framework(3, "OPERATOR_CALL", 10 * i, 10 * i + 6);
  }
  builder.Framework(-1, "Method::execute", 0, 20);
  const Profile profile = Attribute(builder.Take(), {});
  ASSERT_EQ(profile.operators.size(), 5U);
  EXPECT_EQ(KeyText(profile.operators[0].key), "forward/3/kernel/0");
  EXPECT_EQ(KeyText(profile.operators[2].key), "forward/3/kernel/0/again1");
}

TEST(Attribute, EventsOutsideOfCallsAreSeparateOperators) {
  TraceBuilder builder;
  builder.Block("Execute")
      .Backend(0, "Add (ND) #1", 10, 20)
      .Framework(0, "DELEGATE_CALL", 5, 25)
      .Backend(0, "Add (ND) #1", 30, 40)
      .Framework(-1, "Method::execute", 0, 50);
  const Profile profile = Attribute(builder.Take(), {});
  EXPECT_EQ(profile.operators.size(), 4U);
  ExpectAddsUp(profile);
}

TEST(Attribute, RefusesRunsWithNothingInCommon) {
  TraceBuilder builder;
  for (int run = 0; run < 5000; ++run) {
    builder.Block("Execute");
    for (int i = 0; i < 10; ++i)
      builder.Backend(run, "op" + std::to_string(run), 100 * run + 2 * i, 100 * run + 2 * i + 1);
    builder.Framework(run, "DELEGATE_CALL", 100 * run, 100 * run + 50);
    builder.Framework(-1, "Method::execute", 100 * run, 100 * run + 50);
  }
  const Trace trace = builder.Take();
  EXPECT_THROW(Attribute(trace, {}), Error);
}

TEST(Attribute, AssignsTheSameRowInEveryRun) {
  TraceBuilder builder;
  for (int run = 0; run < 6; ++run) AddRun(builder, 1000 * run);
  const Profile profile = Attribute(builder.Take(), {});
  EXPECT_EQ(profile.operators.size(), 6U);
  EXPECT_EQ(profile.runs.size(), 6U);
  EXPECT_EQ(profile.Self(0).size(), 6U);
  for (const Nanoseconds self : profile.Self(0)) EXPECT_EQ(self, 30);
  ExpectAddsUp(profile);
}

TEST(Attribute, MarksAbsentOperatorsOfOtherPaths) {
  TraceBuilder builder;
  AddRun(builder, 0);
  builder.Block("Execute")
      .Framework(7, "native_call_neg.out", 101, 103)
      .Framework(7, "OPERATOR_CALL", 100, 104)
      .Framework(-1, "Method::execute", 99, 110);
  AddRun(builder, 1000);
  const Profile profile = Attribute(builder.Take(), {});
  EXPECT_EQ(profile.operators.size(), 8U);
  EXPECT_EQ(FindSelfTime(profile, "native_call_neg.out", 0), Profile::kAbsent);
  EXPECT_EQ(FindSelfTime(profile, "native_call_neg.out", 1), 2);
  EXPECT_EQ(FindSelfTime(profile, "Add (ND) #1", 1), Profile::kAbsent);
  EXPECT_EQ(FindSelfTime(profile, "Add (ND) #1", 2), 10);
  ExpectAddsUp(profile);
}

TEST(Attribute, ClipsIrregularSpans) {
  TraceBuilder builder;
  builder.Block("Execute")
      .Backend(0, "A (ND) #1", 10, 40)
      .Backend(0, "B (ND) #1", 30, 50)  // overlaps A by 10
      .Backend(0, "C (ND) #1", 55, 90)  // sticks out of the call by 20
      .Backend(0, "D (ND) #1", 65, 60)  // runs backwards
      .Framework(0, "DELEGATE_CALL", 5, 70)
      .Framework(-1, "Method::execute", 0, 80);
  const Profile profile = Attribute(builder.Take(), {});
  EXPECT_EQ(FindSelfTime(profile, "B (ND) #1"), 20);  // as measured
  EXPECT_EQ(FindSelfTime(profile, "D (ND) #1"), 0);
  EXPECT_EQ(FindSelfTime(profile, "DELEGATE_CALL"), 65 - 30 - 10 - 15);
  EXPECT_EQ(profile.runs[0].clipped, -(10 + 20));
  EXPECT_EQ(profile.health.GetCount("siblings_overlap"), 1);
  EXPECT_EQ(profile.health.GetCount("child_outside_parent"), 1);
  ExpectAddsUp(profile);
  EXPECT_EQ(ByGroup(profile).rows.back().name, "Clipped");
  EXPECT_EQ(ByGroup(profile).rows.back().total, -30);
}

TEST(Attribute, DoesNotClipChildrenInAnotherOrder) {
  TraceBuilder builder;
  builder.Block("Execute")
      .Backend(0, "B (ND) #1", 20, 30)
      .Backend(0, "A (ND) #1", 10, 20)
      .Framework(0, "DELEGATE_CALL", 5, 40)
      .Framework(-1, "Method::execute", 0, 50);
  const Profile profile = Attribute(builder.Take(), {});
  EXPECT_EQ(profile.runs[0].clipped, 0);
  EXPECT_EQ(FindSelfTime(profile, "DELEGATE_CALL"), 15);
}

TEST(Attribute, NestsEventsOfABackend) {
  TraceBuilder builder;
  builder.Block("Execute")
      .Backend(0, "inner", 12, 18)
      .Backend(0, "outer", 10, 20)
      .Backend(0, "Static Reshape (NC) #1", 20, 20)
      .Backend(0, "Copy (NC, X32) #1", 20, 30)
      .Framework(0, "DELEGATE_CALL", 5, 40)
      .Framework(-1, "Method::execute", 0, 50);
  const Profile profile = Attribute(builder.Take(), {});
  EXPECT_EQ(FindSelfTime(profile, "outer"), 4);
  EXPECT_EQ(profile.operators[static_cast<std::size_t>(profile.operators[0].parent)].name, "outer");
  EXPECT_EQ(profile.operators[static_cast<std::size_t>(profile.operators[2].parent)].name, "DELEGATE_CALL");
  ExpectAddsUp(profile);
}

TEST(Attribute, CommonSetIsWithinTukeysFences) {
  TraceBuilder builder;
  AttributeOptions options;
  for (int run = 0; run < 10; ++run) {
    const Nanoseconds length = run == 0 ? 900 : run == 5 ? 500 : 100 + run;
    builder.Block("Execute").Framework(-1, "Method::execute", 10'000 * run, 10'000 * run + length);
    options.labels.push_back({0, run, run == 0 ? Phase::kFirst : Phase::kSteady});
  }
  const Profile profile = Attribute(builder.Take(), options);
  EXPECT_EQ(profile.CommonSet(), (std::vector<std::size_t>{1, 2, 3, 4, 6, 7, 8, 9}));
  EXPECT_EQ(ByGroup(profile).total, 8 * 100 + 1 + 2 + 3 + 4 + 6 + 7 + 8 + 9);
}

TEST(Attribute, ExcludesLoadTime) {
  TraceBuilder builder;
  builder.Block("Default").Framework(-1, "Method::init", 10, 30).Framework(-1, "Program::load_method", 5, 40);
  AddRun(builder, 100);
  const Profile profile = Attribute(builder.Take(), {});
  EXPECT_EQ(profile.load_method, 35);
  EXPECT_EQ(profile.runs.size(), 1U);
  EXPECT_EQ(profile.health.GetCount("run_incomplete"), 0);
}

TEST(Attribute, ReportsIncompleteRuns) {
  TraceBuilder builder;
  AddRun(builder, 0);
  builder.Block("Execute").Backend(0, "Add (ND) #1", 100, 110);
  const Profile profile = Attribute(builder.Take(), {});
  EXPECT_EQ(profile.runs.size(), 1U);
  EXPECT_EQ(profile.health.GetCount("run_incomplete"), 1);
}

// ExecuTorch writes an event when it ends, so a block whose events follow their Method::execute is foreign.
TEST(Attribute, ReportsEventsBehindTheirRun) {
  TraceBuilder builder;
  builder.Block("Execute").Framework(-1, "Method::execute", 0, 100).Framework(0, "OPERATOR_CALL", 10, 90);
  const Profile profile = Attribute(builder.Take(), {});
  EXPECT_EQ(profile.runs.size(), 1U);
  ASSERT_EQ(profile.health.GetCount("run_incomplete"), 1);
  EXPECT_THAT(profile.health.entries().front().explanation,
              testing::HasSubstr("or the events are not in the order in which they ended"));
}

TEST(Attribute, ReportsLabelsThatDoNotFit) {
  TraceBuilder builder;
  AddRun(builder, 0);
  AddRun(builder, 1000);
  AttributeOptions options;
  options.labels.resize(3);
  const Profile profile = Attribute(builder.Take(), options);
  EXPECT_EQ(profile.health.GetCount("labels_do_not_fit"), 1);
  EXPECT_EQ(profile.runs[0].label.phase, Phase::kFirst);
}

TEST(Attribute, AnEmptyTraceGivesAnEmptyProfile) {
  const Profile profile = Attribute(Trace{}, {});
  EXPECT_TRUE(profile.runs.empty());
  EXPECT_EQ(ByGroup(profile).total, 0);
}

// If a run is ordered, OrderedTree must give the same result as BuildSpanTree.
void ExpectOrderedTreeAgrees(const Trace& trace, int& num_ordered) {
  for (std::uint32_t block = 0; block < trace.blocks.size(); ++block) {
    const Trace::Layout& layout = trace.GetLayout(trace.blocks[block]);
    if (layout.size() == 0 || !trace.IsFramework(layout, layout.size() - 1, "Method::execute")) continue;
    const Segment run{0, static_cast<std::uint32_t>(layout.size())};
    const Nanoseconds* start = trace.start.data() + trace.blocks[block].first_event;
    const Nanoseconds* end = trace.end.data() + trace.blocks[block].first_event;
    const OrderedTree ordered(trace, layout, run);
    TraceHealth health;
    SpanTree tree;
    BuildSpanTree(trace, block, run, health, tree);
    if (!ordered.KeepsOrder(start, end)) continue;
    ++num_ordered;
    EXPECT_EQ(ordered.parent(), tree.parent);
    EXPECT_EQ(ordered.kind(), tree.kind);
    EXPECT_EQ(tree.clipped, 0);
    EXPECT_TRUE(health.entries().empty());
    std::vector<Nanoseconds> duration(layout.size()), self(layout.size());
    ordered.ComputeTimes(start, end, duration.data(), self.data());
    EXPECT_EQ(duration, tree.duration);
    EXPECT_EQ(self, tree.self);
  }
}

TEST(OrderedTree, AgreesWithTheTreeOfEveryOrderedRun) {
  std::mt19937 random(3);
  int num_ordered = 0;
  constexpr int kRuns = 20'000;
  for (int i = 0; i < kRuns; ++i) {
    TraceBuilder builder;
    builder.Block("Execute");
    // Small times make spans touch, overlap, nest, exceed their parents, or be empty about half of the time.
    const auto time = [&](int limit) {
      return static_cast<Nanoseconds>(random() % static_cast<unsigned>(limit));
    };
    Nanoseconds now = 10;
    for (int call = 0; call < 2; ++call) {
      const Nanoseconds begin = now;
      now += time(3);
      for (int child = 0; child < 3; ++child) {
        const Nanoseconds child_begin = now + time(3) - (random() % 8 == 0 ? 2 : 0);
        now = child_begin + time(4);
        builder.Backend(call, "Add (ND) #1", child_begin, now + (random() % 8 == 0 ? 2 : 0));
      }
      now += time(3);
      builder.Framework(call, "DELEGATE_CALL", begin, now);
    }
    builder.Framework(-1, "Method::execute", 10 + time(2), now + time(2));
    ExpectOrderedTreeAgrees(builder.Take(), num_ordered);
  }
  EXPECT_GT(num_ordered, kRuns / 20);       // some runs are ordered ...
  EXPECT_LT(num_ordered, kRuns * 19 / 20);  // ... but not all
}

TEST(Attribute, OtherInstructionsAreSiblingsOfCalls) {
  TraceBuilder builder;
  for (int run = 0; run < 4; ++run) {
    const Nanoseconds at = run * 1000;
    builder.Block("Execute")
        .Framework(0, "native_call_gt.Scalar_out", at + 20, at + 40)
        .Framework(0, "OPERATOR_CALL", at + 10, at + 50)
        .Framework(1, "JF_CALL", at + 60, at + 70)
        .Framework(2, "native_call_erf.out", at + 90, at + 110)
        .Framework(2, "OPERATOR_CALL", at + 80, at + 120)
        .Framework(3, "MOVE_CALL", at + 130, at + 140)
        .Framework(0, "Method::execute", at, at + 200);
  }
  const Profile profile = Attribute(builder.Take(), {});
  EXPECT_TRUE(profile.health.entries().empty());
  const std::size_t method = profile.operators.size() - 1;
  for (std::size_t op = 0; op < method; ++op) {
    if (profile.operators[op].key.kind == SpanKind::kKernel) continue;
    EXPECT_EQ(profile.operators[op].parent, static_cast<std::int32_t>(method)) << profile.operators[op].name;
  }
  EXPECT_EQ(profile.Self(method)[0], 200 - 40 - 10 - 40 - 10);
}

TEST(AttributeMethods, ReportsMethodsThatLookAlike) {
  TraceBuilder builder;
  builder.Block("Default");
  for (int i = 0; i < 2; ++i) builder.Framework(-1, "Method::init", 1 + i, 2 + i);
  for (int round = 0; round < 6; ++round) AddRun(builder, 1000 + round * 1000);
  const Trace trace = builder.Take();
  const std::vector<Profile> profiles = AttributeMethods(trace, {});
  ASSERT_EQ(profiles.size(), 1U);
  EXPECT_EQ(profiles[0].health.GetCount("methods_alike"), 2);
  AttributeOptions options;
  options.labels.resize(6);
  EXPECT_EQ(AttributeMethods(trace, options)[0].health.GetCount("methods_alike"), 0);
}

// A merged file of several processes has their loading blocks before all runs.
TEST(AttributeMethods, FindsTheFirstRunOfEachProcess) {
  TraceBuilder builder;
  for (const int process : {0, 1})
    builder.Block("Default").Framework(-1, "Method::init", 1 + process * 4000, 2 + process * 4000);
  for (int run = 0; run < 8; ++run) AddRun(builder, 1000 + run * 1000);
  const Trace trace = builder.Take();
  const std::vector<Profile> profiles = AttributeMethods(trace, {});
  ASSERT_EQ(profiles.size(), 1U);
  EXPECT_EQ(profiles[0].RunsInPhase(Phase::kFirst), (std::vector<std::size_t>{0, 4}));
  EXPECT_EQ(profiles[0].health.GetCount("methods_alike"), 0);
}

TEST(AttributeMethods, DistinguishesMethodsByTheirEvents) {
  const auto make_trace = [](int methods) {
    TraceBuilder builder;
    builder.Block("Default");
    for (int i = 0; i < methods; ++i) builder.Framework(-1, "Method::init", 1 + i, 2 + i);
    for (int round = 0; round < 6; ++round) {
      AddRun(builder, 1000 + round * 1000);
      builder.Block("Execute")
          .Backend(2, "Fully Connected (NC, F32) GEMM #1", 1510 + round * 1000, 1540 + round * 1000)
          .Framework(2, "DELEGATE_CALL", 1505 + round * 1000, 1560 + round * 1000)
          .Framework(-1, "Method::execute", 1500 + round * 1000, 1580 + round * 1000);
    }
    return builder.Take();
  };
  const Trace two_methods = make_trace(2);
  const std::vector<Profile> profiles = AttributeMethods(two_methods, {});
  ASSERT_EQ(profiles.size(), 2U);
  for (const Profile& profile : profiles) {
    EXPECT_EQ(profile.runs.size(), 6U);
    ExpectAddsUp(profile);
  }
  EXPECT_EQ(profiles[0].operators.size(), 6U);
  EXPECT_EQ(profiles[1].operators.size(), 3U);
  EXPECT_EQ(profiles[1].operators[0].key.method, "method 2");
  // One method with two execution paths stays one method.
  EXPECT_EQ(AttributeMethods(make_trace(1), {}).size(), 1U);
  // The methods are not separated either if the labels describe the runs.
  AttributeOptions options;
  options.labels.resize(12);
  EXPECT_EQ(AttributeMethods(two_methods, options).size(), 1U);
}

// Without a Method::init for each, only the names tell methods of equal structure apart.
TEST(AttributeMethods, DistinguishesMethodsByTheirNames) {
  const auto make_trace = [](const std::vector<const char*>& names, bool has_init = false) {
    TraceBuilder builder;
    if (has_init) builder.Block("Default").Framework(-1, "Method::init", -2, -1);
    for (std::size_t run = 0; run < names.size(); ++run) {
      const auto at = static_cast<Nanoseconds>(1000 * run);
      builder.Block("Execute")
          .Backend(0, names[run], at + 10, at + 40)
          .Framework(0, "DELEGATE_CALL", at + 5, at + 60)
          .Framework(-1, "Method::execute", at, at + 80);
    }
    return builder.Take();
  };
  const char *const convolution = "Convolution (NHWC, F32) IGEMM #1",
                    *const linear = "Fully Connected (NC, F32) GEMM #1", *const add = "Add (ND) #1";
  const Trace trace = make_trace({convolution, linear, convolution, add, linear});
  const std::vector<Profile> profiles = AttributeMethods(trace, {});
  ASSERT_EQ(profiles.size(), 3U);
  EXPECT_EQ(profiles[0].runs.size(), 2U);
  EXPECT_EQ(profiles[1].runs.size(), 2U);
  EXPECT_EQ(profiles[2].runs.size(), 1U);
  EXPECT_EQ(profiles[1].operators[0].name, linear);
  EXPECT_EQ(profiles[1].operators[0].key.method, "method 2");
  for (const Profile& profile : profiles) {
    EXPECT_EQ(profile.health.GetCount("operator_renamed"), 0);
    ExpectAddsUp(profile);
  }
  // One of the methods was loaded before the file began.
  EXPECT_EQ(AttributeMethods(make_trace({convolution, linear, convolution, linear}, true), {}).size(), 2U);
  // Operators that only the first run has do not make it another method.
  EXPECT_EQ(AttributeMethods(make_trace({add, linear, linear, linear}), {}).size(), 1U);
  AttributeOptions options;
  options.labels.resize(5);
  EXPECT_EQ(AttributeMethods(trace, options).size(), 1U);
}

TEST(Attribute, DescribesOperatorsGroupsAndTotals) {
  TraceBuilder builder;
  for (int run = 0; run < 30; ++run) AddRun(builder, 1000 + run * 1000);
  const Profile profile = Attribute(builder.Take(), {});
  ASSERT_EQ(profile.statistics.size(), profile.operators.size());
  Nanoseconds sum = 0;
  for (const SpanStatistics& statistics : profile.statistics) sum += statistics.total_self;
  EXPECT_EQ(sum, ByCategory(profile).total);
  EXPECT_EQ(profile.execute_time.n, 29);  // without the first run
  EXPECT_EQ(profile.execute_time.p50, 80);
  EXPECT_EQ(profile.groups[static_cast<std::size_t>(OperatorGroup::kConvolution)].p50, 30);
  EXPECT_EQ(profile.groups[static_cast<std::size_t>(OperatorGroup::kFrameworkOverhead)].p50, 80 - 55 - 8);
  EXPECT_EQ(profile.groups[static_cast<std::size_t>(OperatorGroup::kGemm)].n, 0);
  bool has_category = false;
  for (const auto& [name, distribution] : profile.categories) {
    if (name != "CONV_STANDARD") continue;
    has_category = true;
    EXPECT_EQ(distribution.p50, 30);
  }
  EXPECT_TRUE(has_category);
}

class RealTraces : public ::testing::TestWithParam<const char*> {};

TEST_P(RealTraces, AddUpWithoutClipping) {
  const Profile profile = Attribute(ReadEtdumpFile(kData + "/" + GetParam()), {});
  EXPECT_GE(profile.runs.size(), 4U);
  ExpectAddsUp(profile);
  for (const Operator& op : profile.operators) {
    if (op.key.kind == SpanKind::kBackend) {
      EXPECT_TRUE(op.category.known) << op.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, RealTraces,
                         ::testing::Values("toy_cnn.t1.etdump", "sme2_emulated/toy_cnn.sme2_on.etdump",
                                           "sme2_emulated/toy_cnn.sme2_off.etdump",
                                           "sme2_emulated/toy_fp16.sme2_on.etdump",
                                           "sme2_emulated/toy_fp16.sme2_off.etdump",
                                           "sme2_emulated/toy_q8.sme2_on.etdump",
                                           "sme2_emulated/toy_q8.sme2_off.etdump"));

}  // namespace
}  // namespace etprof
