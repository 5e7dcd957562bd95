// FP8 and bitsandbytes against their definitions, and what is common to all
// formats.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "model/weights/half.h"
#include "model/weights/imagined_weights.h"
#include "model/weights/quantized/numbers.h"
#include "model/weights/quantized/quantized_weights.h"
#include "tests/model/weights/quantized/stored_module.h"
#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<int> FiniteF8(int count, std::mt19937* random) {
  std::vector<int> codes = RandomCodes(count, 255, random);
  for (int& code : codes) {
    if (code % 128 == 127) code = 0;
  }
  return codes;
}

TEST(Fp8Test, BlocksHaveScales) {
  std::mt19937 random(1);
  StoredModule module({{"quant_method", "fp8"}, {"weight_block_size", {2, 4}}});
  const std::vector<int> codes = FiniteF8(5 * 6, &random);
  const std::vector<float> scales = {0.3f, 1, 2.7f, -1, 5, 0.01f};
  module.Set("x.weight", "F8_E4M3", {5, 6}, Chars(codes));
  module.Set("x.weight_scale_inv", "F32", {3, 2}, Floats(scales));
  std::vector<float> expected;
  for (int i = 0; i < 30; ++i) {
    expected.push_back(F8E4m3ToF32(static_cast<uint8_t>(codes[i])) *
                       scales[i / 6 / 2 * 2 + i % 6 / 4]);
  }
  EXPECT_EQ(module.Values(5, 6), expected);
  module.ExpectDamageIsReported();
}

TEST(Fp8Test, TensorsAndRowsHaveScales) {
  std::mt19937 random(2);
  const std::vector<int> codes = FiniteF8(3 * 3, &random);
  struct Case {
    const char* name;
    std::vector<int64_t> shape;
    std::vector<float> scales;
  };
  for (const Case& one :
       std::vector<Case>{{"x.weight_scale", {}, {0.7f}},
                         {"x.weight_scale_inv", {1}, {0.7f}},
                         {"x.weight_scale", {3, 1}, {0.7f, -3, 1}},
                         {"x.weight_scale", {3}, {0.7f, -3, 1}}}) {
    StoredModule module(json{{"quant_method", "fp8"}});
    module.Set("x.weight", "F8_E4M3", {3, 3}, Chars(codes));
    module.Set(one.name, "F32", one.shape, Floats(one.scales));
    std::vector<float> expected;
    for (int i = 0; i < 9; ++i) {
      expected.push_back(F8E4m3ToF32(static_cast<uint8_t>(codes[i])) *
                         one.scales[one.scales.size() == 1 ? 0 : i / 3]);
    }
    EXPECT_EQ(module.Values(3, 3), expected);
    module.ExpectDamageIsReported();
  }
}

TEST(Fp8Test, OtherSettingsAreRefused) {
  const auto problem = [](const json& change) {
    StoredModule module(json{{"quant_method", "fp8"}});
    module.config().update(change);
    Problems problems;
    module.Read(&problems);
    return problems.empty() ? "none" : problems.front();
  };
  EXPECT_EQ(problem({{"fmt", "e4m3"}, {"weight_block_size", nullptr}}), "none");
  EXPECT_THAT(problem({{"fmt", "e5m2"}}), ErrorAt("fmt"));
  EXPECT_THAT(problem({{"weight_block_size", {1, 2, 3}}}),
              ErrorAt("weight_block_size"));
  EXPECT_THAT(problem({{"weight_block_size", 128}}),
              ErrorAt("weight_block_size"));
  EXPECT_THAT(problem({{"weight_block_size", {0, 128}}}),
              ErrorAt("weight_block_size"));
}

// A weight of 4 bits [rows, columns] in blocks.
struct FourBitWeight {
  int rows, columns, block;
  std::vector<int> codes;
  std::vector<float> numbers;  // [16]
  std::vector<float> absmax;   // [blocks]

