// The decoder families of 2021 to 2025: options that goldens do not have, and
// the messages for folders that do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "model/families/decoder_stack.h"
#include "tests/model/families/golden_folder.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::FloatEq;
using testing::IsEmpty;

constexpr const char* kFamilies[] = {"bloom",
                                     "cohere2",
                                     "ernie4_5",
                                     "exaone4",
                                     "falcon",
                                     "gemma2",
                                     "glm4",
                                     "gpt_neox",
                                     "gptj",
                                     "granite",
                                     "olmo2",
                                     "ministral3",
                                     "hunyuan_v1_dense",
                                     "olmo3",
                                     "phi",
                                     "seed_oss",
                                     "stablelm",
                                     "starcoder2",
                                     "phi3",
                                     "lfm2",
                                     "qwen3_5_text",
                                     "qwen3_5_moe",
                                     "qwen3_next",
                                     "granitemoehybrid",
                                     "falcon_h1",
                                     "bamba",
                                     "nemotron_h",
                                     "glm4_moe",
                                     "deepseek_v2",
                                     "deepseek_v3",
                                     "arcee",
                                     "biogpt",
                                     "codegen",
                                     "cohere",
                                     "dots1",
                                     "ernie4_5_moe",
                                     "hunyuan_v1_moe",
                                     "minimax_m2",
                                     "gemma",
                                     "glm",
                                     "gpt_bigcode",
                                     "granitemoe",
                                     "granitemoeshared",
                                     "helium",
                                     "lfm2_moe",
                                     "mamba",
                                     "mamba2",
                                     "falcon_mamba",
                                     "phimoe",
                                     "mpt",
                                     "nanochat",
                                     "nemotron",
                                     "olmo",
                                     "olmoe",
                                     "qwen2_moe",
                                     "xglm"};

class ModernFamilyTest : public ::testing::TestWithParam<const char*> {
 protected:
  ModernFamilyTest() : folder_(std::string(GetParam()) + ".lm") {}

  Folder folder_;
};

TEST_P(ModernFamilyTest, IsADecoderOnlyModel) {
  ASSERT_THAT(folder_.LoadReal(), IsEmpty());
  EXPECT_FALSE(folder_.description.encoder.has_value());
  for (const LayerDescription& layer : folder_.description.decoder->layer) {
    EXPECT_EQ(layer.self_attention.geometry.look_ahead, 0);
  }
  EXPECT_THAT(folder_.Load(), IsEmpty());
  EXPECT_THAT(folder_.LoadWithoutWeights(), IsEmpty());
}

TEST_P(ModernFamilyTest, RefusesOtherHeads) {
  folder_.config["architectures"] = json::array({"AnyForQuestionAnswering"});
  EXPECT_THAT(folder_.LoadWithoutWeights(),
              ElementsAre(ErrorAt("architectures")));
}

TEST_P(ModernFamilyTest, NamesEachMissingTensor) {
  ASSERT_THAT(folder_.Load(), IsEmpty());
  for (const std::string_view name : folder_.weights.Names()) {
    // One layer's tensors are enough.
    const std::string missing(name);
    if (missing.find(".1.") == missing.npos) continue;
    Folder folder(std::string(GetParam()) + ".lm");
    folder.weights.Remove(missing);
    EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt(missing)));
  }
}

TEST_P(ModernFamilyTest, ReadsASequenceClassifier) {
  ASSERT_THAT(folder_.LoadWithoutWeights(), IsEmpty());
  const int width = folder_.description.decoder->d_model;
  folder_.config["architectures"] =
      json::array({"AnyForSequenceClassification"});
  EXPECT_THAT(folder_.Load(), ElementsAre(ErrorAt("score.weight")));
  folder_.weights.Set("score.weight", {2, width});
  ASSERT_THAT(folder_.Load(), IsEmpty());
  EXPECT_EQ(folder_.description.output_projection.weight, nullptr);
  ASSERT_TRUE(folder_.description.head.has_value());
  EXPECT_EQ(folder_.description.head->input,
            HeadDescription::Input::kLastToken);
}

TEST_P(ModernFamilyTest, RefusesAttentionBothWays) {
  folder_.config["is_causal"] = false;
  EXPECT_THAT(folder_.LoadWithoutWeights(), ElementsAre(ErrorAt("is_causal")));
}

INSTANTIATE_TEST_SUITE_P(Families, ModernFamilyTest,
                         ::testing::ValuesIn(kFamilies),
                         [](const auto& info) { return info.param; });

