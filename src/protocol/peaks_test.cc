#include "protocol/peaks.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/json/json_members.h"

namespace etprof::protocol {
namespace {

using nlohmann::json;

Peaks Example() {
  Peaks peaks;
  peaks.threads = 2;
  peaks.cpus = "0-1";
  peaks.isa = "-avx2";
  peaks.isa_state.enabled = {"avx"};
  peaks.clock_hz = 3.5e9;
  peaks.elapsed_ns = 1'200'000'000;
  peaks.compute = {{"avx", "fp32", "vmulps, vaddps ymm", {1e11, 9e10, 8e10, 10}}};
  peaks.memory = {{"L1", "read", {2e11, 1e11, 1e10, 10}, 32768, 65536},
                  {"DRAM", "copy", {2e10, 1e10, 1e9, 10}, 1 << 27, std::nullopt}};
  return peaks;
}

TEST(PeaksJson, ReadsBackWrittenPeaks) {
  const json written = Example();
  EXPECT_EQ(json(written.get<Peaks>()), written);
  EXPECT_EQ(written["compute"][0]["macs_per_s"], 1e11);
  EXPECT_EQ(written["memory"][0]["worst_bytes_per_s"], 1e10);
  EXPECT_EQ(written["memory"][1]["capacity_bytes"], nullptr);
}

TEST(PeaksJson, RefusesInvalidPeaks) {
  for (const char* const patch :
       {R"({"threads": 0})", R"({"threads": "two"})", R"({"clock_hz": -1})", R"({"compute": [{}]})",
        R"({"compute": null})", R"({"memory": [{"level": "L1", "access": "read", "working_set_bytes": 0}]})",
        R"({"isa_state": 5})"}) {
    json changed = Example();
    changed.merge_patch(json::parse(patch));
    EXPECT_ANY_THROW(changed.get<Peaks>()) << patch;
  }
  json changed = Example();
  changed["compute"][0]["tries"] = 0;
  EXPECT_THROW(changed.get<Peaks>(), std::invalid_argument);
  EXPECT_ANY_THROW(json::array().get<Peaks>());
}

}  // namespace
}  // namespace etprof::protocol
