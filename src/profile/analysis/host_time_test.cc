#include "profile/analysis/host_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "format/etdump/testing.h"
#include "profile/analysis/profile.h"

namespace etprof {
namespace {

using handmade::TraceBuilder;

struct WrittenEvent {
  std::string name;
  Nanoseconds start, end;
};

// Two runs with one delegate call of 900 ns each.
Trace MakeTwoRuns(const std::vector<WrittenEvent>& events) {
  TraceBuilder builder;
  for (const Nanoseconds at : {10'000, 20'000}) {
    builder.Block("Execute");
    for (const WrittenEvent& event : events) builder.Backend(3, event.name, event.start, event.end);
    builder.Framework(3, "DELEGATE_CALL", at + 50, at + 950).Framework(0, "Method::execute", at, at + 1000);
  }
  return builder.Take();
}

BackendResolver AlwaysBackend(const std::string& backend) {
  return [backend](std::int32_t, std::int32_t) { return backend; };
}

Profile AttributeHostTime(Trace& trace, const BackendResolver& resolve_backend = {}) {
  SeparateHostTime(trace, resolve_backend);
  return Attribute(trace, {});
}

const Operator& FindDelegateCall(const Profile& profile) {
  return *std::ranges::find(profile.operators, SpanKind::kDelegateCall,
                            [](const Operator& op) { return op.key.kind; });
}

// The sum of the self times of a run, which must equal its total.
Nanoseconds SumSelfTimes(const Profile& profile, std::size_t run) {
  Nanoseconds sum = profile.runs[run].clipped;
  for (std::size_t op = 0; op < profile.operators.size(); ++op) sum += profile.Self(op)[run];
  return sum;
}

TEST(HostTime, KeepsXnnpackEvents) {
  Trace trace = MakeTwoRuns({{"Add (ND) #1", 10'100, 10'200}});
  const Profile profile = AttributeHostTime(trace);
  EXPECT_EQ(trace.event_count(), 6);
  EXPECT_TRUE(trace.reported.empty());
  EXPECT_EQ(profile.operators[0].backend, "XnnpackBackend");
  EXPECT_EQ(FindDelegateCall(profile).category.group, OperatorGroup::kDelegateOverhead);
  EXPECT_EQ(FindDelegateCall(profile).name, "DELEGATE_CALL");
  EXPECT_TRUE(trace.health.entries().empty());
}

TEST(HostTime, EventsOverrideAWrongProgram) {
  Trace trace = MakeTwoRuns({{"heap (bytes)", 0, 5'000'000}, {"RPC (us)", 0, 700}});
  const Profile profile = AttributeHostTime(trace, AlwaysBackend("XnnpackBackend"));
  EXPECT_EQ(FindDelegateCall(profile).name, "QnnBackend delegate call");
  ASSERT_EQ(profile.reported.size(), 2);
  EXPECT_EQ(profile.reported[0].kind, ValueKind::kBytes);
  EXPECT_GT(profile.health.GetCount("delegate_differs"), 0);

  Trace unmarked = MakeTwoRuns({{"aten_convolution_default", 10'100, 10'200}});
  EXPECT_EQ(FindDelegateCall(AttributeHostTime(unmarked, AlwaysBackend("XnnpackBackend"))).name,
            "unknown delegate call");

  Trace xnnpack = MakeTwoRuns({{"Add (ND) #1", 10'100, 10'200}});
  EXPECT_EQ(AttributeHostTime(xnnpack, AlwaysBackend("QnnBackend")).operators[0].backend, "XnnpackBackend");
}

TEST(HostTime, MovesBytes) {
  Trace trace = MakeTwoRuns({{"heap (bytes)", 0, 5'000'000}, {"RPC (us)", 0, 700}});
  const Profile profile = AttributeHostTime(trace);
  EXPECT_EQ(trace.event_count(), 4);
  ASSERT_EQ(profile.operators.size(), 2);
  EXPECT_EQ(FindDelegateCall(profile).name, "QnnBackend delegate call");
  EXPECT_EQ(FindDelegateCall(profile).category.group, OperatorGroup::kOther);
  EXPECT_EQ(profile.statistics[0].self.p50, 900);
  for (std::size_t run = 0; run < 2; ++run) EXPECT_EQ(SumSelfTimes(profile, run), 1000);
  ASSERT_EQ(profile.reported.size(), 2);
  EXPECT_EQ(profile.reported[0].name, "heap");
  EXPECT_EQ(profile.reported[0].kind, ValueKind::kBytes);
  EXPECT_EQ(profile.reported[0].values.p50, 5'000'000);
  EXPECT_EQ(profile.reported[1].unit, "µs");
  EXPECT_EQ(profile.reported[1].instruction, 3);
}

TEST(HostTime, UsesTheDelegateOfTheProgram) {
  Trace trace = MakeTwoRuns({{"add_1", 10'100, 10'200}});
  const Profile profile = AttributeHostTime(trace, AlwaysBackend("CoreMLBackend"));
  ASSERT_EQ(profile.reported.size(), 1);
  EXPECT_EQ(profile.reported[0].kind, ValueKind::kEstimate);
  EXPECT_EQ(FindDelegateCall(profile).name, "CoreMLBackend delegate call");
}

// ExecuTorch's "native" backend names its operators, but does not register the names.
TEST(HostTime, KeepsUnregisteredEventsWithinTheCall) {
  const auto make_profile = [](const std::string& backend) {
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
    return AttributeHostTime(trace, AlwaysBackend(backend));
  };
  const Profile profile = make_profile("MyBackend");
  ASSERT_EQ(profile.operators.size(), 4);
  EXPECT_EQ(profile.operators[0].name, "layer");
  EXPECT_EQ(profile.operators[0].backend, "MyBackend");
  EXPECT_EQ(profile.statistics[0].self.p50, 300);
  EXPECT_EQ(profile.statistics[1].self.p50, 450);
  EXPECT_EQ(FindDelegateCall(profile).category.group, OperatorGroup::kDelegateOverhead);
  EXPECT_EQ(profile.reported.size(), 3);
  EXPECT_EQ(profile.health.GetCount("delegate_unregistered"), 4);
  EXPECT_EQ(profile.health.GetCount("delegate_unknown"), 6);
  EXPECT_EQ(SumSelfTimes(profile, 0), 1000);

  EXPECT_EQ(make_profile("").reported.size(), 5) << "nobody knows whose they are";
}

TEST(HostTime, MovesEventsOfUnknownDelegates) {
  for (const std::string backend : {"", "MyBackend"}) {
    // The event is in the call of the first run, but not of the second.
    Trace trace = MakeTwoRuns({{"layer", 10'100, 10'200}});
    const Profile profile = AttributeHostTime(trace, AlwaysBackend(backend));
    EXPECT_EQ(FindDelegateCall(profile).name, (backend.empty() ? "unknown" : backend) + " delegate call");
    ASSERT_EQ(profile.reported.size(), 1);
    EXPECT_EQ(profile.reported[0].kind, ValueKind::kUnknown);
    EXPECT_EQ(profile.reported[0].backend, backend);
    EXPECT_EQ(profile.health.GetCount("delegate_unknown"), 2);
    EXPECT_EQ(SumSelfTimes(profile, 0), 1000);
  }
}

TEST(HostTime, KeepsHostSpansNextToDeviceTimes) {
  Trace trace = MakeTwoRuns({{"{conv, \"dispatch_id\": 0}", 7, 107}, {"ETVK_EXECUTE", 10'100, 10'800}});
  const Profile profile = AttributeHostTime(trace, AlwaysBackend("VulkanBackend"));
  ASSERT_EQ(profile.operators.size(), 3);
  EXPECT_EQ(profile.operators[0].name, "ETVK_EXECUTE");
  EXPECT_EQ(profile.operators[0].backend, "VulkanBackend");
  EXPECT_EQ(FindDelegateCall(profile).category.group, OperatorGroup::kDelegateOverhead);
  ASSERT_EQ(profile.reported.size(), 1);
  EXPECT_EQ(profile.reported[0].kind, ValueKind::kDeviceTime);
  EXPECT_EQ(profile.reported[0].name, "conv, dispatch 0");
}

// ExecuTorch's events are in ticks of 24 MHz, XNNPACK's in nanoseconds (ExecuTorch issue 4504).
TEST(HostTime, MovesEventsLongerThanTheirCall) {
  Trace trace = MakeTwoRuns({{"GEMM #1", 10'000, 50'000}, {"Add (ND) #1", 50'000, 50'100}});
  const Profile profile = AttributeHostTime(trace, AlwaysBackend("XnnpackBackend"));
  ASSERT_EQ(profile.reported.size(), 2);
  EXPECT_EQ(profile.reported[0].kind, ValueKind::kDeviceTime);
  EXPECT_EQ(profile.reported[0].unit, "");
  EXPECT_EQ(profile.reported[0].values.p50, 40'000);
  EXPECT_EQ(profile.health.GetCount("delegate_unit"), 4);
  for (std::size_t run = 0; run < 2; ++run) EXPECT_EQ(SumSelfTimes(profile, run), 1000);
  for (const Operator& op : profile.operators) EXPECT_NE(op.name, "GEMM #1");
  // The call takes 900 ns; an event that is slightly longer may be due to the clock's resolution.
  Trace coarse = MakeTwoRuns({{"GEMM #1", 10'000, 11'350}});
  EXPECT_TRUE(AttributeHostTime(coarse, AlwaysBackend("XnnpackBackend")).reported.empty());
}

// Ethos-U writes its spans as framework events.
// Each run has a layout of its own here, as if each had other operators.
TEST(HostTime, OneRunDoesNotDecideTheUnitOfAll) {
  TraceBuilder builder;
  for (Nanoseconds at = 10'000; at <= 50'000; at += 10'000) {
    builder.Block("Execute")
        .Backend(3, "Add (ND) #1", at + 100, at + (at == 30'000 ? 5000 : 900))
        .Framework(3, "DELEGATE_CALL", at + 50, at + 950)
        .Framework(0, "Method::execute", at, at + 1000);
  }
  Trace trace = builder.Take();
  const Profile profile = AttributeHostTime(trace);
  EXPECT_TRUE(profile.reported.empty());
  EXPECT_EQ(profile.health.GetCount("delegate_unit"), 0);
  EXPECT_EQ(profile.operators[0].name, "Add (ND) #1");
  EXPECT_EQ(profile.Self(0)[0], 800);
}

TEST(HostTime, AssignsEthosUSpansToTheDelegate) {
  TraceBuilder builder;
  builder.Block("Execute")
      .Framework(0, "+EthosUBackend::execute()NPU", 200, 700)
      .Framework(0, "EthosUBackend::execute()", 100, 800)
      .Framework(0, "DELEGATE_CALL", 50, 950)
      .Framework(0, "Method::execute", 0, 1000);
  Trace trace = builder.Take();
  const Profile profile = AttributeHostTime(trace);
  EXPECT_EQ(profile.operators[0].key.kind, SpanKind::kBackend);
  EXPECT_EQ(profile.operators[0].backend, "EthosUBackend");
  EXPECT_EQ(profile.statistics[0].total_self, 500);
  EXPECT_EQ(profile.statistics[1].total_self, 200);
  EXPECT_TRUE(profile.reported.empty());
}

TEST(HostTime, SilentDelegatesAreNotOverhead) {
  Trace trace = MakeTwoRuns({});
  EXPECT_EQ(FindDelegateCall(AttributeHostTime(trace, AlwaysBackend("OpenvinoBackend"))).name,
            "OpenvinoBackend delegate call");
  Trace unknown = MakeTwoRuns({});
  EXPECT_EQ(FindDelegateCall(AttributeHostTime(unknown)).category.group, OperatorGroup::kDelegateOverhead);
}

TEST(HostTime, DistinguishesEventsOfTheSameName) {
  Trace trace = MakeTwoRuns({{"op (cycles)", 0, 5}, {"op (cycles)", 0, 7}});
  const Profile profile = AttributeHostTime(trace);
  ASSERT_EQ(profile.reported.size(), 2);
  EXPECT_EQ(profile.reported[0].values.p50, 5);
  EXPECT_EQ(profile.reported[1].values.p50, 7);
  EXPECT_EQ(profile.reported[1].values.n, 1);  // the first run of the file is not steady
}

TEST(HostTime, DoesNotScaleValues) {
  Trace trace = MakeTwoRuns({{"heap (bytes)", 0, 40'000}});
  trace.delegate_nanoseconds_per_tick = 40;
  EXPECT_EQ(AttributeHostTime(trace).reported[0].values.p50, 1000);
}

TEST(HostTime, IgnoresIncompleteRuns) {
  TraceBuilder builder;
  builder.Block("Execute").Backend(0, "op (us)", 0, 5).Framework(0, "DELEGATE_CALL", 0, 9);
  builder.Block("Execute")
      .Backend(0, "op (us)", 0, 6)
      .Framework(0, "DELEGATE_CALL", 0, 9)
      .Framework(0, "Method::execute", 0, 10);
  Trace trace = builder.Take();
  SeparateHostTime(trace);
  ASSERT_EQ(trace.reported.size(), 1);
  EXPECT_THAT(trace.reported[0].value, testing::ElementsAre(6));
  EXPECT_THAT(trace.reported[0].run, testing::ElementsAre(0));
}

TEST(HostTime, MethodsMustAgreeOnTheBackend) {
  Program program;
  for (const char* backend : {"QnnBackend", "XnnpackBackend"}) {
    Method& method = program.methods.emplace_back();
    method.name = backend;
    method.delegates.emplace_back().backend = backend;
    method.instructions.push_back({Instruction::Kind::kDelegate, 0, 2, 0, {}});
  }
  EXPECT_EQ(MakeBackendResolver(program, "QnnBackend")(0, 2), "QnnBackend");
  EXPECT_EQ(MakeBackendResolver(program, "QnnBackend")(0, 1), "");
  EXPECT_EQ(MakeBackendResolver(program, "")(0, 2), "");
}

}  // namespace
}  // namespace etprof
