// AWQ, GPTQ and HQQ against their definitions: codes are chosen first, packed
// bit by bit, and their values are scale (code - zero), rounded to f16.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "model/weights/grouped_row.h"
#include "model/weights/half.h"
#include "tests/model/weights/quantized/stored_module.h"
#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"
#include "tests/support/grouped_numbers.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;

float Rounded(float value) { return F16ToF32(F32ToF16(value)); }

// A weight [out, in] with zeros and scales for groups of inputs, [groups, out].
struct GroupedWeight {
  int out, in, group, most;
  std::vector<int> codes;  // [in, out]
  std::vector<int> zeros;
  std::vector<float> scales;

  GroupedWeight(int outs, int ins, int group_size, int bits, int least_zero,
                std::mt19937* random)
      : out(outs), in(ins), group(group_size), most((1 << bits) - 1) {
    codes = RandomCodes(in * out, most, random);
    zeros = RandomCodes(groups() * out, most, random);
    for (int& zero : zeros) zero = std::max(zero, least_zero);
    scales = RandomScales(groups() * out, random);
  }
  int groups() const { return (in + group - 1) / group; }
  // The values [out, in] if input i is of group groups[i].
  std::vector<float> Values(const std::vector<int>& groups) const {
    std::vector<float> values;
    for (int o = 0; o < out; ++o) {
      for (int i = 0; i < in; ++i) {
        const int at = groups[i] * out + o;
        values.push_back(Rounded(
            scales[at] * static_cast<float>(codes[i * out + o] - zeros[at])));
      }
    }
    return values;
  }
  std::vector<int> OrderedGroups() const {
    std::vector<int> groups(in);
    for (int i = 0; i < in; ++i) groups[i] = i / group;
    return groups;
  }
};

// Rows of codes, packed one by one.
std::string PackedRowsOf(const std::vector<int>& codes, int columns, int bits) {
  std::string bytes;
  for (size_t row = 0; row < codes.size(); row += columns) {
    bytes += Words(
        PackedBits({codes.begin() + row, codes.begin() + row + columns}, bits));
  }
  return bytes;
}

// AWQ's order within words of eight.
std::vector<int> Interleaved(const std::vector<int>& codes) {
  constexpr int kOrder[] = {0, 2, 4, 6, 1, 3, 5, 7};
  std::vector<int> ordered;
  for (size_t i = 0; i < codes.size(); ++i) {
    ordered.push_back(codes[i / 8 * 8 + kOrder[i % 8]]);
  }
  return ordered;
}

StoredModule StoredAwq(const GroupedWeight& weight) {
  StoredModule module({{"quant_method", "awq"},
                       {"bits", 4},
                       {"group_size", weight.group},
                       {"version", "gemm"}});
  const int64_t groups = weight.in / weight.group;
  module.Set("x.qweight", "I32", {weight.in, weight.out / 8},
             PackedRowsOf(Interleaved(weight.codes), weight.out, 4));
  module.Set("x.qzeros", "I32", {groups, weight.out / 8},
             PackedRowsOf(Interleaved(weight.zeros), weight.out, 4));
  module.Set("x.scales", "F16", {groups, weight.out}, Halves(weight.scales));
  return module;
}

TEST(AwqTest, ValuesAreThoseOfTheCodes) {
  std::mt19937 random(1);
  for (const auto& [out, in, group] :
       {std::tuple(8, 6, 2), {24, 64, 32}, {16, 5, 5}}) {
    const GroupedWeight weight(out, in, group, 4, 0, &random);
    StoredModule module = StoredAwq(weight);
    if (group == in) module.config()["group_size"] = -1;
    EXPECT_EQ(module.Values(out, in), weight.Values(weight.OrderedGroups()));
  }
}

TEST(AwqTest, DamageIsReported) {
  std::mt19937 random(2);
  StoredModule module = StoredAwq(GroupedWeight(16, 12, 4, 4, 0, &random));
  module.ExpectDamageIsReported();
  module.config()["group_size"] = 5;
  Problems problems;
  module.Read(&problems);
  EXPECT_THAT(problems, ElementsAre(ErrorAt("x.qweight")));
}

TEST(AwqTest, OtherSettingsAreRefused) {
  const auto problem = [](const json& change) {
    StoredModule module({{"quant_method", "awq"}, {"group_size", 4}});
    module.config().update(change);
    Problems problems;
    module.Read(&problems);
    return problems.empty() ? "none" : problems.front();
  };
  EXPECT_EQ(problem({{"version", "GEMM"}, {"bits", 4}}), "none");
  EXPECT_THAT(problem({{"version", "gemv"}}), ErrorAt("version"));
  EXPECT_THAT(problem({{"format", "marlin"}}), ErrorAt("format"));
  EXPECT_THAT(problem({{"bits", 3}}), ErrorAt("bits"));
  EXPECT_THAT(problem({{"group_size", 0}}), ErrorAt("group_size"));
  EXPECT_THAT(problem({{"group_size", "x"}}), ErrorAt("group_size"));
}

