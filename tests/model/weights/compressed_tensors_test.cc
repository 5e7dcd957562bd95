#include "model/weights/compressed_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

json W8A8() {
  const json numbers = {{"num_bits", 8}, {"type", "int"}, {"symmetric", true}};
  json weights = numbers, activations = numbers;
  weights.update({{"strategy", "channel"}, {"dynamic", false}});
  activations.update({{"strategy", "token"}, {"dynamic", true}});
  return {{"quantization_config",
           {{"quant_method", "compressed-tensors"},
            {"format", "int-quantized"},
            {"kv_cache_scheme", nullptr},
            {"ignore", {"lm_head"}},
            {"config_groups",
             {{"group_0",
               {{"weights", weights},
                {"input_activations", activations},
                {"output_activations", nullptr},
                {"targets", {"Linear"}}}}}}}}};
}

// Weights "x.weight" [2, 3] with scales 0.5 and 0.25, stored as `scale_entry`
// says, and "y".
std::unique_ptr<Weights> Open(const TemporaryFolder& folder,
                              const std::string& scale_entry) {
  folder.Write("model.safetensors",
               Safetensors(R"({"x.weight": {"dtype": "I8", "shape": [2, 3],
                                  "data_offsets": [0, 6]},)" +
                               scale_entry +
                               R"("y": {"dtype": "F32", "shape": [1],
                                  "data_offsets": [14, 18]}})",
                           std::string("\x01\x02\x80\x7f\xff\x00", 6) +
                               Floats({0.5f, 0.25f}) + Floats({9})));
  auto weights = Weights::Open(folder.path());
  EXPECT_TRUE(weights.ok()) << weights.status();
  return *std::move(weights);
}
constexpr char kScales[] = R"("x.weight_scale": {"dtype": "F32",
    "shape": [2, 1], "data_offsets": [6, 14]},)";

TEST(CompressedTensorsTest, RowsAreMultipliedByTheirScales) {
  const TemporaryFolder folder;
  Problems problems;
  const auto weights =
      ApplyQuantizationConfig(W8A8(), Open(folder, kScales), &problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_THAT(weights->Names(), ElementsAre("x.weight", "y"));
  const TensorView& x = *weights->Find("x.weight");
  EXPECT_EQ(x.dtype, DType::kI8);
  EXPECT_TRUE(IsReal(x));
  std::vector<float> values(6);
  CopyToF32(x, 0, values);
  EXPECT_THAT(values, ElementsAre(0.5f, 1, -64, 31.75f, -0.25f, 0));
  std::vector<float> middle(2);
  CopyToF32(x, 2, middle);
  EXPECT_THAT(middle, ElementsAre(-64, 31.75f));
  EXPECT_EQ(FirstNotFinite(x), std::nullopt);
  EXPECT_EQ(weights->Find("x.weight_scale"), nullptr);
}

TEST(CompressedTensorsTest, OtherWeightsAreUnchanged) {
  const TemporaryFolder folder;
  Problems problems;
  for (const json& config :
       {json::object(), json(nullptr),
        json{{"quantization_config", {{"quant_method", "mxfp4"}}}}}) {
    const auto weights =
        ApplyQuantizationConfig(config, Open(folder, kScales), &problems);
    EXPECT_FALSE(IsReal(*weights->Find("x.weight")));
    EXPECT_NE(weights->Find("x.weight_scale"), nullptr);
  }
  EXPECT_EQ(ApplyQuantizationConfig(W8A8(), nullptr, &problems), nullptr);
  EXPECT_THAT(problems, IsEmpty());
}

TEST(CompressedTensorsTest, NamesMissingScales) {
  // No scales, too few, and scales of another type.
  for (const char* entry :
       {R"("z": {"dtype": "F32", "shape": [2], "data_offsets": [6, 14]},)",
        R"("x.weight_scale": {"dtype": "F32", "shape": [1, 1],
            "data_offsets": [6, 10]},
           "z": {"dtype": "F32", "shape": [1], "data_offsets": [10, 14]},)",
        R"("x.weight_scale": {"dtype": "I32", "shape": [2, 1],
            "data_offsets": [6, 14]},)"}) {
    const TemporaryFolder folder;
    Problems problems;
    ApplyQuantizationConfig(W8A8(), Open(folder, entry), &problems);
    EXPECT_THAT(problems, ElementsAre(ErrorAt("x.weight")));
  }
}

TEST(CompressedTensorsTest, NamesSettingsThatAreNotW8A8) {
  const auto problem = [](const char* pointer, const json& value) {
    json config = W8A8();
    config["quantization_config"][json::json_pointer(pointer)] = value;
    Problems problems;
    ApplyQuantizationConfig(config, nullptr, &problems);
    return problems.empty() ? "none" : problems.front();
  };
  EXPECT_EQ(problem("/ignore", json::array()), "none");
  EXPECT_EQ(problem("/sparsity_config", {{"format", "dense"}}), "none");
  EXPECT_THAT(problem("/quant_method", "gptq"), ErrorAt("quant_method"));
  EXPECT_THAT(problem("/format", "pack-quantized"), ErrorAt("format"));
  EXPECT_THAT(problem("/kv_cache_scheme", {{"num_bits", 8}}),
              ErrorAt("kv_cache_scheme"));
  EXPECT_THAT(problem("/config_groups", json::object()),
              ErrorAt("config_groups"));
  const std::string group = "/config_groups/group_0/";
  EXPECT_THAT(problem((group + "weights/num_bits").c_str(), 4),
              ErrorAt("group_0.weights.num_bits"));
  EXPECT_THAT(problem((group + "weights/strategy").c_str(), "group"),
              ErrorAt("weights.strategy"));
  EXPECT_THAT(problem((group + "weights/symmetric").c_str(), false),
              ErrorAt("weights.symmetric"));
  EXPECT_THAT(problem((group + "input_activations").c_str(), nullptr),
              ErrorAt("input_activations.num_bits"));
  EXPECT_THAT(problem((group + "input_activations/dynamic").c_str(), false),
              ErrorAt("input_activations.dynamic"));
  EXPECT_THAT(
      problem((group + "output_activations").c_str(), {{"num_bits", 8}}),
      ErrorAt("output_activations"));
}

}  // namespace
}  // namespace trivium
