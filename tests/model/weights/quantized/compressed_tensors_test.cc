#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "model/weights/half.h"
#include "model/weights/quantized/numbers.h"
#include "tests/model/weights/quantized/stored_module.h"
#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"
#include "tests/support/grouped_numbers.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

json CompressedConfig(const char* format, const json& weights) {
  return {{"quant_method", "compressed-tensors"},
          {"format", format},
          {"kv_cache_scheme", nullptr},
          {"ignore", {"lm_head"}},
          {"config_groups",
           {{"group_0",
             {{"weights", weights},
              {"input_activations", nullptr},
              {"targets", {"Linear"}}}}}}};
}

json W8A8() {
  json config = CompressedConfig(
      "int-quantized",
      {{"num_bits", 8}, {"type", "int"}, {"strategy", "channel"}});
  config["config_groups"]["group_0"]["input_activations"] = {
      {"num_bits", 8}, {"type", "int"}, {"strategy", "token"}};
  return config;
}

// "x.weight" [2, 3] i8 with scales 0.5 and 0.25.
StoredModule StoredBytes(const json& config) {
  StoredModule module(config);
  module.Set("x.weight", "I8", {2, 3}, Chars({1, 2, -128, 127, -1, 0}));
  module.Set("x.weight_scale", "F32", {2, 1}, Floats({0.5f, 0.25f}));
  module.Set("y", "F32", {1}, Floats({9}));
  return module;
}

TEST(CompressedTensorsTest, BytesOfW8A8AreKept) {
  const StoredModule module = StoredBytes(W8A8());
  EXPECT_THAT(module.Values(2, 3),
              ElementsAre(0.5f, 1, -64, 31.75f, -0.25f, 0));
  Problems problems;
  const auto weights = module.Read(&problems);
  EXPECT_THAT(weights->Names(), ElementsAre("x.weight", "y"));
  const TensorView& x = *weights->Find("x.weight");
  EXPECT_EQ(x.dtype, DType::kI8);
  EXPECT_NE(x.row_scales, nullptr);
  EXPECT_EQ(weights->Find("x.weight_scale"), nullptr);
  EXPECT_EQ(weights->Quantization(),
            "compressed-tensors of 8-bit integers, a scale a row");
  module.ExpectDamageIsReported({"y"});
}

// Bytes of models with other activations are only numbers.
TEST(CompressedTensorsTest, OtherBytesAreUnpacked) {
  json config = W8A8();
  json& group = config["config_groups"]["group_0"];
  group["input_activations"] = nullptr;
  StoredModule module = StoredBytes(config);
  const std::vector<float> values = {0.5f, 1, -64, 31.75f, -0.25f, 0};
  EXPECT_EQ(module.Values(2, 3), values);
  Problems problems;
  EXPECT_EQ(module.Read(&problems)->Find("x.weight")->row_scales, nullptr);

  group["weights"]["symmetric"] = false;
  module.config() = config;
  module.Set("x.weight_zero_point", "I8", {2, 1}, Chars({-128, 3}));
  EXPECT_THAT(module.Values(2, 3), ElementsAre(64.5f, 65, 0, 31, -1, -0.75f));
  module.ExpectDamageIsReported({"y"});
}

// Integers of `bits` bits in groups of a row, [rows, columns].
struct PackedWeight {
  int rows, columns, groups, bits;
  std::vector<int> codes, zeros;  // from 0 on; zeros are [rows, groups]
  std::vector<float> scales;      // [rows, groups]

  PackedWeight(int row_count, int column_count, int group_count, int bit_count,
               std::mt19937* random)
      : rows(row_count),
        columns(column_count),
        groups(group_count),
        bits(bit_count) {
    codes = RandomCodes(rows * columns, (1 << bits) - 1, random);
    zeros = RandomCodes(rows * groups, (1 << bits) - 1, random);
    scales = RandomScales(rows * groups, random);
  }