TEST(ModernFamiliesTest, RefusesOptionsThatWouldBeIgnored) {
  struct Case {
    const char* folder;
    const char* key;
    json value;
  };
  const Case cases[] = {
      {"bloom.lm", "apply_residual_connection_post_layernorm", true},
      {"cohere2.lm", "use_qk_norm", true},
      {"falcon.lm", "num_ln_in_parallel_attn", 2},
      {"gemma2.lm", "use_bidirectional_attention", true},
      {"hunyuan_v1_dense.lm", "use_qk_norm", false},
      {"hunyuan_v1_dense.lm", "use_cla", true},
      {"phi3.lm", "attention_bias", true},
      {"olmo.lm", "clip_qkv", -8.0},
      {"olmoe.lm", "clip_qkv", "8"},
      {"ernie4_5_moe.lm", "moe_k", 7},
      {"ernie4_5_moe.lm", "moe_num_shared_experts", 1 << 15},
      {"dots1.lm", "num_experts_per_tok", 7},
      {"dots1.lm", "layer_types", json::array({"full_attention"})},
      {"hunyuan_v1_moe.lm", "moe_topk", json::array({2, 3})},
      {"hunyuan_v1_moe.lm", "num_shared_expert", 1 << 15},
      {"hunyuan_v1_moe.lm", "use_mixed_mlp_moe", false},
      {"minimax_m2.lm", "use_qk_norm", false},
      {"minimax_m2.lm", "rotary_dim", 0},
      {"mpt.lm", "no_bias", false},
      {"mpt.lm", "logit_scale", 0.5},
      {"mpt.lm", "attn_config", "alibi"},
      {"gpt_bigcode.lm", "add_cross_attention", true},
      {"xglm.lm", "add_cross_attention", true},
      {"codegen.lm", "rotary_dim", 7},
      {"mamba.lm", "intermediate_size", 1 << 20},
      {"mamba.lm", "state_size", 0},
      {"mamba.lm", "time_step_rank", "automatic"},
      {"mamba.lm", "conv_kernel", 1},
      {"mamba.lm", "num_hidden_layers", 0},
      {"mamba.lm", "hidden_act", "gelu"},
      {"falcon_mamba.lm", "mixer_rms_eps", -1},
      {"phimoe.lm", "num_experts_per_tok", 3},
      {"phimoe.lm", "router_jitter_noise", -0.1},
      {"mamba2.lm", "num_heads", 0},
      {"mamba2.lm", "num_heads", 2},
      {"mamba2.lm", "n_groups", 3},
      {"mamba2.lm", "time_step_limit", 1},
      {"lfm2_moe.lm", "num_experts_per_tok", 7},
      {"qwen2_moe.lm", "layer_types", json::array({"full_attention"})},
      {"gptj.lm", "rotary_dim", 18},
      {"gptj.lm", "rotary_dim", 7},
      {"phi3.lm", "head_dim", 1 << 18},
      {"lfm2.lm", "layer_types", json::array({"conv", "conv"})},
      {"lfm2.lm", "conv_L_cache", 1},
      {"lfm2.lm", "conv_L_cache", 65},
      {"qwen3_5_text.lm", "layer_types", json::array({"conv"})},
      {"qwen3_5_text.lm", "linear_num_key_heads", 3},
      {"qwen3_next.lm", "linear_key_head_dim", 1 << 18},
      {"granitemoehybrid.lm", "mamba_n_groups", 3},
      {"granitemoehybrid.lm", "mamba_n_heads", 5},
      {"granitemoehybrid.lm", "time_step_limit", json::array({1, 0})},
      {"bamba.lm", "time_step_limit",
       json::array({0, json::object({{"__float__", 1}})})},
      {"qwen3_5_moe.lm", "num_experts", 0},
      {"falcon_h1.lm", "mamba_d_conv", 1},
      {"falcon_h1.lm", "ssm_multipliers", json::array({1, 2})},
      {"falcon_h1.lm", "mlp_multipliers", "1"},
      {"nemotron_h.lm", "moe_latent_size", 8},
      {"nemotron_h.lm", "layers_block_type", json::array({"mlp"})},
  };
  for (const auto& [name, key, value] : cases) {
    Folder folder(name);
    folder.config[key] = value;
    EXPECT_THAT(folder.LoadWithoutWeights(), ElementsAre(ErrorAt(key)));
  }
}

