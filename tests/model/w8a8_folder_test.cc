// A whole folder of compressed-tensors W8A8, made here from a golden decoder.
// Its own bytes are served.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/folder.h"
#include "model/transformer/linear.h"
#include "tests/model/weights/safetensors_file.h"
#include "tests/model/weights/weight_files.h"
#include "tests/support/generate.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kOriginal[] = "tests/golden/llama.lm";

json QuantizationConfig() {
  const json numbers = {{"num_bits", 8}, {"type", "int"}, {"symmetric", true}};
  json weights = numbers, activations = numbers;
  weights.update({{"strategy", "channel"}, {"dynamic", false}});
  activations.update({{"strategy", "token"}, {"dynamic", true}});
  return {{"quant_method", "compressed-tensors"},
          {"format", "int-quantized"},
          {"ignore", {"lm_head"}},
          {"config_groups",
           {{"group_0",
             {{"weights", weights},
              {"input_activations", activations},
              {"targets", {"Linear"}}}}}}};
}

// The golden's model with its layers' weights in s8, and with the same numbers
// in f32.
class W8A8FolderTest : public testing::Test {
 protected:
  W8A8FolderTest() {
    auto config = ReadJsonFile(std::string(kOriginal) + "/config.json");
    EXPECT_TRUE(config.ok()) << config.status();
    plain_.Write("config.json", config->dump());
    (*config)["quantization_config"] = QuantizationConfig();
    quantized_.Write("config.json", config->dump());

    const auto weights = Weights::Open(kOriginal);
    EXPECT_TRUE(weights.ok()) << weights.status();
    SafetensorsFile quantized, plain;
    for (const std::string_view view : (*weights)->Names()) {
      const std::string name(view);
      const TensorView& tensor = *(*weights)->Find(name);
      std::vector<float> values(tensor.elements());
      CopyToF32(tensor, 0, values);
      if (name.find("_proj.") == std::string::npos) {
        quantized.Add(name, "F32", tensor.shape, Floats(values));
      } else {
        const int64_t rows = tensor.shape[0];
        std::vector<float> scales;
        const std::string bytes = Quantize(&values, rows, &scales);
        quantized.Add(name, "I8", tensor.shape, bytes);
        quantized.Add(name + "_scale", "F32", {rows, 1}, Floats(scales));
      }
      plain.Add(name, "F32", tensor.shape, Floats(values));
    }
    quantized_.Write("model.safetensors", quantized.Finish());
    plain_.Write("model.safetensors", plain.Finish());
  }

  // Rounds rows to integers of at most 100, so that quantizing them anew would
  // give other integers.
  static std::string Quantize(std::vector<float>* values, int64_t rows,
                              std::vector<float>* scales) {
    std::string bytes;
    const size_t columns = values->size() / rows;
    for (size_t begin = 0; begin < values->size(); begin += columns) {
      float most = 0;
      for (size_t i = begin; i < begin + columns; ++i) {
        most = std::max(most, std::fabs((*values)[i]));
      }
      scales->push_back(most / 100);
      for (size_t i = begin; i < begin + columns; ++i) {
        const float q = std::round((*values)[i] / scales->back());
        bytes += static_cast<char>(static_cast<int8_t>(q));
        (*values)[i] = q * scales->back();
      }
    }
    return bytes;
  }

  static std::vector<float> Logits(const std::string& folder) {
    LoadOptions options;
    options.precision = Precision::kF32;
    const auto model = Model::Load(folder, options);
    EXPECT_TRUE(model.ok()) << model.status();
    const auto engine = (*model)->NewEngine({.kv_cache_bytes = 1 << 20});
    EXPECT_TRUE(engine.ok()) << engine.status();
    const std::vector<int32_t> ids = {71, 66, 11, 250, 3, 9, 120};
    auto forced = ForceTargets(engine->get(), {}, ids, 1);
    EXPECT_TRUE(forced.ok()) << forced.status();
    return std::move(forced->logits);
  }

  TemporaryFolder quantized_, plain_;
};

TEST_F(W8A8FolderTest, LogitsEqualThoseOfTheSameNumbersInF32) {
  const std::vector<float> logits = Logits(quantized_.path());
  EXPECT_THAT(logits, SizeIs(7 * 307));
  EXPECT_EQ(logits, Logits(plain_.path()));
  EXPECT_NE(logits, Logits(kOriginal));
}

// The product with a unit vector is a column of the weights.
void ExpectServed(const Formats& formats, const LinearTensors& tensors) {
  const TensorView& weight = *tensors.weight;
  const int out = static_cast<int>(weight.shape[0]);
  const int in = static_cast<int>(weight.shape[1]);
  ASSERT_EQ(weight.dtype, DType::kI8);
  std::vector<float> scales(out);
  CopyToF32(*weight.row_scales, 0, scales);
  const auto linear = Linear::Create(formats, std::span(&tensors, 1));
  ASSERT_TRUE(linear.ok()) << linear.status();
  Operand x(formats);
  x.Resize(in, in);
  for (int i = 0; i < in; ++i) {
    std::vector<float> column(in);
    column[i] = 1;
    x.Set(i, column.data());
  }
  Workspace workspace;
  const auto check = [&](int column, const ProductRow& product, float* y) {
    FinishRow(product, y);
    for (int row = 0; row < out; ++row) {
      const auto q = static_cast<int8_t>(weight.data[row * in + column]);
      EXPECT_EQ(std::lround(y[row] / scales[row]), q);
      EXPECT_NEAR(y[row] / scales[row], q, 1e-3);
    }
  };
  EXPECT_TRUE(linear->Forward(x, in, &workspace, check).ok());
}

TEST_F(W8A8FolderTest, Int8ServesTheFoldersOwnBytes) {
  Problems problems;
  LoadOptions options;
  options.precision = Precision::kInt8;
  const ModelFolder folder =
      ReadModelFolder(quantized_.path(), options, &problems);
  ASSERT_THAT(problems, IsEmpty());
  const auto& layers = folder.description.decoder->layer;
  ASSERT_THAT(layers, SizeIs(2));
  for (const LayerDescription& layer : layers) {
    const AttentionDescription& attention = layer.self_attention;
    for (const LinearTensors* tensors :
         {&attention.query, &attention.key, &attention.value, &attention.output,
          &*layer.gate, &layer.up, &layer.down}) {
      ExpectServed(folder.formats, *tensors);
    }
  }
}

}  // namespace
}  // namespace trivium
