// DeepSeek V2 and V3, GLM 4 MoE, Gemma 4 and UMT5: options that goldens do not
// have, and the messages for folders that do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/model/families/golden_folder.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::FloatNear;
using testing::IsEmpty;

TEST(GroupedExpertsTest, RefusesWhatDoesNotFit) {
  struct Case {
    const char* folder;
    json changes;
    const char* at;
  };
  const Case cases[] = {
      {"glm4_moe.lm", {{"n_group", 3}}, "n_group"},
      {"glm4_moe.lm", {{"n_group", 4}}, "n_group"},
      {"glm4_moe.lm", {{"topk_group", 2}}, "topk_group"},
      {"glm4_moe.lm", {{"num_experts_per_tok", 5}}, "num_experts_per_tok"},
      {"deepseek_v3.lm", {{"num_experts_per_tok", 3}}, "num_experts_per_tok"},
      {"deepseek_v3.lm",
       {{"num_hidden_layers", 1000}, {"n_routed_experts", 1024}},
       "n_routed_experts"},
      {"deepseek_v3.lm",
       {{"moe_intermediate_size", 1 << 18}, {"n_shared_experts", 2}},
       "n_shared_experts"},
      {"deepseek_v3.lm", {{"qk_rope_head_dim", 7}}, "rotary positions"},
      {"deepseek_v3.lm", {{"kv_lora_rank", 1 << 18}}, "kv_lora_rank"},
      {"deepseek_v3.lm",
       {{"num_attention_heads", 1025}},
       "num_attention_heads"},
      {"deepseek_v2.lm", {{"topk_method", "noaux_tc"}}, "topk_method"},
      {"deepseek_v2.lm", {{"qk_nope_head_dim", "16"}}, "qk_nope_head_dim"},
      {"gemma4_text.lm",
       {{"architectures", {"AnyForSequenceClassification"}}},
       "architectures"},
      {"gemma4_text.lm", {{"is_causal", false}}, "is_causal"},
      {"gemma4_text.lm",
       {{"use_bidirectional_attention", "all"}},
       "use_bidirectional_attention"},
      {"gemma4_text.lm", {{"num_kv_shared_layers", 4}}, "num_kv_shared_layers"},
      {"gemma4_text.lm", {{"num_kv_shared_layers", 3}}, "num_kv_shared_layers"},
      {"gemma4_text.lm", {{"per_layer_config", {1, 2}}}, "per_layer_config"},
      {"gemma4_text.lm",
       {{"per_layer_config", {{"9", {{"head_dim", 8}}}}}},
       "per_layer_config"},
      {"gemma4_text.lm",
       {{"per_layer_config", {{"1", {{"heads", 8}}}}}},
       "per_layer_config"},
      {"gemma4_text.lm",
       {{"per_layer_config", {{"1", {{"head_dim", 8}}}}}},
       "layer 3"},
      {"gemma4_text.lm",
       {{"vocab_size_per_layer_input", 306}},
       "vocab_size_per_layer_input"},
      {"gemma4_text.lm", {{"rope_parameters", 5}}, "rope_parameters"},
      {"gemma4_text.lm",
       {{"enable_moe_block", true},
        {"num_experts", 4},
        {"top_k_experts", 5},
        {"moe_intermediate_size", 8}},
       "top_k_experts"},
  };
  for (const auto& [name, changes, at] : cases) {
    SCOPED_TRACE(changes.dump());
    Folder folder(name);
    folder.config.update(changes);
    EXPECT_THAT(folder.LoadWithoutWeights(), ElementsAre(ErrorAt(at)));
  }
}

TEST(GroupedExpertsTest, GreedyChoiceOfDeepSeekV2KnowsNoGroups) {
  Folder folder("deepseek_v2.lm");
  folder.config["n_group"] = 2;
  folder.config["norm_topk_prob"] = true;
  ASSERT_THAT(folder.Load(), IsEmpty());
  const auto& layers = folder.description.decoder->layer;
  EXPECT_FALSE(layers[0].experts.has_value());
  EXPECT_EQ(layers[1].experts->groups, 1);
  EXPECT_TRUE(layers[1].experts->over_all);
  folder.config["topk_method"] = "group_limited_greedy";
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.decoder->layer[1].experts->groups, 2);
}