  // With weight_zero_point packed along the rows.
  StoredModule Stored(const json& weights) const {
    StoredModule module(CompressedConfig("pack-quantized", weights));
    std::string packed;
    for (int row = 0; row < rows; ++row) {
      packed += Words(PackedBits(
          {codes.begin() + row * columns, codes.begin() + (row + 1) * columns},
          bits));
    }
    const int64_t words = (columns * bits + 31) / 32;
    module.Set("x.weight_packed", "I32", {rows, words}, packed);
    module.Set("x.weight_scale", "F16", {rows, groups}, Halves(scales));
    module.Set("x.weight_shape", "I64", {2}, Longs({rows, columns}));
    const int64_t zero_words = (rows * bits + 31) / 32;
    std::vector<uint32_t> all(zero_words * groups);
    for (int group = 0; group < groups; ++group) {
      std::vector<int> column;
      for (int row = 0; row < rows; ++row) {
        column.push_back(zeros[row * groups + group]);
      }
      const std::vector<uint32_t> column_words = PackedBits(column, bits);
      for (int64_t i = 0; i < zero_words; ++i) {
        all[i * groups + group] = column_words[i];
      }
    }
    if (!weights.value("symmetric", true)) {
      module.Set("x.weight_zero_point", "I32", {zero_words, groups},
                 Words(all));
    }
    return module;
  }
  std::vector<float> Values(bool symmetric,
                            const std::vector<int>& group_of) const {
    std::vector<float> values;
    for (int i = 0; i < rows * columns; ++i) {
      const int at = i / columns * groups + group_of[i % columns];
      const int zero = symmetric ? 1 << (bits - 1) : zeros[at];
      values.push_back(
          F16ToF32(F32ToF16(scales[at] * static_cast<float>(codes[i] - zero))));
    }
    return values;
  }
};

TEST(CompressedTensorsTest, PackedIntegersAreUnpacked) {
  std::mt19937 random(1);
  for (const int bits : {2, 4, 8}) {
    for (const bool symmetric : {false, true}) {
      for (const int groups : {1, 3}) {
        SCOPED_TRACE(testing::Message() << bits << symmetric << groups);
        const PackedWeight weight(5, 21, groups, bits, &random);
        json numbers = {{"num_bits", bits},
                        {"symmetric", symmetric},
                        {"strategy", groups == 1 ? "channel" : "group"},
                        {"group_size", groups == 1 ? json() : json(7)}};
        std::vector<int> group_of(21);
        for (int i = 0; i < 21; ++i) group_of[i] = i * groups / 21;
        const StoredModule module = weight.Stored(numbers);
        EXPECT_EQ(module.Values(5, 21), weight.Values(symmetric, group_of));
        module.ExpectDamageIsReported();
      }
    }
  }
}

TEST(CompressedTensorsTest, FourBitsStayFourBitsInAnyOrder) {
  std::mt19937 random(7);
  const PackedWeight weight(3, 96, 3, 4, &random);
  StoredModule module = weight.Stored(
      {{"num_bits", 4}, {"strategy", "group"}, {"group_size", 32}});
  std::vector<int> group_of(96);
  for (int i = 0; i < 96; ++i) group_of[i] = i / 32;
  std::shuffle(group_of.begin(), group_of.end(), random);
  module.Set("x.weight_g_idx", "I32", {96},
             Words({group_of.begin(), group_of.end()}));
  Problems problems;
  const auto read = module.Read(&problems);
  const TensorView& tensor = *read->Find("x.weight");
  ASSERT_EQ(GroupFormOf(tensor), GroupForm::kZero4);
  const std::span<const int32_t> order = NumberOrderOf(tensor);
  ASSERT_EQ(order.size(), 96u);
  const std::vector<float> values = weight.Values(true, group_of);
  std::vector<GroupedRow> rows(3);
  ReadGroups(tensor, 0, rows);
  for (int row = 0; row < 3; ++row) {
    const std::vector<float> numbers = NumbersOf(rows[row]);
    for (int i = 0; i < 96; ++i) {
      EXPECT_EQ(F16ToF32(F32ToF16(numbers[i])), values[row * 96 + order[i]]);
    }
  }
}

