#include "report/static_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "core/golden_testing.h"

namespace etprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A program with one method that calls a delegate with an unreadable payload, and then these kernels.
struct OpaqueProgram {
  Program program;
  std::vector<std::byte> file;

  explicit OpaqueProgram(const std::string& payload, const std::vector<std::string>& kernels = {}) {
    file.resize(payload.size());
    std::memcpy(file.data(), payload.data(), payload.size());
    program.file_bytes = 100'000;
    Method& method = program.methods.emplace_back();
    method.name = "forward";
    Delegate& delegate = method.delegates.emplace_back();
    delegate.backend = "QnnBackend";
    delegate.payload = static_cast<Bytes>(payload.size());
    Add(Instruction::Kind::kDelegate, 0);
    for (const std::string& kernel : kernels) {
      method.operators.push_back(kernel);
      Add(Instruction::Kind::kKernel, method.operators.size() - 1);
    }
    method.planned_buffers = {10'000};
  }

  Method& method() { return program.methods[0]; }
  void Add(Instruction::Kind kind, std::size_t target) {
    Instruction& instruction = method().instructions.emplace_back();
    instruction.kind = kind;
    instruction.target = target;
    instruction.index = static_cast<int>(method().instructions.size()) - 1;
  }
  StaticCheckInput Input() const { return {&program, nullptr, "a.pte", file}; }
};

StaticCheck Compare(const OpaqueProgram& a, const OpaqueProgram& b, const StaticLimits& limits = {}) {
  return CheckStatic(a.Input(), b.Input(), limits, false);
}
StaticCheck CheckLimit(const OpaqueProgram& program, const std::string& fact, double limit) {
  return CheckStatic(program.Input(), {{{fact, limit}}, {}});
}

std::vector<std::string> FactsWithDecision(const StaticCheck& check, GateDecision decision) {
  std::vector<std::string> facts;
  for (const StaticItem& item : check.items) {
    if (item.decision == decision) facts.push_back(item.fact);
  }
  return facts;
}

TEST(StaticCheck, EqualProgramsPass) {
  const OpaqueProgram program("payload", {"aten::cumsum.out", "llama::sdpa.out"});
  const StaticCheck check = Compare(program, program);
  EXPECT_EQ(check.decision, GateDecision::kPass);
  EXPECT_EQ(check.items.size(), AllFacts().size());
  EXPECT_THAT(check.changes, IsEmpty());
}

TEST(StaticCheck, DecidesLimitsThatHoldForAnyPayload) {
  EXPECT_EQ(CheckLimit(OpaqueProgram("x"), "delegated", 1).decision, GateDecision::kPass)
      << "all of it is delegated";
  const StaticCheck check = CheckLimit(OpaqueProgram("x", {"aten::cumsum.out"}), "delegated", 1);
  ASSERT_EQ(check.decision, GateDecision::kFail);
  EXPECT_EQ(check.items[0].reason, "") << "one kernel that is not delegated is enough";
  ASSERT_EQ(check.not_delegated.size(), 1U);
  EXPECT_THAT(check.not_delegated[0].text, HasSubstr("Cumsum"));
  EXPECT_EQ(check.not_delegated[0].reason, "") << "what XNNPACK would say is no reason of QNN's";
}

TEST(StaticCheck, UndecidableLimitsFailWithAReason) {
  const StaticCheck share = CheckLimit(OpaqueProgram("x", {"aten::cumsum.out"}), "delegated", 0.5);
  ASSERT_EQ(share.decision, GateDecision::kFail);
  const StaticCheck macs = CheckLimit(OpaqueProgram("x", {"llama::sdpa.out"}), "delegated_macs", 0.5);
  ASSERT_EQ(macs.decision, GateDecision::kFail);
  const StaticCheck payload = CheckLimit(OpaqueProgram("x"), "macs", 1e12);
  ASSERT_EQ(payload.decision, GateDecision::kFail);
  ExpectGoldenMessages("report/undecidable_limits",
                       {{"delegated share", share.items[0].reason},
                        {"delegated MACs", macs.items[0].reason},
                        {"MACs of an unreadable payload", payload.items[0].reason}});
  EXPECT_EQ(CheckLimit(OpaqueProgram("x"), "sme2", 0.5).decision, GateDecision::kFail);
  EXPECT_EQ(CheckLimit(OpaqueProgram("x"), "sme2", 0).decision, GateDecision::kPass);
}

TEST(StaticCheck, OtherPayloadsAreInconclusiveUnlessTheRestDecides) {
  const OpaqueProgram a("one", {"aten::cumsum.out"}), b("two", {"aten::cumsum.out"});
  const StaticCheck check = Compare(a, b);
  EXPECT_EQ(check.decision, GateDecision::kInconclusive);
  EXPECT_THAT(FactsWithDecision(check, GateDecision::kInconclusive),
              ElementsAre("delegated", "sme2", "macs"));
  ExpectGolden("report/static_check_of_other_payloads", check.items[0].reason + "\n");
  EXPECT_EQ(Compare(OpaqueProgram("one"), OpaqueProgram("two")).items[0].decision, GateDecision::kPass)
      << "all of both is delegated";
  const StaticCheck worse = Compare(OpaqueProgram("one"), a);
  EXPECT_THAT(FactsWithDecision(worse, GateDecision::kFail), ElementsAre("delegated", "portable"));
}

TEST(StaticCheck, AllowsATolerance) {
  const OpaqueProgram a("x");
  OpaqueProgram b("x");
  b.method().planned_buffers = {10'050};
  EXPECT_EQ(Compare(a, b).decision, GateDecision::kPass);
  b.method().planned_buffers = {10'101};
  EXPECT_THAT(FactsWithDecision(Compare(a, b), GateDecision::kFail), ElementsAre("planned"));
  EXPECT_EQ(Compare(a, b, {{}, {{"planned", 0.02}}}).decision, GateDecision::kPass);
  EXPECT_EQ(Compare(b, a).decision, GateDecision::kPass) << "less is not worse";
  b = a;
  b.program.file_bytes = 101'001;
  EXPECT_THAT(FactsWithDecision(Compare(a, b), GateDecision::kFail), ElementsAre("file_size"));
}

TEST(StaticCheck, DelegatedBytesHaveALargerTolerance) {
  const OpaqueProgram a(std::string(1000, 'x'));
  EXPECT_THAT(FactsWithDecision(Compare(a, OpaqueProgram(std::string(1050, 'x'))), GateDecision::kFail),
              IsEmpty());
  const OpaqueProgram larger(std::string(1051, 'x'));
  EXPECT_THAT(FactsWithDecision(Compare(a, larger), GateDecision::kFail), ElementsAre("delegated_bytes"));
  EXPECT_THAT(FactsWithDecision(Compare(a, larger, {{}, {{"delegated_bytes", 0.06}}}), GateDecision::kFail),
              IsEmpty());
  EXPECT_EQ(CheckLimit(a, "delegated_bytes", 999).decision, GateDecision::kFail);
  EXPECT_EQ(CheckLimit(a, "delegated_bytes", 1000).decision, GateDecision::kPass);
}

TEST(StaticCheck, OtherBackendsPackNoWeights) {
  EXPECT_EQ(CheckLimit(OpaqueProgram("x"), "packed_weights", 0).decision, GateDecision::kPass)
      << "XNNPACK packs nothing of another backend's";
}

TEST(StaticCheck, ChecksEachMethod) {
  OpaqueProgram a("x");
  a.program.methods.push_back(a.method());
  a.program.methods[1].name = "decode";
  OpaqueProgram b = a;
  b.program.methods[1].delegates.push_back(b.method().delegates[0]);
  const StaticCheck worse = Compare(a, b);
  ASSERT_THAT(FactsWithDecision(worse, GateDecision::kFail), ElementsAre("delegates"));
  const auto failed = std::ranges::find(worse.items, GateDecision::kFail, &StaticItem::decision);
  EXPECT_EQ(failed->Subject(), "decode: delegates");
  EXPECT_EQ(CheckLimit(b, "delegates", 1).items[0].decision, GateDecision::kPass);
  EXPECT_EQ(CheckLimit(b, "delegates", 1).items[1].decision, GateDecision::kFail);
  EXPECT_EQ(CheckLimit(b, "file_size", 1e5).items.size(), 1U) << "of the file, once";
}

TEST(StaticCheck, MissingMethodsFail) {
  OpaqueProgram a("x");
  a.program.methods.push_back(a.method());
  a.program.methods[1].name = "decode";
  const OpaqueProgram b("x");
  const StaticCheck lost = Compare(a, b);
  EXPECT_THAT(FactsWithDecision(lost, GateDecision::kFail), ElementsAre("methods"));
  const auto failed = std::ranges::find(lost.items, GateDecision::kFail, &StaticItem::decision);
  EXPECT_EQ(failed->reason, "the candidate has no method `decode`");
  const StaticCheck added = Compare(b, a);
  EXPECT_EQ(added.decision, GateDecision::kPass);
  ExpectGolden("report/static_check_of_added_method", added.notes);
}

TEST(StaticCheck, LimitsApplyToTheCandidateOnly) {
  const OpaqueProgram a("x", {"aten::cumsum.out"});
  const StaticCheck check = Compare(a, OpaqueProgram("x"), {{{"portable", 0}}, {}});
  EXPECT_EQ(check.decision, GateDecision::kPass);
  const StaticCheck fails = Compare(a, a, {{{"portable", 0}}, {}});
  ASSERT_THAT(FactsWithDecision(fails, GateDecision::kFail), ElementsAre("portable"));
  EXPECT_FALSE(std::ranges::find(fails.items, GateDecision::kFail, &StaticItem::decision)->baseline);
}

TEST(StaticCheck, NotesBranchesAndDynamicShapes) {
  OpaqueProgram program("x", {"aten::mm.out"});
  EXPECT_THAT(CheckStatic(program.Input(), {}).notes, IsEmpty());
  program.Add(Instruction::Kind::kJumpFalse, 0);
  ProgramValue& value = program.method().values.emplace_back();
  value.tensor.emplace();
  value.tensor->dynamism = ProgramTensor::Shape::kBounded;
  EXPECT_THAT(CheckStatic(program.Input(), {}).notes,
              ElementsAre("`forward` branches: shares count each instruction once, however often it runs",
                          "shapes of `forward` change at run time: they count at their upper bound"));
}

}  // namespace
}  // namespace etprof
