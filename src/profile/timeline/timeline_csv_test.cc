#include "profile/timeline/timeline_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/file/file.h"
#include "core/golden_testing.h"

namespace etprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// One run with a kernel and a delegate call, in the kit's format: no instruction, times in microseconds.
constexpr const char* kKitTimeline =
    "model_id,name,type,delegate_backend,start_us,end_us,duration_ms,pct_total,node_id,run_index,block\n"
    "net,native_call_mean.out,x,,1,3.5,0.0025,,,0,Execute\n"
    "net,OPERATOR_CALL,x,,0.5,4,0.0035,,,0,Execute\n"
    "net,\"Add (ND, F32) #1\",x,XnnpackBackend,5,7,0.002,,,0,Execute\n"
    "net,\"Add (ND, F32) #2\",x,XnnpackBackend,7,8,0.001,,,0,Execute\n"
    "net,DELEGATE_CALL,x,,4.5,9,0.0045,,,0,Execute\n"
    "net,Method::execute,x,,0,10,0.01,,,0,Execute\n";

Timeline Read(const std::string& text) { return ReadTimelineCsv(text, "a.csv"); }

std::string TimelineProblem(const std::string& text) {
  try {
    Read(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kBadInput);
    return error.Message();
  }
  return "";
}

std::vector<std::string> SelfTimes(const Timeline& timeline) {
  const Profile profile = Attribute(timeline.trace, {});
  std::vector<std::string> self_times;
  for (std::size_t op = 0; op < profile.operators.size(); ++op)
    self_times.push_back(KeyText(profile.operators[op].key) + " " + std::to_string(profile.Self(op)[0]));
  return self_times;
}

const auto kSelfTimes =
    ElementsAre("forward/0/kernel/0 2500", "forward/0/operator_call/0 1000", "forward/1/backend/0 2000",
                "forward/1/backend/1 1000", "forward/1/delegate_call/0 1500", "forward/-1/method/0 2000");

TEST(TimelineCsv, ReadsTheKitsColumns) {
  const Timeline timeline = Read(kKitTimeline);
  EXPECT_EQ(timeline.model_id, "net");
  EXPECT_THAT(timeline.backends, ElementsAre("XnnpackBackend"));
  EXPECT_THAT(timeline.labels, IsEmpty());
  EXPECT_THAT(SelfTimes(timeline), kSelfTimes);
}

// The rows of kKitTimeline in another order.
std::string ReorderRows(const std::vector<int>& order) {
  std::vector<std::string> lines;
  std::string text = kKitTimeline;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  std::string result = lines[0];
  for (const int i : order) result += lines[static_cast<std::size_t>(i)];
  return result;
}

TEST(TimelineCsv, RebuildsTheNestingFromTheTimes) {
  EXPECT_THAT(SelfTimes(Read(ReorderRows({6, 2, 1, 5, 3, 4}))), kSelfTimes) << "by start";
  EXPECT_THAT(SelfTimes(Read(ReorderRows({6, 5, 2, 1, 3, 4}))), kSelfTimes) << "by duration";
}

TEST(TimelineCsv, NestsEqualTimesByKind) {
  const Timeline timeline = Read(
      "name,start_us,end_us\n"
      "Method::execute,0,2\nnative_call_a.out,0,2\nOPERATOR_CALL,0,2\nnative_call_b.out,2,2\nOPERATOR_CALL,2,"
      "2\n");
  EXPECT_THAT(SelfTimes(timeline),
              ElementsAre("forward/0/kernel/0 2000", "forward/0/operator_call/0 0", "forward/1/kernel/0 0",
                          "forward/1/operator_call/0 0", "forward/-1/method/0 0"));
}

TEST(TimelineCsv, CollectsTheScatteredRowsOfARun) {
  const Timeline timeline = Read(
      "run_index,name,start_us,end_us\n"
      "0,Add #1,1,2\n1,Add #1,11,14\n0,DELEGATE_CALL,1,3\n1,DELEGATE_CALL,11,15\n"
      "0,Method::execute,0,4\n1,Method::execute,10,16\n");
  const Profile profile = Attribute(timeline.trace, {});
  ASSERT_EQ(profile.runs.size(), 2u);
  EXPECT_THAT(profile.Self(0), ElementsAre(1000, 3000));
}

