#include "model/weights/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

const char* const kGoldens = "tests/golden/";

std::unique_ptr<Weights> Open(const std::string& folder) {
  absl::StatusOr<std::unique_ptr<Weights>> weights = Weights::Open(folder);
  EXPECT_TRUE(weights.ok()) << weights.status();
  return weights.ok() ? *std::move(weights) : nullptr;
}

absl::Status Error(const TemporaryFolder& folder) {
  return Weights::Open(folder.path()).status();
}

std::string FileOfTensor(const std::string& name) {
  return Safetensors(
      "{\"" + name +
          R"(": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}})",
      "abcd");
}

TEST(WeightsTest, ThreeContainersHoldTheSameTensors) {
  const auto safetensors = Open(std::string(kGoldens) + "marian.translate");
  const auto zip = Open(std::string(kGoldens) + "marian.bin_zip");
  const auto legacy = Open(std::string(kGoldens) + "marian.bin_legacy");
  ASSERT_TRUE(safetensors && zip && legacy);
  const std::vector<std::string_view> names = safetensors->Names();
  ASSERT_EQ(names.size(), 86u);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(zip->Names(), names);
  EXPECT_EQ(legacy->Names(), names);
  for (const std::string_view name : names) {
    const TensorView* expected = safetensors->Find(name);
    for (const Weights* other : {zip.get(), legacy.get()}) {
      const TensorView* tensor = other->Find(name);
      ASSERT_NE(tensor, nullptr);
      EXPECT_EQ(tensor->dtype, expected->dtype);
      EXPECT_EQ(tensor->shape, expected->shape);
      EXPECT_TRUE(std::equal(tensor->data.begin(), tensor->data.end(),
                             expected->data.begin(), expected->data.end()))
          << name;
    }
  }
  EXPECT_EQ(zip->Fingerprint(), safetensors->Fingerprint());
  EXPECT_EQ(legacy->Fingerprint(), safetensors->Fingerprint());
}

TEST(WeightsTest, TheEmbeddedModelIsHalfPrecision) {
  const auto weights = Open("model/embedded");
  ASSERT_TRUE(weights);
  const TensorView* shared = weights->Find("model.shared.weight");
  ASSERT_NE(shared, nullptr);
  EXPECT_EQ(shared->dtype, DType::kF16);
  EXPECT_THAT(shared->shape, ElementsAre(8004, 256));
  EXPECT_EQ(weights->Find("model.shared"), nullptr);
}

TEST(WeightsTest, FingerprintSeesNamesAndData) {
  const TemporaryFolder folder;
  folder.Write("model.safetensors", FileOfTensor("x"));
  const std::string first = Open(folder.path())->Fingerprint();
  EXPECT_EQ(first.size(), 16u);
  EXPECT_EQ(Open(folder.path())->Fingerprint(), first);
  folder.Write("model.safetensors", FileOfTensor("y"));
  EXPECT_NE(Open(folder.path())->Fingerprint(), first);
  std::string other = FileOfTensor("x");
  other.back() = '!';
  folder.Write("model.safetensors", other);
  EXPECT_NE(Open(folder.path())->Fingerprint(), first);
}

TEST(WeightsTest, NamesTheFilesItLooksForInAnEmptyFolder) {
  const TemporaryFolder folder;
  const absl::Status status = Weights::Open(folder.path()).status();
  EXPECT_THAT(status,
              IsError(StatusCode::kNotFound, "pytorch_model.bin.index.json"));
}

TEST(WeightsTest, NamesWeightsOfOtherFormats) {
  using testing::HasSubstr;
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() + "/onnx");
  folder.Write("onnx/model.onnx", "x");
  EXPECT_THAT(std::string(Error(folder).message()),
              HasSubstr("its onnx/model.onnx is in a format"));
  folder.Write("tf_model.h5", "x");
  EXPECT_THAT(std::string(Error(folder).message()), HasSubstr("onnx"));
  folder.Write("a-Q4_0.gguf", "x");
  EXPECT_THAT(std::string(Error(folder).message()),
              HasSubstr("its a-Q4_0.gguf is a model by itself"));
}

TEST(WeightsTest, ReadsShards) {
  const TemporaryFolder folder;
  folder.Write("a.safetensors", FileOfTensor("x"));
  folder.Write("b.safetensors", FileOfTensor("y"));
  folder.Write("model.safetensors.index.json",
               R"({"weight_map": {"x": "a.safetensors",
                                  "y": "b.safetensors"}})");
  const auto weights = Open(folder.path());
  ASSERT_TRUE(weights);
  EXPECT_THAT(weights->Names(), ElementsAre("x", "y"));
}

TEST(WeightsTest, ReadsShardsOfTorch) {
  const TemporaryFolder folder;
  const std::string state =
      StateDict({{"x", {.storage_elements = 2, .shape = {2}, .strides = {1}}}});
  folder.Write("a.bin", TorchLegacy(state, {{"0", 2, Floats({1, 2})}}));
  folder.Write("pytorch_model.bin.index.json",
               R"({"weight_map": {"x": "a.bin"}})");
  const auto weights = Open(folder.path());
  ASSERT_TRUE(weights);
  EXPECT_THAT(weights->Names(), ElementsAre("x"));
}

TEST(WeightsTest, RefusesBadIndexes) {
  const TemporaryFolder folder;
  folder.Write("a.safetensors", FileOfTensor("x"));
  const auto error = [&](const std::string& index) {
    folder.Write("model.safetensors.index.json", index);
    return Error(folder);
  };
  EXPECT_THAT(error("{"), IsError(StatusCode::kInvalidArgument, "JSON"));
  EXPECT_THAT(error("{}"), IsError(StatusCode::kInvalidArgument, "weight_map"));
  EXPECT_THAT(error(R"({"weight_map": {"x": 3}})"),
              IsError(StatusCode::kInvalidArgument, "'x'"));
  EXPECT_THAT(error(R"({"weight_map": {"y": "a.safetensors"}})"),
              IsError(StatusCode::kInvalidArgument, "'y'"));
  EXPECT_THAT(error(R"({"weight_map": {"x": "b.safetensors"}})"),
              IsError(StatusCode::kInvalidArgument, "b.safetensors"));
  for (const char* name : {"../a.safetensors", "/etc/passwd", "..", ".", "",
                           "a/../a.safetensors", "a\\u0000.safetensors"}) {
    EXPECT_THAT(error(std::string(R"({"weight_map": {"x": ")") + name + "\"}}"),
                IsError(StatusCode::kInvalidArgument, "folder"))
        << name;
  }
}

TEST(WeightsTest, RefusesFilesThatAreNotWeights) {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& bytes) {
    folder.Write("pytorch_model.bin", bytes);
    return Error(folder);
  };
  EXPECT_THAT(error(""), IsError(StatusCode::kInvalidArgument, "empty"));
  EXPECT_THAT(error("<html>"),
              IsError(StatusCode::kInvalidArgument, "formats"));
  EXPECT_THAT(error("version https://git-lfs.github.com/spec/v1\n"),
              IsError(StatusCode::kInvalidArgument, "git lfs pull"));
  EXPECT_THAT(error("PK\x03\x04"),
              IsError(StatusCode::kInvalidArgument, "damaged"));
  EXPECT_THAT(error("\x80\x02"),
              IsError(StatusCode::kInvalidArgument, "early"));
  folder.Remove("pytorch_model.bin");
  std::filesystem::create_directory(folder.path() + "/model.safetensors");
  EXPECT_THAT(Error(folder),
              IsError(StatusCode::kInvalidArgument, "model.safetensors"));
}

}  // namespace
}  // namespace trivium