TEST(ModernFamiliesTest, OlmosLimitIsThatOfTheFolder) {
  for (const char* name : {"olmo.clipped", "olmoe.clipped"}) {
    Folder folder(name);
    ASSERT_THAT(folder.LoadReal(), IsEmpty());
    const auto& layers = folder.description.decoder->layer;
    EXPECT_GT(layers[1].self_attention.geometry.clip, 0.7f);
  }
}

TEST(ModernFamiliesTest, MinistralsLayersHaveAWindowOrNone) {
  Folder folder("ministral.lm");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  const auto& layers = folder.description.decoder->layer;
  EXPECT_EQ(layers[0].self_attention.geometry.look_back, kAllKeys);
  EXPECT_EQ(layers[1].self_attention.geometry.look_back, 4);
}

TEST(ModernFamiliesTest, MptsAttentionIsThatOfItsClass) {
  for (const auto& [key, value] : {std::pair<const char*, json>("alibi", false),
                                   {"prefix_lm", true},
                                   {"qk_ln", true},
                                   {"clip_qkv", 0},
                                   {"attn_type", "multiquery_attention"},
                                   {"alibi_bias_max", 16}}) {
    Folder folder("mpt.lm");
    folder.config["attn_config"][key] = value;
    EXPECT_THAT(folder.LoadWithoutWeights(), ElementsAre(ErrorAt(key)));
  }
  Folder folder("mpt.lm");
  folder.config["attn_config"]["softmax_scale"] = 0.5;
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.decoder->layer[0].self_attention.geometry.scale,
            0.5f);
}

TEST(ModernFamiliesTest, CodeGensProductHasFourParts) {
  Folder folder("codegen.lm");
  folder.config["n_embd"] = 50;
  folder.config["n_head"] = 5;
  EXPECT_THAT(folder.LoadWithoutWeights(), ElementsAre(ErrorAt("n_embd")));
}

// Gemma's published folders mean the approximation, whatever they say.
TEST(ModernFamiliesTest, GemmasGeluIsApproximate) {
  Folder folder("gemma.lm");
  for (const char* name : {"gelu", "gelu_pytorch_tanh"}) {
    folder.config["hidden_act"] = name;
    ASSERT_THAT(folder.LoadWithoutWeights(), IsEmpty());
    EXPECT_EQ(folder.description.decoder->activation, Activation::kGeluTanh);
  }
  folder.config["hidden_act"] = "mish";
  EXPECT_THAT(folder.LoadWithoutWeights(), ElementsAre(ErrorAt("hidden_act")));
}

// A GGUF file has the norms of all heads as one matrix.
TEST(ModernFamiliesTest, StableLmsHeadsHaveNormsOfTheirOwn) {
  Folder folder("stablelm.norms");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  const AttentionDescription& attention =
      folder.description.decoder->layer[1].self_attention;
  EXPECT_THAT(attention.query_norm->weight->shape, ElementsAre(4, 16));
  EXPECT_THAT(attention.key_norm->weight->shape, ElementsAre(2, 16));
  const std::string name = "model.layers.1.self_attn.q_layernorm.";
  for (int head = 0; head < 4; ++head) {
    folder.weights.Remove(name + "norms." + std::to_string(head) + ".weight");
  }
  EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt(name + "weight")));
  folder.weights.Set(name + "weight", {4, 16});
  EXPECT_THAT(folder.Load(), IsEmpty());
  folder.weights.Set(name + "weight", {64});
  EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt(name + "weight")));
}

// Command R's rotary positions turn adjacent dimensions; here, halves.
TEST(ModernFamiliesTest, CommandRsNormsFollowTheOrderOfTheirRows) {
  Folder folder("cohere.norms");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  const auto weights = Weights::Open("tests/golden/cohere.norms");
  ASSERT_TRUE(weights.ok());
  const TensorView* stored =
      (*weights)->Find("model.layers.0.self_attn.k_norm.weight");
  const TensorView* read =
      folder.description.decoder->layer[0].self_attention.key_norm->weight;
  ASSERT_NE(stored, nullptr);
  ASSERT_EQ(read->shape, stored->shape);
  std::vector<float> given(20), made(20);
  CopyToF32(*stored, 0, given);
  CopyToF32(*read, 0, made);
  constexpr int kOrder[] = {0, 2, 4, 6, 8, 1, 3, 5, 7, 9};
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(made[i], given[i / 10 * 10 + kOrder[i % 10]]);
  }
}