TEST(AwqTest, ScaledActivationsAreRefused) {
  StoredModule module(json{{"quant_method", "awq"}});
  module.Set("x.act.scales", "F16", {2}, Halves({1, 2}));
  Problems problems;
  module.Read(&problems);
  EXPECT_THAT(problems, ElementsAre(ErrorAt("x.act.scales")));
}

// `minus_one`: zeros are stored as one less.
StoredModule StoredGptq(const GroupedWeight& weight, int bits, bool minus_one,
                        const std::vector<int>& groups) {
  StoredModule module({{"quant_method", "gptq"},
                       {"bits", bits},
                       {"group_size", weight.group},
                       {"checkpoint_format", minus_one ? "gptq" : "gptq_v2"}});
  // Columns are packed: rows of the transpose.
  std::vector<uint32_t> words;
  for (int o = 0; o < weight.out; ++o) {
    std::vector<int> column;
    for (int i = 0; i < weight.in; ++i) {
      column.push_back(weight.codes[i * weight.out + o]);
    }
    const std::vector<uint32_t> packed = PackedBits(column, bits);
    words.insert(words.end(), packed.begin(), packed.end());
  }
  const int height = static_cast<int>(words.size()) / weight.out;
  std::vector<uint32_t> turned(words.size());
  for (size_t i = 0; i < words.size(); ++i) {
    turned[i % height * weight.out + i / height] = words[i];
  }
  std::vector<int> zeros = weight.zeros;
  for (int& zero : zeros) {
    if (minus_one) zero = (zero - 1) & weight.most;
  }
  const int64_t all = weight.groups();
  module.Set("x.qweight", "I32", {height, weight.out}, Words(turned));
  module.Set("x.qzeros", "I32", {all, (weight.out * bits + 31) / 32},
             PackedRowsOf(zeros, weight.out, bits));
  module.Set("x.scales", "F16", {all, weight.out}, Halves(weight.scales));
  if (!groups.empty()) {
    module.Set("x.g_idx", "I32", {weight.in},
               Words({groups.begin(), groups.end()}));
  }
  return module;
}

TEST(GptqTest, ValuesAreThoseOfTheCodes) {
  std::mt19937 random(3);
  for (const int bits : {2, 3, 4, 8}) {
    for (const bool minus_one : {false, true}) {
      SCOPED_TRACE(testing::Message() << bits << " bits, " << minus_one);
      const GroupedWeight weight(32, 96, 32, bits, 0, &random);
      EXPECT_EQ(StoredGptq(weight, bits, minus_one, {}).Values(32, 96),
                weight.Values(weight.OrderedGroups()));
      std::vector<int> groups = weight.OrderedGroups();
      std::shuffle(groups.begin(), groups.end(), random);
      EXPECT_EQ(StoredGptq(weight, bits, minus_one, groups).Values(32, 96),
                weight.Values(groups));
    }
  }
}

// The numbers stand in the order of their groups, those of a group in their own
// order.
TEST(GptqTest, FourBitsStayFourBitsInAnyOrderOfInputs) {
  std::mt19937 random(10);
  // The last group may be short.
  for (const auto& [in, group] :
       {std::pair(96, 32), {100, 32}, {96, 64}, {45, 45}, {256, 128}}) {
    for (const bool shuffled : {false, true}) {
      SCOPED_TRACE(testing::Message() << in << " " << group << shuffled);
      const GroupedWeight weight(16, in, group, 4, 0, &random);
      std::vector<int> groups = weight.OrderedGroups();
      if (shuffled) std::shuffle(groups.begin(), groups.end(), random);
      Problems problems;
      const auto read = StoredGptq(weight, 4, true, groups).Read(&problems);
      EXPECT_THAT(problems, testing::IsEmpty());
      const TensorView& tensor = *read->Find("x.weight");
      ASSERT_EQ(GroupFormOf(tensor), GroupForm::kZero4);
      std::vector<int> order(in);
      std::iota(order.begin(), order.end(), 0);
      if (shuffled && group < in) {
        std::stable_sort(order.begin(), order.end(),
                         [&](int a, int b) { return groups[a] < groups[b]; });
        EXPECT_THAT(NumberOrderOf(tensor), testing::ElementsAreArray(order));
      } else {
        EXPECT_THAT(NumberOrderOf(tensor), testing::IsEmpty());
      }
      const std::vector<float> values = weight.Values(groups);
      std::vector<GroupedRow> rows(3);
      ReadGroups(tensor, 9, rows);
      for (size_t row = 0; row < rows.size(); ++row) {
        const std::vector<float> numbers = NumbersOf(rows[row]);
        for (int i = 0; i < in; ++i) {
          ASSERT_EQ(Rounded(numbers[i]), values[(9 + row) * in + order[i]]);
        }
      }
    }
  }
}

