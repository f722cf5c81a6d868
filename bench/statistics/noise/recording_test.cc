#include "noise/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>

namespace etprof::bench {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;

Recording Read(const std::string& text) {
  std::istringstream in(text);
  return ReadRecording(in);
}

TEST(ReadRecording, SeparatesSidesAndRounds) {
  const Recording recording = Read(
      "launch,round,side,start_ns,end_ns,median_ns\n"
      "# a comment\n"
      "0,0,0,0,50000000,5000000\n"
      "0,0,1,60000000,100000000,4000000\n"
      "0,1,0,100000000,200000000,10000000\n"
      "1,0,0,1000000000,1000000020,2\n"
      "1,0,1,2000000000,3000000000,100000000\n");
  ASSERT_EQ(recording.launches.size(), 2u);
  EXPECT_THAT(recording.launches[0].baseline, ElementsAre(DoubleEq(5e6), DoubleEq(10e6)));
  EXPECT_THAT(recording.launches[0].candidate, ElementsAre(DoubleEq(4e6), IsNan())) << "no burst of round 1";
  EXPECT_THAT(recording.launches[1].baseline, ElementsAre(DoubleEq(2)));
  EXPECT_DOUBLE_EQ(recording.seconds_per_launch, 1.5) << "3 s of two launches";
  EXPECT_DOUBLE_EQ(recording.runs_per_process, (10.0 + 10 + 10 + 10 + 10) / 4)
      << "five bursts, four processes";
}

TEST(ReadRecording, NamesTheMalformedLine) {
  for (const char* line : {"0,0,2,0,1,1", "0,0,0,0,1", "0,0,0,0,1,1,1", "0,0,zero,0,1,1", "0,0,0,0,1,"}) {
    EXPECT_THAT([&] { Read(std::string("launch,round\n0,0,0,0,1,1\n") + line + "\n"); },
                testing::ThrowsMessage<std::runtime_error>(HasSubstr("line 3")))
        << line;
  }
}

}  // namespace
}  // namespace etprof::bench