TEST(ModernFamiliesTest, Qwen2sWindowsAreInEveryOtherOfTheFirstLayers) {
  Folder folder("qwen2_moe.lm");
  folder.config.erase("layer_types");
  folder.config["use_sliding_window"] = true;
  EXPECT_THAT(folder.LoadWithoutWeights(),
              ElementsAre(ErrorAt("sliding_window")));
  folder.config["sliding_window"] = 8;
  ASSERT_THAT(folder.Load(), IsEmpty());
  const auto& layers = folder.description.decoder->layer;
  EXPECT_EQ(layers[0].self_attention.geometry.look_back, 7);
  EXPECT_EQ(layers[1].self_attention.geometry.look_back, kAllKeys);
}

TEST(ModernFamiliesTest, Lfm2sAdjustedWidthIsNotZero) {
  Folder folder("lfm2.lm");
  folder.config["block_auto_adjust_ff_dim"] = true;
  folder.config["intermediate_size"] = 1;
  EXPECT_THAT(folder.LoadWithoutWeights(),
              ElementsAre(ErrorAt("intermediate_size")));
}

TEST(ModernFamiliesTest, GptJsUsualRotaryDimMustFitAHead) {
  Folder folder("gptj.lm");
  folder.config.erase("rotary_dim");
  EXPECT_THAT(folder.LoadWithoutWeights(), ElementsAre(ErrorAt("rotary_dim")));
}

TEST(ModernFamiliesTest, OnlySomeKnowTheirOwnRotaryKeys) {
  for (const char* key : {"alpha", "llama_4_scaling_beta", "mrope_section"}) {
    Folder folder("granite.lm");
    folder.config["rope_parameters"][key] = 2.0;
    EXPECT_THAT(folder.LoadWithoutWeights(), ElementsAre(ErrorAt(key)));
  }
}

TEST(ModernFamiliesTest, TurnsAnEvenPartOfEachHead) {
  Folder folder("phi.lm");
  folder.config["rope_parameters"]["partial_rotary_factor"] = 0.7;  // of 16
  EXPECT_THAT(folder.LoadWithoutWeights(),
              ElementsAre(ErrorAt("partial_rotary_factor")));
  folder.config["rope_parameters"]["partial_rotary_factor"] = 0.75;
  ASSERT_THAT(folder.LoadWithoutWeights(), IsEmpty());
  EXPECT_EQ(folder.description.decoder->rotary[0].frequencies.size(), 6u);
  // Pythia's own keys.
  folder = Folder("gpt_neox.lm");
  folder.config.erase("rope_parameters");
  folder.config["rotary_pct"] = 0.25;
  folder.config["rotary_emb_base"] = 400;
  ASSERT_THAT(folder.LoadWithoutWeights(), IsEmpty());
  EXPECT_THAT(folder.description.decoder->rotary[0].frequencies,
              ElementsAre(1, FloatEq(0.05f)));
}

TEST(ModernFamiliesTest, AlphaStretchesTheBase) {
  Folder folder("hunyuan_v1_dense.lm");
  folder.config["rope_parameters"] = {{"rope_type", "dynamic"},
                                      {"rope_theta", 10000.0},
                                      {"alpha", 1000.0},
                                      {"factor", 1.0}};
  ASSERT_THAT(folder.LoadWithoutWeights(), IsEmpty());
  const RotaryDescription& rotary = folder.description.decoder->rotary[0];
  const double base = 10000 * std::pow(1000, 32 / 30.0);
  for (int i = 0; i < 16; ++i) {
    EXPECT_NEAR(rotary.frequencies[i] * std::pow(base, i / 16.0), 1, 1e-5);
  }
  EXPECT_EQ(rotary.caveat, "");
}

TEST(ModernFamiliesTest, QueriesGrowWithThePosition) {
  Folder folder("ministral3.lm");
  ASSERT_THAT(folder.LoadWithoutWeights(), IsEmpty());
  const RotaryDescription& rotary = folder.description.decoder->rotary[0];
  EXPECT_FLOAT_EQ(rotary.query_growth, 0.1f);
  EXPECT_EQ(rotary.growth_length, 16384);
}

