#include "analysis/host_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "analysis/profile.h"
#include "etdump/testing.h"

namespace etprof {
namespace {

using handmade::TraceBuilder;

struct Written {
  std::string name;
  Nanoseconds start, end;
};

// Two inferences of one delegate call of 900 ns each.
Trace TwoRuns(const std::vector<Written>& events) {
  TraceBuilder builder;
  for (const Nanoseconds at : {10'000, 20'000}) {
    builder.Block("Execute");
    for (const Written& event : events) builder.Backend(3, event.name, event.start, event.end);
    builder.Framework(3, "DELEGATE_CALL", at + 50, at + 950).Framework(0, "Method::execute", at, at + 1000);
  }
  return builder.Take();
}

BackendOf Always(const std::string& backend) {
  return [backend](std::int32_t, std::int32_t) { return backend; };
}

Profile Attributed(Trace& trace, const BackendOf& backend_of = {}) {
  KeepHostTime(trace, backend_of);
  return Attribute(trace, {});
}

const Operator& CallOf(const Profile& profile) {
  return *std::ranges::find(profile.operators, SpanKind::kDelegateCall,
                            [](const Operator& op) { return op.key.kind; });
}

// Self times of a run, which add up to it.
Nanoseconds SelfOfRun(const Profile& profile, std::size_t run) {
  Nanoseconds sum = profile.runs[run].clipped;
  for (std::size_t op = 0; op < profile.operators.size(); ++op) sum += profile.Self(op)[run];
  return sum;
}

TEST(HostTime, OfXnnpackAllStays) {
  Trace trace = TwoRuns({{"Add (ND) #1", 10'100, 10'200}});
  const Profile profile = Attributed(trace);
  EXPECT_EQ(trace.event_count(), 6);
  EXPECT_TRUE(trace.reported.empty());
  EXPECT_EQ(profile.operators[0].backend, "XnnpackBackend");
  EXPECT_EQ(CallOf(profile).category.group, Group::kDelegateOverhead);
  EXPECT_EQ(CallOf(profile).name, "DELEGATE_CALL");
  EXPECT_TRUE(trace.health.entries().empty());
}

TEST(HostTime, AnotherProgramsDelegateIsNotBelieved) {
  Trace trace = TwoRuns({{"heap (bytes)", 0, 5'000'000}, {"RPC (us)", 0, 700}});
  const Profile profile = Attributed(trace, Always("XnnpackBackend"));
  EXPECT_EQ(CallOf(profile).name, "QnnBackend delegate call");
  ASSERT_EQ(profile.reported.size(), 2);
  EXPECT_EQ(profile.reported[0].kind, ValueKind::kBytes);
  EXPECT_GT(profile.health.CountOf("delegate_differs"), 0);

  Trace unmarked = TwoRuns({{"aten_convolution_default", 10'100, 10'200}});
  EXPECT_EQ(CallOf(Attributed(unmarked, Always("XnnpackBackend"))).name, "unknown delegate call");

  Trace xnnpack = TwoRuns({{"Add (ND) #1", 10'100, 10'200}});
  EXPECT_EQ(Attributed(xnnpack, Always("QnnBackend")).operators[0].backend, "XnnpackBackend");
}

TEST(HostTime, BytesAreNoTime) {
  Trace trace = TwoRuns({{"heap (bytes)", 0, 5'000'000}, {"RPC (us)", 0, 700}});
  const Profile profile = Attributed(trace);
  EXPECT_EQ(trace.event_count(), 4);
  ASSERT_EQ(profile.operators.size(), 2);
  EXPECT_EQ(CallOf(profile).name, "QnnBackend delegate call");
  EXPECT_EQ(CallOf(profile).category.group, Group::kOther);
  EXPECT_EQ(profile.statistics[0].self.p50, 900);
  for (std::size_t run = 0; run < 2; ++run) EXPECT_EQ(SelfOfRun(profile, run), 1000);
  ASSERT_EQ(profile.reported.size(), 2);
  EXPECT_EQ(profile.reported[0].name, "heap");
  EXPECT_EQ(profile.reported[0].kind, ValueKind::kBytes);
  EXPECT_EQ(profile.reported[0].values.p50, 5'000'000);
  EXPECT_EQ(profile.reported[1].unit, "µs");
  EXPECT_EQ(profile.reported[1].instruction, 3);
}

TEST(HostTime, TheProgramSaysWhoseEventsAre) {
  Trace trace = TwoRuns({{"add_1", 10'100, 10'200}});
  const Profile profile = Attributed(trace, Always("CoreMLBackend"));
  ASSERT_EQ(profile.reported.size(), 1);
  EXPECT_EQ(profile.reported[0].kind, ValueKind::kEstimate);
  EXPECT_EQ(CallOf(profile).name, "CoreMLBackend delegate call");
}

// As ExecuTorch's "native" backend does: it names its operators, and nobody registered the names.
TEST(HostTime, OfAnUnregisteredDelegateTimesWithinTheCallStay) {
  const auto made = [](const std::string& backend) {
    TraceBuilder builder;
    for (const Nanoseconds at : {10'000, 20'000}) {
      builder.Block("Execute")
          .Backend(3, "layer", at + 100, at + 400)
          .Backend(3, "at the end", at + 500, at + 950)
          .Backend(3, "begins before", at + 49, at + 100)
          .Backend(3, "ends behind", at + 900, at + 951)
          .Backend(3, "heap", 0, 5)
          .Framework(3, "DELEGATE_CALL", at + 50, at + 950)
          .Framework(0, "Method::execute", at, at + 1000);
    }
    Trace trace = builder.Take();
    return Attributed(trace, Always(backend));
  };
  const Profile profile = made("MyBackend");
  ASSERT_EQ(profile.operators.size(), 4);
  EXPECT_EQ(profile.operators[0].name, "layer");
  EXPECT_EQ(profile.operators[0].backend, "MyBackend");
  EXPECT_EQ(profile.statistics[0].self.p50, 300);
  EXPECT_EQ(profile.statistics[1].self.p50, 450);
  EXPECT_EQ(CallOf(profile).category.group, Group::kDelegateOverhead);
  EXPECT_EQ(profile.reported.size(), 3);
  EXPECT_EQ(profile.health.CountOf("delegate_unregistered"), 4);
  EXPECT_EQ(profile.health.CountOf("delegate_unknown"), 6);
  EXPECT_EQ(SelfOfRun(profile, 0), 1000);

  EXPECT_EQ(made("").reported.size(), 5) << "nobody knows whose they are";
}

TEST(HostTime, OfAnUnknownDelegateNothingElseStays) {
  for (const std::string backend : {"", "MyBackend"}) {
    // In the first run's call, but not in the second's.
    Trace trace = TwoRuns({{"layer", 10'100, 10'200}});
    const Profile profile = Attributed(trace, Always(backend));
    EXPECT_EQ(CallOf(profile).name, (backend.empty() ? "unknown" : backend) + " delegate call");
    ASSERT_EQ(profile.reported.size(), 1);
    EXPECT_EQ(profile.reported[0].kind, ValueKind::kUnknown);
    EXPECT_EQ(profile.reported[0].backend, backend);
    EXPECT_EQ(profile.health.CountOf("delegate_unknown"), 2);
    EXPECT_EQ(SelfOfRun(profile, 0), 1000);
  }
}

TEST(HostTime, HostSpansStayNextToAnotherClock) {
  Trace trace = TwoRuns({{"{conv, \"dispatch_id\": 0}", 7, 107}, {"ETVK_EXECUTE", 10'100, 10'800}});
  const Profile profile = Attributed(trace, Always("VulkanBackend"));
  ASSERT_EQ(profile.operators.size(), 3);
  EXPECT_EQ(profile.operators[0].name, "ETVK_EXECUTE");
  EXPECT_EQ(profile.operators[0].backend, "VulkanBackend");
  EXPECT_EQ(CallOf(profile).category.group, Group::kDelegateOverhead);
  ASSERT_EQ(profile.reported.size(), 1);
  EXPECT_EQ(profile.reported[0].kind, ValueKind::kDeviceTime);
  EXPECT_EQ(profile.reported[0].name, "conv, dispatch 0");
}

// ExecuTorch's events in ticks of 24 MHz, XNNPACK's in nanoseconds (ExecuTorch's issue 4504).
TEST(HostTime, EventsThatOutlastTheirCallAreInAnotherUnit) {
  Trace trace = TwoRuns({{"GEMM #1", 10'000, 50'000}, {"Add (ND) #1", 50'000, 50'100}});
  const Profile profile = Attributed(trace, Always("XnnpackBackend"));
  ASSERT_EQ(profile.reported.size(), 2);
  EXPECT_EQ(profile.reported[0].kind, ValueKind::kDeviceTime);
  EXPECT_EQ(profile.reported[0].unit, "");
  EXPECT_EQ(profile.reported[0].values.p50, 40'000);
  EXPECT_EQ(profile.health.CountOf("delegate_unit"), 4);
  for (std::size_t run = 0; run < 2; ++run) EXPECT_EQ(SelfOfRun(profile, run), 1000);
  for (const Operator& op : profile.operators) EXPECT_NE(op.name, "GEMM #1");
  // The call takes 900: one that is a little longer may be the clock's doing.
  Trace coarse = TwoRuns({{"GEMM #1", 10'000, 11'350}});
  EXPECT_TRUE(Attributed(coarse, Always("XnnpackBackend")).reported.empty());
}

// They are written as the framework's.
TEST(HostTime, EthosUsSpansAreTheDelegates) {
  TraceBuilder builder;
  builder.Block("Execute")
      .Framework(0, "+EthosUBackend::execute()NPU", 200, 700)
      .Framework(0, "EthosUBackend::execute()", 100, 800)
      .Framework(0, "DELEGATE_CALL", 50, 950)
      .Framework(0, "Method::execute", 0, 1000);
  Trace trace = builder.Take();
  const Profile profile = Attributed(trace);
  EXPECT_EQ(profile.operators[0].key.kind, SpanKind::kBackend);
  EXPECT_EQ(profile.operators[0].backend, "EthosUBackend");
  EXPECT_EQ(profile.statistics[0].total_self, 500);
  EXPECT_EQ(profile.statistics[1].total_self, 200);
  EXPECT_TRUE(profile.reported.empty());
}

TEST(HostTime, ADelegateThatWritesNothingIsNoOverhead) {
  Trace trace = TwoRuns({});
  EXPECT_EQ(CallOf(Attributed(trace, Always("OpenvinoBackend"))).name, "OpenvinoBackend delegate call");
  Trace unknown = TwoRuns({});
  EXPECT_EQ(CallOf(Attributed(unknown)).category.group, Group::kDelegateOverhead);
}

TEST(HostTime, EventsThatAreCalledAlikeAreToldApart) {
  Trace trace = TwoRuns({{"op (cycles)", 0, 5}, {"op (cycles)", 0, 7}});
  const Profile profile = Attributed(trace);
  ASSERT_EQ(profile.reported.size(), 2);
  EXPECT_EQ(profile.reported[0].values.p50, 5);
  EXPECT_EQ(profile.reported[1].values.p50, 7);
  EXPECT_EQ(profile.reported[1].values.n, 1);  // the first run of the file is no steady one
}

TEST(HostTime, ValuesAreNotScaledByTheClock) {
  Trace trace = TwoRuns({{"heap (bytes)", 0, 40'000}});
  trace.delegate_nanoseconds_per_tick = 40;
  EXPECT_EQ(Attributed(trace).reported[0].values.p50, 1000);
}

TEST(HostTime, RunsThatWereCutAreNotCounted) {
  TraceBuilder builder;
  builder.Block("Execute").Backend(0, "op (us)", 0, 5).Framework(0, "DELEGATE_CALL", 0, 9);
  builder.Block("Execute")
      .Backend(0, "op (us)", 0, 6)
      .Framework(0, "DELEGATE_CALL", 0, 9)
      .Framework(0, "Method::execute", 0, 10);
  Trace trace = builder.Take();
  KeepHostTime(trace);
  ASSERT_EQ(trace.reported.size(), 1);
  EXPECT_THAT(trace.reported[0].value, testing::ElementsAre(6));
  EXPECT_THAT(trace.reported[0].run, testing::ElementsAre(0));
}

TEST(HostTime, TheProgramsMethodsMustAgree) {
  Program program;
  for (const char* backend : {"QnnBackend", "XnnpackBackend"}) {
    Method& method = program.methods.emplace_back();
    method.name = backend;
    method.delegates.emplace_back().backend = backend;
    method.instructions.push_back({Instruction::Kind::kDelegate, 0, 2, 0, {}});
  }
  EXPECT_EQ(BackendsOf(program, "QnnBackend")(0, 2), "QnnBackend");
  EXPECT_EQ(BackendsOf(program, "QnnBackend")(0, 1), "");
  EXPECT_EQ(BackendsOf(program, "")(0, 2), "");
}

}  // namespace
}  // namespace etprof