  FourBitWeight(int row_count, int column_count, int block_size,
                std::mt19937* random)
      : rows(row_count), columns(column_count), block(block_size) {
    codes = RandomCodes(rows * columns, 15, random);
    numbers = RandomScales(16, random);
    absmax = RandomScales((rows * columns + block - 1) / block, random);
  }
  json State(const char* dtype) const {
    return {{"quant_type", "nf4"},
            {"blocksize", block},
            {"dtype", dtype},
            {"shape", {rows, columns}}};
  }
  StoredModule Stored(const json& state) const {
    StoredModule module({{"quant_method", "bitsandbytes"},
                         {"load_in_4bit", true},
                         {"bnb_4bit_quant_type", "nf4"}});
    std::vector<int> bytes((codes.size() + 1) / 2);
    for (size_t i = 0; i < codes.size(); ++i) {
      bytes[i / 2] |= codes[i] << (i % 2 == 0 ? 4 : 0);
    }
    const std::string text = state.dump();
    module.Set("x.weight", "U8", {static_cast<int64_t>(bytes.size()), 1},
               Chars(bytes));
    module.Set("x.weight.quant_map", "F32", {16}, Floats(numbers));
    module.Set("x.weight.absmax", "F32", {static_cast<int64_t>(absmax.size())},
               Floats(absmax));
    module.Set("x.weight.quant_state.bitsandbytes__nf4", "U8",
               {static_cast<int64_t>(text.size())}, text);
    return module;
  }
  std::vector<float> Values(DType type) const {
    std::vector<float> values;
    for (size_t i = 0; i < codes.size(); ++i) {
      values.push_back(RoundTo(type, numbers[codes[i]] * absmax[i / block]));
    }
    return values;
  }
};

TEST(BitsAndBytesTest, FourBitsAreUnpacked) {
  std::mt19937 random(3);
  for (const auto& [name, type] : {std::pair("float32", DType::kF32),
                                   {"float16", DType::kF16},
                                   {"bfloat16", DType::kBf16}}) {
    // Blocks do not end with rows, and the last one may be short.
    const FourBitWeight weight(5, 13, 8, &random);
    const StoredModule module = weight.Stored(weight.State(name));
    EXPECT_EQ(module.Values(5, 13), weight.Values(type));
    module.ExpectDamageIsReported();
  }
}

TEST(BitsAndBytesTest, NestedScalesAreUnpacked) {
  std::mt19937 random(4);
  FourBitWeight weight(6, 16, 8, &random);
  json state = weight.State("bfloat16");
  state.update({{"nested_blocksize", 5},
                {"nested_dtype", "float32"},
                {"nested_offset", 0.03125}});
  StoredModule module = weight.Stored(state);
  const std::vector<int> codes = RandomCodes(12, 255, &random);
  const std::vector<float> numbers = RandomScales(256, &random);
  const std::vector<float> scales = {0.3f, -2, 0.7f};
  module.Set("x.weight.absmax", "U8", {12}, Chars(codes));
  module.Set("x.weight.nested_quant_map", "F32", {256}, Floats(numbers));
  module.Set("x.weight.nested_absmax", "F32", {3}, Floats(scales));
  for (int i = 0; i < 12; ++i) {
    weight.absmax[i] = numbers[codes[i]] * scales[i / 5] + 0.03125f;
  }
  EXPECT_EQ(module.Values(6, 16), weight.Values(DType::kBf16));
  module.ExpectDamageIsReported();
}

TEST(BitsAndBytesTest, BrokenStatesAreReported) {
  std::mt19937 random(5);
  const FourBitWeight weight(4, 8, 8, &random);
  const auto problems_of = [&](const json& change) {
    json state = weight.State("float16");
    state.update(change);
    Problems problems;
    weight.Stored(state).Read(&problems);
    return problems;
  };
  EXPECT_THAT(problems_of(json::object()), IsEmpty());
  for (const json& change : std::vector<json>{{{"blocksize", 0}},
                                              {{"blocksize", nullptr}},
                                              {{"dtype", "int8"}},
                                              {{"shape", {4}}},
                                              {{"shape", {4, -8}}},
                                              {{"shape", {1 << 30, 1 << 30}}},
                                              {{"nested_blocksize", "x"}}}) {
    EXPECT_THAT(problems_of(change), ElementsAre(ErrorAt("'x."))) << change;
  }
  StoredModule module = weight.Stored(weight.State("float16"));
  module.Set("x.weight.quant_state.bitsandbytes__nf4", "U8", {4}, "{[]}");
  Problems problems;
  module.Read(&problems);
  EXPECT_THAT(problems, ElementsAre(ErrorAt("bitsandbytes__nf4")));
}