TEST(CompressedTensorsTest, OrderOfActivationsGivesGroups) {
  std::mt19937 random(2);
  const PackedWeight weight(3, 12, 3, 4, &random);
  StoredModule module = weight.Stored(
      {{"num_bits", 4}, {"strategy", "group"}, {"group_size", 4}});
  std::vector<int> group_of = {0, 2, 1, 1, 0, 2, 2, 0, 1, 1, 0, 2};
  const auto set = [&] {
    module.Set("x.weight_g_idx", "I32", {12},
               Words({group_of.begin(), group_of.end()}));
  };
  set();
  EXPECT_EQ(module.Values(3, 12), weight.Values(true, group_of));
  module.ExpectDamageIsReported({"x.weight_g_idx"});
  group_of[5] = 3;
  set();
  Problems problems;
  module.Read(&problems);
  EXPECT_THAT(problems, ElementsAre(ErrorAt("x.weight_g_idx")));
  group_of[5] = -1;  // never set
  set();
  EXPECT_EQ(module.Values(3, 12),
            weight.Values(true, {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}));
}

// Numbers of f8_e4m3 with scales of every kind, in bf16.
TEST(CompressedTensorsTest, FloatsAreUnpacked) {
  std::mt19937 random(3);
  std::vector<int> codes = RandomCodes(4 * 6, 255, &random);
  for (int& code : codes) {
    if (code % 128 == 127) code = 0;  // not a number
  }
  struct Case {
    json weights;
    std::vector<int64_t> shape;
    int block_rows, block_columns;
  };
  const Case cases[] = {
      {{{"strategy", "tensor"}}, {1}, 4, 6},
      {{{"strategy", "channel"}}, {4, 1}, 1, 6},
      {{{"strategy", "group"}, {"group_size", 2}}, {4, 3}, 1, 2},
      {{{"strategy", "block"}, {"block_structure", {3, 4}}}, {2, 2}, 3, 4}};
  for (const Case& one : cases) {
    json weights = one.weights;
    weights.update({{"num_bits", 8}, {"type", "float"}});
    StoredModule module(CompressedConfig("float-quantized", weights));
    const int grid = (6 + one.block_columns - 1) / one.block_columns;
    const int count = (4 + one.block_rows - 1) / one.block_rows * grid;
    const std::vector<float> scales = RandomScales(count, &random);
    std::string bytes;
    for (const float scale : scales) {
      bytes += LittleEndian(F32ToBf16(scale), 2);
    }
    module.Set("x.weight", "F8_E4M3", {4, 6}, Chars(codes));
    module.Set("x.weight_scale", "BF16", one.shape, bytes);
    std::vector<float> expected;
    for (int i = 0; i < 24; ++i) {
      const float scale =
          scales[i / 6 / one.block_rows * grid + i % 6 / one.block_columns];
      expected.push_back(Bf16ToF32(
          F32ToBf16(F8E4m3ToF32(static_cast<uint8_t>(codes[i])) * scale)));
    }
    EXPECT_EQ(module.Values(4, 6), expected) << weights;
    module.ExpectDamageIsReported();
  }
}

