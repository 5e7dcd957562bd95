// Folders whose linear layers the formats' own libraries quantized
// (make_quantized_goldens.py). Every weight has the bits that the library gives
// it, and the model computes what a folder of those weights computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/folder_report.h"
#include "model/model.h"
#include "model/weights/quantized/quantized_weights.h"
#include "tests/model/weights/weight_files.h"
#include "tests/support/generate.h"
#include "tests/support/grouped_numbers.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;

constexpr char kFolder[] = "tests/golden/quantized/";
// Its bytes are kept for int8 products, where others are quantized anew.
constexpr char kKeptBytes[] = "ct.w8a8";

// Folders whose numbers are multiplied in the four bits that they have.
bool KeepsFourBits(const std::string& name) {
  return name.starts_with("awq.") || name.starts_with("gptq.b4") ||
         name.starts_with("ct.w4") || name == "ct.mxfp4";
}

// Folders whose groups are not in the order of their inputs.
bool IsOrdered(const std::string& name) {
  return name == "gptq.b4_shuffled" || name == "gptq.b4_desc_act";
}

std::vector<std::string> QuantizedGoldens() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The same model, stored plainly.
class PlainFolder {
 public:
  explicit PlainFolder(const std::string& golden) {
    nlohmann::json config = *ReadJsonFile(golden + "/config.json");
    config.erase("quantization_config");
    folder_.Write("config.json", config.dump());
    folder_.Write("model.safetensors",
                  ReadWholeFile(golden + "/dequantized.safetensors"));
  }
  const std::string& path() const { return folder_.path(); }

 private:
  const TemporaryFolder folder_;
};

class QuantizedGoldenTest : public testing::TestWithParam<std::string> {
 protected:
  std::string golden() const { return kFolder + GetParam(); }
};

TEST_P(QuantizedGoldenTest, WeightsAreThoseOfTheLibrary) {
  const PlainFolder plain(golden());
  const auto expected = Weights::Open(plain.path());
  ASSERT_TRUE(expected.ok()) << expected.status();
  auto stored = Weights::Open(golden());
  ASSERT_TRUE(stored.ok()) << stored.status();
  Problems problems;
  const auto weights = ApplyQuantizationConfig(
      *ReadJsonFile(golden() + "/config.json"), *std::move(stored), &problems);
  EXPECT_THAT(problems, testing::IsEmpty());
  EXPECT_NE(weights->Quantization(), "");
  int packed = 0, grouped = 0, ordered = 0;
  for (const std::string_view name : (*expected)->Names()) {
    SCOPED_TRACE(name);
    const TensorView& of_library = *(*expected)->Find(name);
    const TensorView* const ours = weights->Find(name);
    ASSERT_NE(ours, nullptr);
    ASSERT_EQ(ours->shape, of_library.shape);
    packed += ours->packed != nullptr || ours->row_scales != nullptr;
    std::vector<float> values(of_library.elements()), theirs(values.size());
    CopyToF32(*ours, 0, values);
    CopyToF32(of_library, 0, theirs);
    for (size_t i = 0; i < values.size(); ++i) {
      // The library gives W8A8's products in f16; ours are in f32, as int8
      // products have them.
      if (GetParam() == kKeptBytes) {
        ASSERT_NEAR(values[i], theirs[i], 1e-3 * std::abs(theirs[i])) << i;
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(values[i]),
                  std::bit_cast<uint32_t>(theirs[i]))
            << i << ": " << values[i] << " and " << theirs[i];
      }
    }
    if (!GroupFormOf(*ours)) continue;
    // The library rounds products to the type of its scales.
    const int64_t k = ours->shape[1];
    const std::span<const int32_t> order = NumberOrderOf(*ours);
    ordered += !order.empty();
    std::vector<GroupedRow> rows(static_cast<size_t>(ours->shape[0]));
    ReadGroups(*ours, 0, rows);
    for (size_t row = 0; row < rows.size(); ++row) {
      const std::vector<float> numbers = NumbersOf(rows[row]);
      for (int64_t i = 0; i < k; ++i) {
        const float theirs_of =
            theirs[row * k + (order.empty() ? i : order[i])];
        ASSERT_NEAR(numbers[i], theirs_of, 0.004 * std::abs(theirs_of)) << i;
      }
    }
    ++grouped;
  }
  EXPECT_GE(packed, 4);
  EXPECT_EQ(grouped > 0, KeepsFourBits(GetParam()));
  EXPECT_EQ(ordered > 0, IsOrdered(GetParam()));
}

TEST_P(QuantizedGoldenTest, ModelIsThatOfItsPlainWeights) {
  if (GetParam() == kKeptBytes) GTEST_SKIP() << "has weights of its own";
  const PlainFolder plain(golden());
  const std::vector<int32_t> ids = {3, 17, 42, 5, 5, 30, 9};
  for (const Precision precision : {Precision::kF32, Precision::kInt8}) {
    std::vector<std::vector<float>> logits;
    std::vector<std::vector<int32_t>> written;
    for (const std::string& folder : {golden(), plain.path()}) {
      LoadOptions options;
      options.precision = precision;
      const auto model = Model::Load(folder, options);
      ASSERT_TRUE(model.ok()) << model.status();
      EXPECT_EQ((*model)->info().quantization.empty(), folder == plain.path());
      const auto engine = (*model)->NewEngine({.kv_cache_bytes = 1 << 22});
      ASSERT_TRUE(engine.ok()) << engine.status();
      const auto forced = ForceTargets(engine->get(), {}, ids, 3);
      ASSERT_TRUE(forced.ok()) << forced.status();
      logits.push_back(forced->logits);
      DecodingOptions search;
      search.max_new_tokens = 12;
      const auto found = GenerateAlone(engine->get(), {}, ids, search);
      ASSERT_TRUE(found.ok()) << found.status();
      written.push_back(found->front().ids);
    }
    EXPECT_EQ(logits[0], logits[1]) << PrecisionName(precision);
    EXPECT_EQ(written[0], written[1]) << PrecisionName(precision);
    EXPECT_GT(*std::max_element(logits[0].begin(), logits[0].end()), 0);
  }
}

TEST_P(QuantizedGoldenTest, FourBitsStayFourBitsByDefault) {
  const auto model = Model::Load(golden(), LoadOptions());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->info().precision == Precision::kInt4,
            KeepsFourBits(GetParam()));
}

TEST_P(QuantizedGoldenTest, ReportSaysHowItIsStored) {
  const FolderReport report = ReportFolder(golden(), LoadOptions());
  EXPECT_THAT(report.problems, testing::IsEmpty());
  EXPECT_NE(report.quantization, "");
  EXPECT_THAT(DescribeMemory(report),
              testing::HasSubstr("stored as " + report.quantization));
}

std::string QuantizedGoldenName(
    const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Folders, QuantizedGoldenTest,
                         testing::ValuesIn(QuantizedGoldens()),
                         QuantizedGoldenName);

}  // namespace
}  // namespace trivium
