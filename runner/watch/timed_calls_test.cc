#include "watch/timed_calls.h"

#include <gtest/gtest.h>

#include <string>

#include "timing/operator_clock.h"
#include "watch/trampolines.h"

namespace etprof::runner {
namespace {

// Has the same number and types of arguments as XNNPACK's functions that create operators.
std::string received;
int Create(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d, const void* e, std::size_t f,
           std::uint32_t g, std::int8_t h, float i, float j, const char* k, std::int64_t l, std::uint8_t m,
           float n, double o, float p, float q, float r, float s, float t, double u, std::uint32_t v,
           std::size_t w, const char* x) {
  received.clear();
  for (const double argument :
       {double{i}, double{j}, double{n}, o, double{p}, double{q}, double{r}, double{s}, double{t}, u})
    received += std::to_string(argument) + " ";
  for (const auto argument :
       {static_cast<std::int64_t>(a), static_cast<std::int64_t>(b), static_cast<std::int64_t>(c),
        static_cast<std::int64_t>(d), static_cast<std::int64_t>(f), static_cast<std::int64_t>(g),
        std::int64_t{h}, l, std::int64_t{m}, static_cast<std::int64_t>(v), static_cast<std::int64_t>(w)})
    received += std::to_string(argument) + " ";
  received += std::string(e == nullptr ? "none " : "some ") + k + " " + x;
  return -7;
}

void Spend(std::int64_t ns) {
  for (const std::int64_t begin = MonotonicNow(); MonotonicNow() - begin < ns;) {
  }
}

void (*inner_function)(std::int64_t) = &Spend;
void Outer(std::int64_t own_ns, std::int64_t inner_ns) {
  Spend(own_ns);
  inner_function(inner_ns);
}

TEST(TimedCalls, PassArgumentsAndResult) {
  if (!HasTrampolines()) GTEST_SKIP() << "nothing is watched here";
  TimedCalls timed;
  const auto call = [](auto* create) {
    return create(1, 2, 3, 4, &received, 6, 7, -8, 9.5F, -10.25F, "k", -12, 200, 14.5F, 15.5, 16.5F, 17.5F,
                  18.5F, 19.5F, 20.5F, 21.5, 22, std::size_t{1} << 40U, "x");
  };
  EXPECT_EQ(call(&Create), -7);
  const std::string expected = received;
  received.clear();
  EXPECT_EQ(call(reinterpret_cast<decltype(&Create)>(
                timed.MakeTimed(TimedCalls::Kind::kCreate, reinterpret_cast<void*>(&Create)))),
            -7);
  EXPECT_EQ(received, expected);
  EXPECT_NE(received.find("-8"), std::string::npos);
  EXPECT_EQ(timed.CallCounts(TimedCalls::Kind::kCreate), 1);
}

TEST(TimedCalls, CountNestedCallsForTheInnerFunction) {
  TimedCalls timed;
  inner_function = reinterpret_cast<decltype(inner_function)>(
      timed.MakeTimed(TimedCalls::Kind::kPack, reinterpret_cast<void*>(&Spend)));
  const auto outer = reinterpret_cast<decltype(&Outer)>(
      timed.MakeTimed(TimedCalls::Kind::kCreate, reinterpret_cast<void*>(&Outer)));
  const std::int64_t begin = MonotonicNow();
  outer(100'000, 300'000);
  outer(100'000, 300'000);
  const std::int64_t total_ns = MonotonicNow() - begin;
  EXPECT_GE(timed.TotalNs(TimedCalls::Kind::kPack), 600'000);
  EXPECT_GE(timed.TotalNs(TimedCalls::Kind::kCreate), 200'000);
  EXPECT_LE(timed.TotalNs(TimedCalls::Kind::kPack) + timed.TotalNs(TimedCalls::Kind::kCreate), total_ns);
  EXPECT_EQ(timed.CallCounts(TimedCalls::Kind::kPack), 2);
  EXPECT_EQ(timed.TotalNs(TimedCalls::Kind::kGraph), 0);
  inner_function = &Spend;
}

TEST(TimedCalls, ReturnTheFunctionItselfIfFull) {
  TimedCalls timed;
  void* const function = reinterpret_cast<void*>(&Spend);
  for (std::size_t i = 0; i < TimedCalls::kMaxFunctions; ++i)
    EXPECT_NE(timed.MakeTimed(TimedCalls::Kind::kGraph, function), function);
  EXPECT_EQ(timed.MakeTimed(TimedCalls::Kind::kGraph, function), function);
}

}  // namespace
}  // namespace etprof::runner