TEST(TimelineCsv, ReadsMethodAndKindFromNodeIds) {
  const Timeline timeline = Read(
      "name,start_us,end_us,node_id,instruction,chain,phase\n"
      "OPERATOR_CALL,1,2,predict/7/backend/0,7,0,steady\n"
      "DELEGATE_CALL,1,3,predict/7/delegate_call/0,7,0,steady\n"
      "Method::execute,0,4,predict/-1/method/0,,,steady\n");
  EXPECT_EQ(timeline.method, "predict");
  ASSERT_EQ(timeline.labels.size(), 1u);
  EXPECT_EQ(timeline.labels[0].phase, Phase::kSteady);
  EXPECT_THAT(SelfTimes(timeline), ElementsAre("forward/7/backend/0 1000", "forward/7/delegate_call/0 1000",
                                               "forward/-1/method/0 2000"));
}

TEST(TimelineCsv, KeepsEveryDigit) {
  const Timeline timeline =
      Read("name,start_us,end_us\nMethod::execute,1700000000000000.001,1700000000000001.0026\n");
  EXPECT_EQ(timeline.trace.end[0] - timeline.trace.start[0], 1002);
  EXPECT_EQ(Read("name,start_us,end_us\nMethod::execute,0,1.5e3\n").trace.end[0], 1'500'000);
}

TEST(TimelineCsv, AcceptsLatenciesOnly) {
  const Timeline timeline =
      Read("run_index,name,duration_ms\n0,Method::execute,12.3\n1,Method::execute,12.1\n");
  const Profile profile = Attribute(timeline.trace, {});
  ASSERT_EQ(profile.runs.size(), 2u);
  EXPECT_EQ(profile.runs[0].total, 12'300'000);
  EXPECT_EQ(profile.runs[1].total, 12'100'000);
}

TEST(TimelineCsv, NamesTheProblemAndItsLine) {
  const std::string head = "name,start_us,end_us\n", hours = "Add #1,0,4000000000000000\n";
  CaseMessages problems = CollectMessages(
      TimelineProblem,
      {"",
       "a,b\n1,2\n",
       "name,name,start_us,end_us\n",
       head,
       head + "Add #1,1,2\n",
       head + "Method::execute,1,x\n",
       head + "Method::execute,1,nan\n",
       head + "Method::execute,1,1e300\n",
       head + "Method::execute,1,99999999999999999999\n",
       head + "Method::execute,,2\n",
       head + hours + hours + "Method::execute,0,4000000000000000\n",
       head + ",1,2\n",
       head + "Method::execute,1,2\nMethod::execute,3,4\n",
       "run_index," + head + "x,Method::execute,1,2\n",
       "phase," + head + "stead,Method::execute,1,2\n",
       "duration_ms," + head + "1,Method::execute,1000,2000000\n",
       "name,duration_ms\nMethod::execute,4e15\n",
       "name,duration_ms\nMethod::execute,4000000000000\n",
       "name,duration_ms\nAdd #1,1\n",
       "<html>\n",
       "name;start_us;end_us\nMethod::execute;1,5;2\n",
       "run_index," + head + "0,Method::execute,1,2\n0,Method::execute,3,4\n0,Method::execute,1,2\n"});
  std::string many_events = head;
  for (int i = 0; i < 80; ++i) many_events += "Add #1,0,17000000000\n";
  problems.emplace_back("80 events of 4.7 hours", TimelineProblem(many_events));
  ExpectGoldenMessages("profile/timeline_csv_problems", problems);
}

TEST(TimelineCsv, NotesABackwardEventAndCountsItAsZero) {
  const Timeline timeline =
      Read("name,start_us,end_us\nAdd #1,3,1\nDELEGATE_CALL,1,3\nMethod::execute,0,4\n");
  EXPECT_EQ(timeline.trace.health.GetCount("event_backwards"), 1);
  EXPECT_EQ(Attribute(timeline.trace, {}).Self(0)[0], 0);
}

TEST(TimelineCsv, RefusesTruncationWithinALine) {
  const std::string text = std::string(kKitTimeline) + "net,Method::execute,x,,20,30,0.01,,,1,Execute\n";
  for (std::size_t size = 0; size < text.size(); ++size) {
    try {
      Read(text.substr(0, size));
      EXPECT_EQ(text[size - 1], '\n') << "cut within a line, at byte " << size;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kBadInput);
    }
  }
}

TEST(TimelineStem, RemovesTheSuffixOfATimeline) {
  EXPECT_EQ(TimelineStem("x/net_t1_exec_all_runs_timeline.csv"), "net_t1");
  EXPECT_EQ(TimelineStem("net_t1_exec_run0_timeline.csv"), "net_t1_exec_run0");
  EXPECT_EQ(TimelineStem("_timeline.csv"), "_timeline");
  EXPECT_EQ(TimelineStem("other.csv"), "other");
}

}  // namespace
}  // namespace etprof
