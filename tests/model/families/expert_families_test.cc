// Decoders with mixtures of experts: options that goldens do not have, and the
// forms of their tensors.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/model/families/golden_folder.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::FloatEq;
using testing::IsEmpty;

// Each expert has tensors of its own in memory.
TEST(ExpertFamiliesTest, Gemma4sExpertsOfAllLayersAreBounded) {
  Folder folder("gemma4_text.moe");
  folder.config["num_hidden_layers"] = 1000;
  folder.config["num_experts"] = 1000;
  EXPECT_THAT(folder.LoadWithoutWeights(),
              testing::Contains(ErrorAt("num_experts")));
}

// Published folders of Hunyuan-A13B give its numbers once for each layer.
TEST(ExpertFamiliesTest, HunyuanReadsNumbersOfEachLayer) {
  Folder folder("hunyuan_v1_moe.lm");
  folder.config["moe_topk"] = {2, 2};
  folder.config["num_shared_expert"] = {1, 1};
  folder.config["moe_intermediate_size"] = {24, 24};
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.decoder->layer[1].experts->chosen, 2);
  folder.config["moe_intermediate_size"] = {24, 25};
  EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt("moe_intermediate_size")));
}

// All experts of a layer may be one tensor. That the golden case's is
// transposed, as in published folders, needs its values.
TEST(ExpertFamiliesTest, Qwen3VlReadsStackedExperts) {
  Folder folder("qwen3_moe.lm");
  folder.config["model_type"] = "qwen3_vl_moe_text";
  for (int layer = 0; layer < 2; ++layer) {
    const std::string name = fmt::format("model.layers.{}.mlp.experts.", layer);
    for (int expert = 0; expert < 4; ++expert) {
      for (const char* part : {"gate", "up", "down"}) {
        folder.weights.Remove(
            fmt::format("{}{}.{}_proj.weight", name, expert, part));
      }
    }
    folder.weights.Set(name + "gate_up_proj", {4, 128, 32});
    folder.weights.Set(name + "down_proj", {4, 32, 64});
  }
  EXPECT_THAT(folder.Load(), IsEmpty());
  folder.weights.Remove("model.layers.1.mlp.experts.down_proj");
  EXPECT_THAT(folder.Load(),
              ElementsAre(ErrorAt("model.layers.1.mlp.experts.down_proj")));
  // One of the tensors has the same shape either way around.
  folder.config["moe_intermediate_size"] = 16;
  for (const auto& down : {std::vector<int64_t>{4, 32, 16}, {4, 16, 32}}) {
    for (int layer = 0; layer < 2; ++layer) {
      const std::string name =
          fmt::format("model.layers.{}.mlp.experts.", layer);
      folder.weights.Set(name + "gate_up_proj", {4, 32, 32});
      folder.weights.Set(name + "down_proj", down);
    }
    EXPECT_THAT(folder.Load(), IsEmpty());
  }
}

// Phi 3.5 MoE has magnitudes of its own for short and for long texts.
TEST(ExpertFamiliesTest, PhiMoeReadsBothMagnitudes) {
  Folder folder("phimoe.lm");
  ASSERT_THAT(folder.LoadWithoutWeights(), IsEmpty());
  EXPECT_THAT(folder.description.decoder->rotary[0].magnitude, FloatEq(1.1f));
  folder.config["max_position_embeddings"] = 128;
  ASSERT_THAT(folder.LoadWithoutWeights(), IsEmpty());
  EXPECT_THAT(folder.description.decoder->rotary[0].magnitude, FloatEq(1.3f));
  folder.config["rope_parameters"] = {
      {"rope_type", "linear"}, {"factor", 2.0}, {"long_mscale", 1.3}};
  EXPECT_THAT(folder.LoadWithoutWeights(), ElementsAre(ErrorAt("long_mscale")));
}

}  // namespace
}  // namespace trivium