TEST(ModernFamiliesTest, WithoutWindowsAllLayersOfExaoneTurn) {
  Folder folder("exaone4.lm");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  const auto& layers = folder.description.decoder->layer;
  EXPECT_EQ(layers[0].self_attention.geometry.look_back, 7);
  EXPECT_EQ(layers[3].self_attention.geometry.rotary,
            AttentionGeometry::kNoRotary);
  folder.config["sliding_window"] = nullptr;
  folder.config.erase("layer_types");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  for (const LayerDescription& layer : folder.description.decoder->layer) {
    EXPECT_EQ(layer.self_attention.geometry.look_back, kAllKeys);
    EXPECT_EQ(layer.self_attention.geometry.rotary, 0);
  }
}

// Falcon 7B has one head of keys; 40B shares heads and has two norms.
TEST(ModernFamiliesTest, FalconsDifferInHeadsAndNorms) {
  Folder folder("falcon.lm");
  folder.config["multi_query"] = true;
  for (int i = 0; i < 3; ++i) {
    folder.weights.Set("transformer.h." + std::to_string(i) +
                           ".self_attention.query_key_value.weight",
                       {32 + 2 * 16, 32});
  }
  ASSERT_THAT(folder.Load(), IsEmpty());
  const auto& layer = folder.description.decoder->layer[0];
  EXPECT_EQ(layer.self_attention.geometry.kv_heads, 1);
  EXPECT_TRUE(layer.parallel);
  folder.config["new_decoder_architecture"] = true;
  folder.config["num_kv_heads"] = 1;
  for (int i = 0; i < 3; ++i) {
    const std::string name = "transformer.h." + std::to_string(i) + ".";
    for (const char* part : {".weight", ".bias"}) {
      folder.weights.Rename(name + "input_layernorm" + part,
                            name + "ln_attn" + part);
      folder.weights.Set(name + "ln_mlp" + part, {32});
    }
  }
  EXPECT_THAT(folder.Load(), IsEmpty());
  folder.config["num_kv_heads"] = 3;
  EXPECT_THAT(folder.LoadWithoutWeights(),
              ElementsAre(ErrorAt("num_kv_heads")));
}

TEST(ModernFamiliesTest, SlopesAreThoseOfAlibi) {
  EXPECT_THAT(AlibiSlopes(8, 1),
              ElementsAre(0.5f, 0.25f, 0.125f, 0.0625f, 0.03125f, 0.015625f,
                          0.0078125f, 0.00390625f));
  // Four heads' slopes, and the first, third... of eight.
  EXPECT_THAT(AlibiSlopes(6, 2),
              ElementsAre(0.5f, 0.125f, 0.03125f, 0.0078125f, 1, 0.25f));
}

// Falcon-Mamba's folders have an expand that does not tell their width.
TEST(ModernFamiliesTest, MambasWidthIsItsOwnOrExpanded) {
  Folder folder("mamba.lm");
  folder.config["expand"] = 16;
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  folder.config.erase("intermediate_size");
  EXPECT_FALSE(folder.LoadReal().empty());
  folder.config["expand"] = 64;
  folder.config["hidden_size"] = 1 << 17;
  EXPECT_THAT(folder.LoadWithoutWeights(), ElementsAre(ErrorAt("expand")));
  folder = Folder("mamba.lm");
  folder.config["time_step_rank"] = "auto";
  folder.config["hidden_size"] = 40;  // a rank of 3, but the weights have 5
  EXPECT_FALSE(folder.LoadReal().empty());
}

// EXAONE's folders have other names than LLaMA's.
TEST(ModernFamiliesTest, ExaoneIsLlamaUnderOtherNames) {
  Folder folder("exaone.lm");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  EXPECT_EQ(folder.description.decoder->layers, 2);
  EXPECT_EQ(folder.generation_defaults["eos_token_id"], 361);
  for (const auto& [own, llama] : {std::pair("num_layers", "num_hidden_layers"),
                                   {"layer_norm_epsilon", "rms_norm_eps"},
                                   {"activation_function", "hidden_act"}}) {
    folder.config[own] = folder.config[llama];
    folder.config.erase(llama);
  }
  EXPECT_THAT(folder.LoadReal(), IsEmpty());
  EXPECT_THAT(folder.LoadWithoutWeights(), IsEmpty());
  folder.weights.Remove("transformer.h.1.mlp.c_fc_1.weight");
  EXPECT_THAT(folder.Load(),
              ElementsAre(ErrorAt("model.layers.1.mlp.up_proj.weight")));
}

}  // namespace
}  // namespace trivium