TEST(CompressedTensorsTest, FourBitFloatsAreUnpacked) {
  std::mt19937 random(4);
  const std::vector<int> codes = RandomCodes(3 * 32, 15, &random);
  std::vector<int> packed;
  for (size_t i = 0; i < codes.size(); i += 2) {
    packed.push_back(codes[i] | codes[i + 1] << 4);
  }
  const double numbers[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  json weights = {{"num_bits", 4},
                  {"type", "float"},
                  {"strategy", "tensor_group"},
                  {"group_size", 16}};
  StoredModule nv(CompressedConfig("nvfp4-pack-quantized", weights));
  const std::vector<int> scales = {0x38, 0x40, 0x29, 0x01, 0x7e, 0x55};
  nv.Set("x.weight_packed", "U8", {3, 16}, Chars(packed));
  nv.Set("x.weight_scale", "F8_E4M3", {3, 2}, Chars(scales));
  nv.Set("x.weight_global_scale", "F32", {1}, Floats({3.7f}));
  weights["group_size"] = 32;
  weights["strategy"] = "group";
  StoredModule mx(CompressedConfig("mxfp4-pack-quantized", weights));
  mx.Set("x.weight_packed", "U8", {3, 16}, Chars(packed));
  mx.Set("x.weight_scale", "U8", {3, 1}, Chars({127, 120, 140}));
  std::vector<float> nv_values, mx_values;
  for (size_t i = 0; i < codes.size(); ++i) {
    const auto number = static_cast<float>(
        codes[i] < 8 ? numbers[codes[i]] : -numbers[codes[i] - 8]);
    const float scale =
        F8E4m3ToF32(static_cast<uint8_t>(scales[i / 16])) / 3.7f;
    nv_values.push_back(Bf16ToF32(F32ToBf16(number * scale)));
    const int powers[] = {0, -7, 13};
    mx_values.push_back(std::ldexp(number, powers[i / 32]));
  }
  EXPECT_EQ(nv.Values(3, 32), nv_values);
  EXPECT_EQ(mx.Values(3, 32), mx_values);
  const auto form = [](const StoredModule& module) {
    Problems problems;
    return GroupFormOf(*module.Read(&problems)->Find("x.weight"));
  };
  EXPECT_FALSE(form(nv).has_value());
  ASSERT_EQ(form(mx), GroupForm::kFp4);
  Problems problems;
  const auto read = mx.Read(&problems);
  std::vector<GroupedRow> rows(2);
  ReadGroups(*read->Find("x.weight"), 1, rows);
  EXPECT_THAT(NumbersOf(rows[0]), ElementsAreArray(&mx_values[32], 32));
  EXPECT_THAT(NumbersOf(rows[1]), ElementsAreArray(&mx_values[64], 32));
  // A scale that is not a number has no form.
  mx.Set("x.weight_scale", "U8", {3, 1}, Chars({127, 255, 140}));
  EXPECT_FALSE(form(mx).has_value());
  mx.Set("x.weight_scale", "U8", {3, 1}, Chars({127, 120, 140}));
  nv.ExpectDamageIsReported();
  mx.ExpectDamageIsReported();
}

TEST(CompressedTensorsTest, FourBitFloatsHaveWholeGroups) {
  for (const int columns : {3, 64}) {
    StoredModule module(CompressedConfig("mxfp4-pack-quantized",
                                         {{"num_bits", 4},
                                          {"type", "float"},
                                          {"strategy", "block"},
                                          {"block_structure", {1, columns}}}));
    const int groups = (32 + columns - 1) / columns;
    module.Set("x.weight_packed", "U8", {2, 16},
               Chars(std::vector<int>(32, 0x11)));
    module.Set("x.weight_scale", "U8", {2, groups},
               Chars(std::vector<int>(2 * groups, 127)));
    Problems problems;
    module.Read(&problems);
    EXPECT_THAT(problems, ElementsAre(ErrorAt("x.weight_scale"))) << columns;
  }
}

TEST(CompressedTensorsTest, AnOrderOfGroupsIsReadOfPackedWeightsOnly) {
  StoredModule module(CompressedConfig(
      "int-quantized",
      {{"num_bits", 8}, {"strategy", "group"}, {"group_size", 2}}));
  module.Set("x.weight", "I8", {1, 4}, Chars({1, 2, 3, 4}));
  module.Set("x.weight_scale", "F32", {1, 2}, Floats({1, 2}));
  EXPECT_EQ(module.Values(1, 4), (std::vector<float>{1, 2, 6, 8}));
  module.Set("x.weight_g_idx", "I32", {4}, Words({1, 0, 1, 0}));
  Problems problems;
  module.Read(&problems);
  EXPECT_THAT(problems, ElementsAre(ErrorAt("x.weight_g_idx")));
}

TEST(CompressedTensorsTest, ZeroPointsChooseAmongGroups) {
  StoredModule module(CompressedConfig("int-quantized", {}));
  const json symmetric = {{"num_bits", 8}, {"strategy", "channel"}};
  json asymmetric = symmetric;
  asymmetric["symmetric"] = false;
  module.config()["config_groups"] = {{"a", {{"weights", symmetric}}},
                                      {"b", {{"weights", asymmetric}}}};
  module.Set("x.weight", "I8", {1, 2}, Chars({5, 7}));
  module.Set("x.weight_scale", "F32", {1, 1}, Floats({2}));
  EXPECT_EQ(module.Values(1, 2), (std::vector<float>{10, 14}));
  module.Set("x.weight_zero_point", "I8", {1, 1}, Chars({3}));
  EXPECT_EQ(module.Values(1, 2), (std::vector<float>{4, 8}));
}

// The first group whose shapes fit is a module's own.
TEST(CompressedTensorsTest, ShapesChooseAmongGroups) {
  std::mt19937 random(5);
  const PackedWeight weight(5, 21, 3, 4, &random);
  StoredModule module = weight.Stored(
      {{"num_bits", 4}, {"strategy", "group"}, {"group_size", 7}});
  module.config()["config_groups"] = {
      {"a", {{"weights", {{"num_bits", 8}, {"strategy", "channel"}}}}},
      {"b",
       {{"weights",
         {{"num_bits", 4}, {"strategy", "group"}, {"group_size", 7}}}}},
      {"c", {{"input_activations", {{"num_bits", 8}}}}}};
  std::vector<int> group_of(21);
  for (int i = 0; i < 21; ++i) group_of[i] = i / 7;
  EXPECT_EQ(module.Values(5, 21), weight.Values(true, group_of));
  Problems problems;
  EXPECT_EQ(module.Read(&problems)->Quantization(),
            "compressed-tensors of 8-bit integers, a scale a row and 4-bit "
            "integers, groups of 7");
}

TEST(CompressedTensorsTest, HugeSizesAreReported) {
  std::mt19937 random(6);
  StoredModule module = PackedWeight(5, 21, 1, 4, &random)
                            .Stored({{"num_bits", 4}, {"strategy", "channel"}});
  for (const int64_t size :
       {int64_t{0}, int64_t{-1}, INT64_MAX, INT64_MAX / 64, int64_t{1} << 32}) {
    for (const bool first : {false, true}) {
      module.Set("x.weight_shape", "I64", {2},
                 Longs({first ? size : 5, first ? 21 : size}));
      Problems problems;
      module.Read(&problems);
      EXPECT_THAT(problems, ElementsAre(ErrorAt("'x."))) << size;
    }
  }
}

TEST(CompressedTensorsTest, OtherSettingsAreRefused) {
  const auto problem = [](const char* pointer, const json& value) {
    StoredModule module(W8A8());
    module.config()[json::json_pointer(pointer)] = value;
    Problems problems;
    module.Read(&problems);
    return problems.empty() ? "none" : problems.front();
  };
  EXPECT_EQ(problem("/ignore", json::array()), "none");
  EXPECT_EQ(problem("/sparsity_config", {{"format", "dense"}}), "none");
  EXPECT_EQ(problem("/kv_cache_scheme", {{"num_bits", 8}}), "none");
  EXPECT_THAT(problem("/format", "marlin-24"), ErrorAt("format"));
  EXPECT_THAT(problem("/sparsity_config", {{"format", "sparse-24-bitmask"}}),
              ErrorAt("sparsity_config"));
  EXPECT_THAT(problem("/transform_config", {{"config_groups", 1}}),
              ErrorAt("transform_config"));
  EXPECT_THAT(problem("/config_groups", json::object()),
              ErrorAt("config_groups"));
  EXPECT_THAT(problem("/config_groups", 3), ErrorAt("config_groups"));
  EXPECT_THAT(problem("/config_groups/group_0", 3), ErrorAt("config_groups"));
  json many = json::object();
  for (int i = 0; i < 101; ++i) many[std::to_string(i)] = json::object();
  EXPECT_THAT(problem("/config_groups", many), ErrorAt("config_groups"));
  const std::string weights = "/config_groups/group_0/weights/";
  EXPECT_THAT(problem((weights + "num_bits").c_str(), 3),
              ErrorAt("'group_0'.weights: num_bits"));
  EXPECT_THAT(problem((weights + "num_bits").c_str(), nullptr),
              ErrorAt("num_bits"));
  EXPECT_THAT(problem((weights + "type").c_str(), "complex"), ErrorAt("type"));
  EXPECT_THAT(problem((weights + "strategy").c_str(), "token"),
              ErrorAt("strategy"));
  EXPECT_THAT(problem((weights + "strategy").c_str(), "group"),
              ErrorAt("group_size"));
  EXPECT_THAT(problem((weights + "strategy").c_str(), "block"),
              ErrorAt("block_structure"));
}

}  // namespace
}  // namespace trivium
