#include "format/delegates/delegate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace etprof::delegates {
namespace {

std::string_view RecognizeBackend(const std::vector<Event>& events) {
  Evidence evidence;
  for (const Event& event : events) evidence.Add(PossibleWriters(event));
  return evidence.Owner() == nullptr ? "" : evidence.Owner()->backend;
}

TEST(Delegates, AreRecognizedByTheirEvents) {
  EXPECT_EQ(RecognizeBackend({{"Convolution (NHWC, F32) IGEMM #1"}, {"Invalid Unary Op #2"}}),
            "XnnpackBackend");
  EXPECT_EQ(RecognizeBackend({{"Static Reshape (NC)"}, {"Fully Connected (NC, QS8, QC8W) GEMM"}}),
            "XnnpackBackend");
  EXPECT_EQ(RecognizeBackend({{"RPC (execute) time (us)"}, {"Input OpId_2"}}), "QnnBackend");
  EXPECT_EQ(RecognizeBackend({{"Accelerator (execute) time (cycles)"}}), "QnnBackend");
  EXPECT_EQ(RecognizeBackend({{"{conv2d, \"dispatch_id\": 3}"}}), "VulkanBackend");
  EXPECT_EQ(RecognizeBackend({{"conv2d_3"}, {"ETVK_EXECUTE"}}), "VulkanBackend");
  EXPECT_EQ(RecognizeBackend({{"VGF_EXECUTE"}}), "VgfBackend");
  EXPECT_EQ(RecognizeBackend({{"+EthosUBackend::execute()NPU"}}), "EthosUBackend");
}

TEST(Delegates, AreRecognizedByTheirMetadata) {
  EXPECT_EQ(RecognizeBackend({{"out", false, false, R"({"preferredComputeUnit":"NE","estimatedCost":0.1})"}}),
            "CoreMLBackend");
  EXPECT_EQ(RecognizeBackend({{"out", false, false, R"({"estimatedCost":0.1})"}}), "");
  const Event layer{"Convolution: a (brgconv_avx512_f32)", false, false,
                    "OpenVINO a/aten.convolution/Convolution"};
  EXPECT_EQ(RecognizeBackend({layer}), "OpenvinoBackend");
  EXPECT_EQ(Interpret(&kOpenvino, layer).kind, ValueKind::kHostTime);
  EXPECT_EQ(RecognizeBackend({layer, {"Convolution: a (brgconv_avx512_f32)"}}), "");
}

TEST(Delegates, ParsesTheNamesOfOpenvinoLayers) {
  const auto layer = ParseOpenvinoLayer("GroupConvolution: aten_conv (brgconv_avx512_dw_f32)");
  ASSERT_TRUE(layer);
  EXPECT_EQ(layer->type, "GroupConvolution");
  EXPECT_EQ(layer->node, "aten_conv");
  EXPECT_EQ(layer->executed, "brgconv_avx512_dw_f32");
  for (const char* other : {"Convolution (NHWC, F32) IGEMM #1", "a: b", "(a): b", "a (b): c", ""})
    EXPECT_FALSE(ParseOpenvinoLayer(other)) << other;
}

TEST(Delegates, FormatsXnnpackMetadata) {
  using namespace std::string_view_literals;
  EXPECT_EQ(kXnnpack.metadata("xnn_f32_gemm\0"
                              "12"sv),
            "xnn_f32_gemm, 12 µs");
  EXPECT_EQ(kXnnpack.metadata("xnn_f32_gemm\0"sv), "xnn_f32_gemm");
  EXPECT_EQ(kXnnpack.metadata("xnn_f32_gemm"sv), "xnn_f32_gemm");
  EXPECT_EQ(kXnnpack.metadata("\0"
                              "12"sv),
            "12 µs");
}

TEST(Delegates, FormatsNeutronMetadataAsANumber) {
  EXPECT_EQ(kNeutron.metadata("A"), "function 65");
  EXPECT_EQ(kNeutron.metadata(""), "");
}

TEST(Delegates, AreNotGuessed) {
  EXPECT_EQ(RecognizeBackend({}), "");
  EXPECT_EQ(RecognizeBackend({{"conv"}}), "");
  EXPECT_EQ(RecognizeBackend({{"0", true}}), "");
  EXPECT_EQ(RecognizeBackend({{"relu_out:ios17.relu"}}), "");
  EXPECT_EQ(RecognizeBackend({{"Add (ND) #1"}, {"conv"}}), "");  // not all are XNNPACK's
  EXPECT_EQ(RecognizeBackend({{"ETVK_EXECUTE"}, {"RPC (execute) time (us)"}}),
            "");  // identifies two delegates
  EXPECT_EQ(FindDelegate("MyBackend"), nullptr);
}

bool MayHaveWritten(std::string_view backend, const std::vector<Event>& events) {
  Evidence evidence;
  for (const Event& event : events) evidence.Add(PossibleWriters(event));
  return evidence.MayBeWrittenBy(*FindDelegate(backend));
}

TEST(Delegates, AreExcludedByEventsOfOthers) {
  EXPECT_TRUE(MayHaveWritten("XnnpackBackend", {{"Add (ND) #1"}}));
  EXPECT_TRUE(MayHaveWritten("XnnpackBackend", {{"Add (ND, F32)"}, {"Invalid Unary Op"}}));  // an old version
  EXPECT_FALSE(MayHaveWritten("XnnpackBackend", {{"aten_convolution_default"}}));  // written by Core ML
  EXPECT_FALSE(MayHaveWritten("XnnpackBackend", {{"0", true}}));                   // written by Neutron
  EXPECT_FALSE(MayHaveWritten("XnnpackBackend", {{"RPC (us)"}}));
  EXPECT_FALSE(MayHaveWritten("QnnBackend", {{"Add (ND) #1"}}));
  EXPECT_TRUE(MayHaveWritten("QnnBackend", {{"Input OpId_2"}}));
  EXPECT_TRUE(MayHaveWritten("VulkanBackend", {{"conv2d_3"}}));
  EXPECT_TRUE(MayHaveWritten("CoreMLBackend", {{"aten_convolution_default"}}));
  EXPECT_TRUE(MayHaveWritten("NeutronBackend", {{"0", true}}));
}

TEST(Delegates, OnlyHostClocksAreHostTime) {
  struct Case {
    std::string_view backend;
    Event event;
    ValueKind kind;
    std::string_view unit, name;
  };
  for (const Case& test_case : std::vector<Case>{
           {"XnnpackBackend", {"Add (ND) #1"}, ValueKind::kHostTime, "ns", "Add (ND) #1"},
           {"QnnBackend", {"RPC (us)"}, ValueKind::kDeviceTime, "µs", "RPC"},
           {"QnnBackend", {"heap (bytes)"}, ValueKind::kBytes, "bytes", "heap"},
           {"QnnBackend", {"yields (count)"}, ValueKind::kCount, "count", "yields"},
           {"QnnBackend", {"conv:OpId_2 (cycles)"}, ValueKind::kCycles, "cycles", "conv:OpId_2"},
           {"QnnBackend", {"conv:OpId_2"}, ValueKind::kUnknown, "", "conv:OpId_2"},
           {"CoreMLBackend", {"out:ios17.conv"}, ValueKind::kEstimate, "ns", "out:ios17.conv"},
           {"VulkanBackend", {"ETVK_EXECUTE"}, ValueKind::kHostTime, "ns", "ETVK_EXECUTE"},
           {"VulkanBackend",
            {"{conv, \"dispatch_id\": 3}"},
            ValueKind::kDeviceTime,
            "ns",
            "conv, dispatch 3"},
           {"VulkanBackend", {"conv_3"}, ValueKind::kDeviceTime, "ns", "conv_3"},
           {"VulkanBackend", {"{\"dispatch_id\": 3"}, ValueKind::kDeviceTime, "ns", "{\"dispatch_id\": 3"},
           {"VgfBackend", {"VGF_EXECUTE"}, ValueKind::kHostTime, "ns", "VGF_EXECUTE"},
           {"VgfBackend", {"other"}, ValueKind::kUnknown, "", "other"},
           {"EthosUBackend",
            {"EthosUBackend::execute()"},
            ValueKind::kHostTime,
            "ns",
            "EthosUBackend::execute()"},
           {"NeutronBackend", {"0", true}, ValueKind::kCycles, "ticks", "kernel 0"},
           {"NeutronBackend", {"1", true, true}, ValueKind::kUnknown, "", "1"},
           {"OpenvinoBackend", {"layer"}, ValueKind::kUnknown, "", "layer"},
           {"MyBackend", {"layer"}, ValueKind::kUnknown, "", "layer"}}) {
    const EventMeaning meaning = Interpret(FindDelegate(test_case.backend), test_case.event);
    EXPECT_EQ(meaning.kind, test_case.kind) << test_case.backend << ' ' << test_case.event.name;
    EXPECT_EQ(meaning.unit, test_case.unit) << test_case.backend << ' ' << test_case.event.name;
    EXPECT_EQ(meaning.name, test_case.name) << test_case.backend;
    EXPECT_FALSE(meaning.moves_data);
  }
}

TEST(Delegates, RecognizesDataMovement) {
  EXPECT_TRUE(Interpret(&kVulkan, {"ETVK_COPY_OUTPUTS"}).moves_data);
  EXPECT_TRUE(Interpret(&kVgf, {"VGF_COPY_INPUTS"}).moves_data);
  EXPECT_TRUE(Interpret(&kEthosU, {"+EthosUBackend::execute()handles.input.memcpy()"}).moves_data);
}

}  // namespace
}  // namespace etprof::delegates
