#include <gtest/gtest.h>

#include "show/subjects/run/report_parts.h"

namespace etprof::show {
namespace {

TEST(OperatorNames, AddLocationsOnlyToDuplicateNames) {
  Profile profile;
  const auto add = [&](const char* name, int call) {
    Operator& op = profile.operators.emplace_back();
    op.key.kind = SpanKind::kBackend;
    op.name = op.type = name;
    op.call_index = call;
  };
  add("GEMM #1", 0);
  add("GEMM #2", 0);
  add("GEMM #1", 4);
  add("cumsum.out", 2);
  add("cumsum.out", 3);
  add("cumsum.out", 7);
  const OperatorNames calls(profile);
  EXPECT_EQ(calls.FullName(0), "GEMM #1 (call 0)");
  EXPECT_EQ(calls.FullName(1), "GEMM #2");
  EXPECT_EQ(calls.FullName(2), "GEMM #1 (call 4)");
  EXPECT_EQ(calls.PlainName(2), "GEMM #1");

  // A known layer is used; if two operators are in the same layer, the call distinguishes them.
  ProgramJoin join;
  join.operators.resize(profile.operators.size());
  for (const char* const path : {"block.0", "block.1", ""}) {
    join.places.emplace_back();
    join.places.back().modules.push_back({path, "torch.nn.Module"});
  }
  join.operators[0].place = 0;
  join.operators[1].place = 0;
  join.operators[2].place = 1;
  join.operators[3].place = 0;
  join.operators[4].place = 0;
  join.operators[5].place = 2;
  profile.program = join;
  const OperatorNames layers(profile);
  EXPECT_EQ(layers.FullName(0), "GEMM #1 (block.0)");
  EXPECT_EQ(layers.FullName(1), "GEMM #2");
  EXPECT_EQ(layers.FullName(2), "GEMM #1 (block.1)");
  EXPECT_EQ(layers.FullName(3), "cumsum.out (block.0, call 2)");
  EXPECT_EQ(layers.FullName(4), "cumsum.out (block.0, call 3)");
  EXPECT_EQ(layers.FullName(5), "cumsum.out (call 7)");  // the layer of the model itself has no name
}

// Framework spans of an operator and of a call are both named as overhead.
TEST(OperatorNames, FrameworkSpanIsNamedOverhead) {
  Profile profile;
  for (const int call : {0, 1}) {
    Operator& op = profile.operators.emplace_back();
    op.key.kind = SpanKind::kDelegateCall;
    op.category.group = OperatorGroup::kDelegateOverhead;
    op.name = "DELEGATE_CALL";
    op.call_index = call;
  }
  EXPECT_EQ(OperatorNames(profile).FullName(1), "DELEGATE_CALL (overhead) (call 1)");
}

}  // namespace
}  // namespace etprof::show