TEST(GptqTest, GroupsOfOtherSizesHaveNoForm) {
  std::mt19937 random(11);
  const GroupedWeight weight(16, 96, 32, 4, 0, &random);
  std::vector<int> groups = weight.OrderedGroups();
  groups[40] = 0;  // of 33, 31 and 32 inputs
  const StoredModule module = StoredGptq(weight, 4, true, groups);
  EXPECT_EQ(module.Values(16, 96), weight.Values(groups));
  Problems problems;
  EXPECT_FALSE(
      GroupFormOf(*module.Read(&problems)->Find("x.weight")).has_value());
  // Nor have groups that are no whole groups of 32.
  const GroupedWeight small(16, 96, 24, 4, 0, &random);
  const auto read =
      StoredGptq(small, 4, true, small.OrderedGroups()).Read(&problems);
  EXPECT_FALSE(GroupFormOf(*read->Find("x.weight")).has_value());
}

TEST(GptqTest, SizesNeedNotFillWords) {
  std::mt19937 random(4);
  const GroupedWeight weight(5, 12, 12, 4, 0, &random);
  StoredModule module =
      StoredGptq(weight, 4, true, std::vector<int>(weight.in, 0));
  module.config()["group_size"] = -1;
  EXPECT_EQ(module.Values(5, 12), weight.Values(std::vector<int>(12, 0)));
}

TEST(GptqTest, DamageIsReported) {
  std::mt19937 random(5);
  const GroupedWeight weight(32, 64, 32, 4, 0, &random);
  std::vector<int> groups = weight.OrderedGroups();
  StoredGptq(weight, 4, true, groups).ExpectDamageIsReported({"x.g_idx"});
  StoredGptq(weight, 4, true, {}).ExpectDamageIsReported();
  for (const int wrong : {2, -1, 1 << 30}) {
    groups[7] = wrong;
    Problems problems;
    StoredGptq(weight, 4, true, groups).Read(&problems);
    EXPECT_THAT(problems, ElementsAre(ErrorAt("x.g_idx")));
  }
}

TEST(GptqTest, OtherSettingsAreRefused) {
  const auto problem = [](const json& change) {
    StoredModule module(
        {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 128}});
    module.config().update(change);
    Problems problems;
    module.Read(&problems);
    return problems.empty() ? "none" : problems.front();
  };
  EXPECT_EQ(problem({{"dynamic", {{"-:lm_head", json::object()}}}}), "none");
  EXPECT_EQ(problem({{"is_marlin_format", false}}), "none");
  EXPECT_THAT(problem({{"bits", 5}}), ErrorAt("bits"));
  EXPECT_THAT(problem({{"bits", nullptr}}), ErrorAt("bits"));
  EXPECT_THAT(problem({{"group_size", 0}}), ErrorAt("group_size"));
  EXPECT_THAT(problem({{"checkpoint_format", "marlin"}}),
              ErrorAt("checkpoint_format"));
  EXPECT_THAT(problem({{"is_marlin_format", true}}),
              ErrorAt("is_marlin_format"));
  EXPECT_THAT(problem({{"pack_dtype", "int64"}}), ErrorAt("pack_dtype"));
  EXPECT_THAT(problem({{"dynamic", {{"+:.*down", {{"bits", 8}}}}}}),
              ErrorAt("dynamic"));
}

TEST(AutoRoundTest, IsReadAsItsPackingSays) {
  std::mt19937 random(8);
  const GroupedWeight weight(16, 24, 8, 4, 1, &random);
  const std::vector<float> values = weight.Values(weight.OrderedGroups());
  const auto config = [](const char* packing) {
    return json{{"quant_method", "auto-round"},
                {"bits", 4},
                {"group_size", 8},
                {"extra_config", {{"lm_head", {{"bits", 16}}}}},
                {"packing_format", packing}};
  };
  StoredModule module = StoredGptq(weight, 4, true, {});
  module.config() = config("auto_round:auto_gptq");
  EXPECT_EQ(module.Values(16, 24), values);
  for (const char* packing : {"auto_round", "auto_round:gptqmodel"}) {
    module = StoredGptq(weight, 4, false, {});
    module.config() = config(packing);
    EXPECT_EQ(module.Values(16, 24), values);
  }
  module = StoredAwq(weight);
  module.config() = config("auto_round:auto_awq");
  EXPECT_EQ(module.Values(16, 24), values);
  module.config()["extra_config"]["x"] = {{"bits", 8}};
  Problems problems;
  module.Read(&problems);
  EXPECT_THAT(problems, ElementsAre(ErrorAt("extra_config")));
  module.config() = config("mlx");
  problems.clear();
  module.Read(&problems);
  EXPECT_THAT(problems, ElementsAre(ErrorAt("packing_format")));
}