// The scale has YaRN's magnitude for all dimensions twice.
TEST(GroupedExpertsTest, DeepSeekScalesScoresForLongTexts) {
  Folder folder("deepseek_v3.lm");
  folder.config["rope_scaling"] = {{"type", "yarn"},
                                   {"factor", 40},
                                   {"mscale", 1.0},
                                   {"mscale_all_dim", 0.8},
                                   {"original_max_position_embeddings", 16}};
  ASSERT_THAT(folder.LoadWithoutWeights(), IsEmpty());
  ASSERT_THAT(folder.Load(), IsEmpty());
  const double magnitude = 0.1 * 0.8 * std::log(40.0) + 1;
  EXPECT_THAT(
      folder.description.decoder->layer[0].self_attention.geometry.scale,
      FloatNear(static_cast<float>(magnitude * magnitude / std::sqrt(24.0)),
                1e-6f));
}

TEST(GroupedExpertsTest, ReadsExpertsThatAreStoredTogether) {
  Folder folder("glm4_moe.lm");
  for (int layer = 1; layer < 3; ++layer) {
    const std::string name =
        "model.layers." + std::to_string(layer) + ".mlp.experts.";
    for (int e = 0; e < 4; ++e) {
      for (const char* part : {"gate_proj", "up_proj", "down_proj"}) {
        folder.weights.Remove(name + std::to_string(e) + "." + part +
                              ".weight");
      }
    }
    folder.weights.Set(name + "gate_up_proj", {4, 64, 32});
    folder.weights.Set(name + "down_proj", {4, 32, 32});
  }
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.decoder->layer[2].experts->experts.size(), 4u);
}

TEST(Gemma4Test, LayersThatSeeEverythingHaveOtherHeads) {
  Folder folder("gemma4_text.lm");
  folder.config.erase("per_layer_config");
  folder.config["num_kv_shared_layers"] = 0;
  EXPECT_THAT(folder.LoadWithoutWeights(), IsEmpty());
  folder.config["global_head_dim"] = 64;
  folder.config["num_global_key_value_heads"] = 2;
  folder.config["attention_k_eq_v"] = true;
  for (const int layer : {1, 3}) {
    const std::string name =
        "model.layers." + std::to_string(layer) + ".self_attn.";
    folder.weights.Set(name + "q_proj.weight", {128, 32});
    folder.weights.Set(name + "k_proj.weight", {128, 32});
    folder.weights.Remove(name + "v_proj.weight");
    folder.weights.Set(name + "o_proj.weight", {32, 128});
    folder.weights.Set(name + "q_norm.weight", {64});
    folder.weights.Set(name + "k_norm.weight", {64});
  }
  for (const char* part : {"k_proj", "v_proj"}) {
    folder.weights.Set(
        std::string("model.layers.2.self_attn.") + part + ".weight", {32, 32});
  }
  folder.weights.Set("model.layers.2.self_attn.k_norm.weight", {32});
  ASSERT_THAT(folder.Load(), IsEmpty());
  const auto& layers = folder.description.decoder->layer;
  EXPECT_EQ(layers[0].self_attention.geometry.head_size, 32);
  EXPECT_EQ(layers[1].self_attention.geometry.head_size, 64);
  EXPECT_EQ(layers[1].self_attention.geometry.kv_heads, 2);
  EXPECT_EQ(layers[1].self_attention.value.weight, nullptr);
  EXPECT_NE(layers[2].self_attention.value.weight, nullptr);
}

TEST(Gemma4Test, NamesEachMissingTensor) {
  Folder whole("gemma4_text.lm");
  ASSERT_THAT(whole.LoadReal(), IsEmpty());
  for (const std::string_view name : whole.weights.Names()) {
    Folder folder("gemma4_text.lm");
    folder.weights.Remove(std::string(name));
    EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt(std::string(name))));
  }
}

TEST(Umt5Test, EachLayerHasABias) {
  Folder folder("umt5.generate");
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.encoder->relative_attention->bias, nullptr);
  for (const LayerDescription& layer : folder.description.decoder->layer) {
    EXPECT_NE(layer.position_bias, nullptr);
  }
  folder.weights.Remove(
      "encoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight");
  EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt("encoder.block.1")));
  folder.config.erase("feed_forward_proj");
  Folder usual("umt5.generate");
  for (const char* key :
       {"feed_forward_proj", "dense_act_fn", "is_gated_act"}) {
    usual.config.erase(key);
  }
  ASSERT_THAT(usual.Load(), IsEmpty());
  EXPECT_EQ(usual.description.decoder->activation, Activation::kGeluTanh);
}

}  // namespace
}  // namespace trivium