TEST(BitsAndBytesTest, OtherTypesOfFourBitsAreRefused) {
  StoredModule module({{"quant_method", "bitsandbytes"},
                       {"load_in_4bit", true},
                       {"bnb_4bit_quant_type", "\u00e9"}});
  Problems problems;
  module.Read(&problems);
  EXPECT_THAT(problems, ElementsAre(ErrorAt("bnb_4bit_quant_type")));
}

TEST(BitsAndBytesTest, EightBitsAreUnpacked) {
  StoredModule module(
      {{"quant_method", "bitsandbytes"}, {"load_in_8bit", true}});
  module.Set("x.weight", "I8", {2, 3}, Chars({1, 2, -127, 127, -1, 0}));
  module.Set("x.SCB", "F32", {2}, Floats({0.3f, 11}));
  module.Set("x.weight_format", "U8", {}, Chars({0}));
  std::vector<float> expected;
  for (const float code : {1, 2, -127}) {
    expected.push_back(code * 0.3f * 7.874015718698502e-3f);
  }
  for (const float code : {127, -1, 0}) {
    expected.push_back(code * 11 * 7.874015718698502e-3f);
  }
  EXPECT_EQ(module.Values(2, 3), expected);
  module.ExpectDamageIsReported({"x.weight_format"});
  module.Set("x.weight_format", "U8", {}, Chars({1}));
  Problems problems;
  module.Read(&problems);
  EXPECT_THAT(problems, ElementsAre(ErrorAt("weight_format")));
}

TEST(QuantizedWeightsTest, OtherWeightsAreUnchanged) {
  for (const json& config : {json(), json{{"quant_method", "mxfp4"}}}) {
    StoredModule module(config);
    module.Set("x.weight", "I8", {1}, Chars({1}));
    module.Set("x.weight_scale", "F32", {1}, Floats({1}));
    Problems problems;
    const auto weights = module.Read(&problems);
    EXPECT_THAT(problems, IsEmpty());
    EXPECT_FALSE(IsReal(*weights->Find("x.weight")));
    EXPECT_NE(weights->Find("x.weight_scale"), nullptr);
    EXPECT_EQ(weights->Quantization(), "");
  }
}

TEST(QuantizedWeightsTest, OtherMethodsAreRefusedWithThoseThatAreRead) {
  for (const json& config :
       {json{{"quant_method", "torchao"}}, json::object(), json("text")}) {
    Problems problems;
    EXPECT_EQ(ApplyQuantizationConfig({{"quantization_config", config}},
                                      nullptr, &problems),
              nullptr);
    EXPECT_THAT(problems, ElementsAre(ErrorAt("quant_method")));
    EXPECT_THAT(problems, ElementsAre(testing::HasSubstr(
                              "awq, bitsandbytes, compressed-tensors")));
  }
}

// The name of 2024.
TEST(QuantizedWeightsTest, CompressionConfigIsRead) {
  Problems problems;
  ApplyQuantizationConfig({{"compression_config", {{"quant_method", "x"}}}},
                          nullptr, &problems);
  EXPECT_THAT(problems, ElementsAre(ErrorAt("compression_config")));
}

TEST(QuantizedWeightsTest, ImaginedWeightsAreDescribed) {
  Problems problems;
  const auto weights = ApplyQuantizationConfig(
      {{"quantization_config",
        {{"quant_method", "awq"}, {"bits", 4}, {"group_size", 128}}}},
      ImagineWeights(), &problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_TRUE(weights->imagined());
  EXPECT_EQ(weights->Quantization(), "4-bit AWQ, groups of 128");
  EXPECT_NE(weights->Imagine("x.weight", {2, 3}), nullptr);
}

TEST(QuantizedWeightsTest, ManyProblemsAreCounted) {
  StoredModule module(json{{"quant_method", "fp8"}});
  for (int i = 0; i < 30; ++i) {
    module.Set("x." + std::to_string(i) + ".weight", "F8_E4M3", {1, 1},
               Chars({1}));
  }
  Problems problems;
  module.Read(&problems);
  EXPECT_THAT(problems, SizeIs(11));
  EXPECT_THAT(problems.back(), ErrorAt("20"));
}

}  // namespace
}  // namespace trivium