// HQQ's matrix of groups has a row or a column a group. Part p of the rows is
// in the (parts - 1 - p)th bits of the words.
struct HqqWeight {
  int rows, columns, bits, group;
  bool by_rows;
  std::vector<int> codes;  // row-major, of the weight
  std::vector<float> scales, zeros;

  StoredModule Stored() const {
    const int all = rows * columns;
    const int width = by_rows ? group : all / group, height = all / width;
    const int parts = bits == 3 ? 10 : 8 / bits;
    const int part = (height + parts - 1) / parts;
    std::vector<uint32_t> words(part * width);
    for (int i = 0; i < all; ++i) {
      const int row = i / width;
      words[row % part * width + i % width] |=
          static_cast<uint32_t>(codes[i]) << bits * (parts - 1 - row / part);
    }
    StoredModule module(json{{"quant_method", "hqq"}});
    const std::vector<int64_t> shape = {part, width};
    if (bits == 3) {
      module.Set("x.W_q", "I32", shape, Words(words));
    } else {
      module.Set("x.W_q", "U8", shape, Chars({words.begin(), words.end()}));
    }
    const int64_t groups = all / group;
    const std::vector<int64_t> grid = by_rows ? std::vector<int64_t>{groups, 1}
                                              : std::vector<int64_t>{1, groups};
    module.Set("x.scale", "F16", grid, Halves(scales));
    module.Set("x.zero", "F16", grid, Halves(zeros));
    module.Set("x.shape", "I64", {2}, Longs({rows, columns}));
    module.Set("x.nbits", "I32", {}, Words({static_cast<uint32_t>(bits)}));
    module.Set("x.group_size", "I32", {},
               Words({static_cast<uint32_t>(group)}));
    module.Set("x.axis", "I32", {}, Words({by_rows ? 1u : 0u}));
    module.Set("x.view_as_float", "U8", {}, Chars({0}));
    return module;
  }
  std::vector<float> Values() const {
    std::vector<float> values;
    const int all = rows * columns;
    for (int i = 0; i < all; ++i) {
      const int at = by_rows ? i / group : i % (all / group);
      values.push_back(Rounded(
          Rounded(static_cast<float>(codes[i]) - zeros[at]) * scales[at]));
    }
    return values;
  }
};

TEST(HqqTest, ValuesAreThoseOfTheCodes) {
  std::mt19937 random(6);
  for (const int bits : {1, 2, 3, 4, 8}) {
    for (const bool by_rows : {false, true}) {
      SCOPED_TRACE(testing::Message() << bits << " bits, " << by_rows);
      HqqWeight weight{16, 24, bits, 8, by_rows, {}, {}, {}};
      weight.codes = RandomCodes(16 * 24, (1 << bits) - 1, &random);
      weight.scales = RandomScales(16 * 24 / 8, &random);
      weight.zeros = RandomScales(16 * 24 / 8, &random);
      for (float& zero : weight.zeros) zero = Rounded(zero * 30);
      EXPECT_EQ(weight.Stored().Values(16, 24), weight.Values());
    }
  }
}

TEST(HqqTest, DamageIsReported) {
  std::mt19937 random(7);
  HqqWeight weight{4, 8, 4, 8, true, {}, {}, {}};
  weight.codes = RandomCodes(32, 15, &random);
  weight.scales = RandomScales(4, &random);
  weight.zeros = RandomScales(4, &random);
  const StoredModule module = weight.Stored();
  module.ExpectDamageIsReported({"x.view_as_float"});
  const auto problems_of = [&](const char* name, uint32_t value) {
    StoredModule changed = module;
    changed.Set(name, "I32", {}, Words({value}));
    Problems problems;
    changed.Read(&problems);
    return problems;
  };
  EXPECT_THAT(problems_of("x.nbits", 9), ElementsAre(ErrorAt("x.nbits")));
  EXPECT_THAT(problems_of("x.axis", 2), ElementsAre(ErrorAt("x.axis")));
  EXPECT_THAT(problems_of("x.group_size", 5), ElementsAre(ErrorAt("x.shape")));
  EXPECT_THAT(problems_of("x.group_size", 32), ElementsAre(ErrorAt("x.W_q")));
  EXPECT_THAT(problems_of("x.view_as_float", 1),
              ElementsAre(ErrorAt("x.view_as_float")));
  StoredModule changed = module;
  for (const int64_t size : {int64_t{0}, int64_t{-8}, INT64_MAX}) {
    changed.Set("x.shape", "I64", {2}, Longs({4, size}));
    Problems problems;
    changed.Read(&problems);
    EXPECT_THAT(problems, ElementsAre(ErrorAt("x.shape")));
  }
}

}  // namespace
}  // namespace trivium
