// Encoders with rotary positions: what their folders say, in every form that
// such folders have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "model/families/registry.h"
#include "tests/model/families/fake_weights.h"
#include "tests/model/families/golden_folder.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using Input = HeadDescription::Input;

const AttentionGeometry& LayerGeometry(const Folder& folder, int layer) {
  return folder.description.encoder->layer[layer].self_attention.geometry;
}

// Returns the only problem of a folder with this option.
std::string ConfigProblem(const char* golden, const char* key, json value) {
  Folder folder(golden);
  folder.config[key] = std::move(value);
  const Problems found = folder.LoadWithoutWeights();
  return found.size() == 1 ? found[0] : std::to_string(found.size());
}

// Checks layers 0 and 2 that see everything around one that does not.
void ExpectAlternatingLayers(const Folder& folder) {
  const StackDescription& encoder = *folder.description.encoder;
  ASSERT_EQ(encoder.layer.size(), 3u);
  for (const int i : {0, 2}) {
    EXPECT_EQ(LayerGeometry(folder, i).look_back, kAllKeys);
    EXPECT_EQ(LayerGeometry(folder, i).look_ahead, kAllKeys);
  }
  EXPECT_EQ(LayerGeometry(folder, 1).look_back, 4);
  EXPECT_EQ(LayerGeometry(folder, 1).look_ahead, 4);
  EXPECT_FALSE(encoder.layer[0].self_attention_norms.before.has_value());
  EXPECT_TRUE(encoder.layer[1].self_attention_norms.before.has_value());
}

// The frequency of the second pair of 8, base^(-1 / 8).
float SecondFrequency(const Folder& folder, int layer) {
  return folder.description.encoder->rotary[LayerGeometry(folder, layer).rotary]
      .frequencies[1];
}
constexpr float kOf160000 = 0.223606795f;
constexpr float kOf10000 = 0.316227764f;

TEST(ModernBertTest, ReadsTheNewAndTheOldForm) {
  Folder folder("modernbert.base");
  ASSERT_THAT(folder.Load(), IsEmpty());
  ExpectAlternatingLayers(folder);
  EXPECT_FLOAT_EQ(SecondFrequency(folder, 0), kOf160000);
  EXPECT_FLOAT_EQ(SecondFrequency(folder, 1), kOf10000);

  folder.config.erase("layer_types");
  folder.config.erase("rope_parameters");
  ASSERT_THAT(folder.Load(), IsEmpty());
  ExpectAlternatingLayers(folder);
  EXPECT_FLOAT_EQ(SecondFrequency(folder, 0), kOf160000);
  EXPECT_FLOAT_EQ(SecondFrequency(folder, 1), kOf10000);

  folder.config["global_rope_theta"] = 10000.0;
  folder.config["local_rope_theta"] = 160000.0;
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_FLOAT_EQ(SecondFrequency(folder, 0), kOf10000);
  EXPECT_FLOAT_EQ(SecondFrequency(folder, 1), kOf160000);

  folder.config["local_rope_theta"] = nullptr;
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_FLOAT_EQ(SecondFrequency(folder, 1), kOf10000);
}

TEST(ModernBertTest, ReadsPoolingAndBiases) {
  Folder folder("modernbert.classify");
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.head->input, Input::kFirstToken);
  EXPECT_EQ(folder.description.head->dense->bias, nullptr);
  folder.config["classifier_pooling"] = "mean";
  folder.config["classifier_bias"] = true;
  folder.config["mlp_bias"] = true;
  EXPECT_THAT(folder.Load(), testing::Contains(ErrorAt("head.dense.bias")));
  folder.weights.Set("head.dense.bias", {32});
  for (int i = 0; i < 3; ++i) {
    const std::string mlp = "model.layers." + std::to_string(i) + ".mlp.";
    folder.weights.Set(mlp + "Wi.bias", {256});
    folder.weights.Set(mlp + "Wo.bias", {32});
  }
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.head->input, Input::kMean);
  EXPECT_EQ(folder.description.head->dense->bias,
            folder.weights.Find("head.dense.bias"));
  const LayerDescription& layer = folder.description.encoder->layer[0];
  EXPECT_EQ(layer.gate->bias->shape, std::vector<int64_t>{128});
  EXPECT_EQ(layer.self_attention.query.bias, nullptr);
}

TEST(ModernBertTest, RefusesOptionsThatChangeTheArithmetic) {
  const char* const kCase = "modernbert.base";
  EXPECT_THAT(ConfigProblem(kCase, "classifier_pooling", "max"),
              ErrorAt("classifier_pooling"));
  EXPECT_THAT(
      ConfigProblem(kCase, "layer_types", json::array({"full_attention"})),
      ErrorAt("layer_types"));
  EXPECT_THAT(ConfigProblem(kCase, "hidden_activation", "gelu_10"),
              ErrorAt("hidden_activation"));
  EXPECT_THAT(ConfigProblem(kCase, "rope_parameters", json::array()),
              ErrorAt("rope_parameters"));
  EXPECT_THAT(ConfigProblem(kCase, "num_attention_heads", 5),
              ErrorAt("num_attention_heads"));
}

TEST(EuroBertTest, ReadsItsHeads) {
  Folder folder("eurobert.base");
  folder.config["architectures"] = {"EuroBertForSequenceClassification"};
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_FALSE(folder.description.head.has_value());
  folder.weights.Set("classifier.weight", {2, 32});
  folder.weights.Set("classifier.bias", {2});
  folder.weights.Set("dense.weight", {32, 32});
  folder.weights.Set("dense.bias", {32});
  const std::pair<const char*, Input> kPoolings[] = {
      {"bos", Input::kFirstToken},
      {"mean", Input::kMean},
      {"late", Input::kMeanOfDense}};
  for (const auto& [name, input] : kPoolings) {
    folder.config["classifier_pooling"] = name;
    ASSERT_THAT(folder.Load(), IsEmpty());
    EXPECT_EQ(folder.description.head->input, input);
    EXPECT_EQ(folder.description.head->activation, Activation::kGelu);
  }
  // The model's own code has another name for the key.
  folder.config.erase("classifier_pooling");
  folder.config["clf_pooling"] = "mean";
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.head->input, Input::kMean);
  folder.config["clf_pooling"] = "max";
  EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt("clf_pooling")));
  folder.config.erase("clf_pooling");

  folder.config["architectures"] = {"EuroBertForTokenClassification"};
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.head->kind, HeadKind::kTag);
  EXPECT_FALSE(folder.description.head->dense.has_value());

  folder.config["architectures"] = {"EuroBertForMaskedLM"};
  folder.weights.Set("lm_head.weight", {307, 32});
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.head->output.weight,
            folder.weights.Find("lm_head.weight"));
}

// The same layers under another name.
TEST(LlamaBothWaysTest, IsAnEncoder) {
  for (const char* key : {"use_bidirectional_attention", "is_causal"}) {
    SCOPED_TRACE(key);
    Folder folder("eurobert.base");
    folder.config["model_type"] = "llama";
    folder.config["architectures"] = {"LlamaModel"};
    ASSERT_THAT(folder.Load(), IsEmpty());
    EXPECT_FALSE(folder.description.encoder.has_value());
    folder.config[key] = std::string(key) != "is_causal";
    ASSERT_THAT(folder.Load(), IsEmpty());
    EXPECT_FALSE(folder.description.decoder.has_value());
    ASSERT_TRUE(folder.description.encoder.has_value());
    EXPECT_EQ(LayerGeometry(folder, 0).look_ahead, kAllKeys);
    const TransformerDescription llama = folder.description;
    folder.config["model_type"] = "eurobert";
    ASSERT_THAT(folder.Load(), IsEmpty());
    EXPECT_EQ(llama.encoder->layer, folder.description.encoder->layer);
  }
}

TEST(LlamaBothWaysTest, ReadsNvidiasClassifier) {
  Folder folder("llama.classify");
  folder.config["model_type"] = "llama_bidirec";
  ASSERT_THAT(folder.Load(), IsEmpty());
  ASSERT_TRUE(folder.description.encoder.has_value());
  EXPECT_EQ(LayerGeometry(folder, 2).look_ahead, kAllKeys);
  EXPECT_EQ(folder.description.head->input, Input::kMean);
  folder.config["pooling"] = "last";
  folder.config["temperature"] = 0.25;
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  EXPECT_EQ(folder.description.head->input, Input::kLastToken);
  const auto weights = Weights::Open("tests/golden/llama.classify").value();
  float plain = 0, scaled = 0;
  CopyToF32(*weights->Find("score.weight"), 37, std::span(&plain, 1));
  CopyToF32(*folder.description.head->output.weight, 37, std::span(&scaled, 1));
  EXPECT_FLOAT_EQ(scaled, 4 * plain);
  folder.config["pooling"] = "attention";
  EXPECT_THAT(folder.LoadWithoutWeights(), ElementsAre(ErrorAt("pooling")));
}

TEST(QwenBothWaysTest, IsAnEncoder) {
  Folder folder("qwen3.classify");
  folder.config["is_causal"] = false;
  ASSERT_THAT(folder.Load(), IsEmpty());
  ASSERT_TRUE(folder.description.encoder.has_value());
  EXPECT_EQ(folder.description.head->input, Input::kLastToken);
  EXPECT_EQ(LayerGeometry(folder, 0).look_ahead, kAllKeys);
  folder.config["use_sliding_window"] = true;
  folder.config["sliding_window"] = 8;
  folder.config["layer_types"] =
      std::vector<std::string>(3, "sliding_attention");
  EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt("sliding_window")));
}

// Alibaba-NLP/gte-base-en-v1.5, smaller.
TEST(GteTest, ReadsTheNamesOfItsOwnCode) {
  Folder folder("gte.classify");
  ASSERT_THAT(folder.Load(), IsEmpty());
  const float as_gte = folder.description.encoder->rotary[0].frequencies[0];
  EXPECT_EQ(as_gte, 1);
  // Snowflake's folders have the first type and their own code's keys.
  folder.config["position_embedding_type"] = "rope";
  ASSERT_THAT(folder.Load(), IsEmpty());
  const FakeWeights original = folder.weights;
  for (const std::string_view view : original.Names()) {
    const std::string name(view);
    if (name.starts_with("gte.")) {
      folder.weights.Rename(name, "new." + name.substr(4));
    }
  }
  folder.weights.Remove("new.embeddings.token_type_embeddings.weight");
  folder.config["model_type"] = "new";
  folder.config["type_vocab_size"] = 0;
  folder.config["position_embedding_type"] = "rope";
  folder.config["layer_norm_type"] = "layer_norm";
  folder.config["logn_attention_clip1"] = false;
  folder.config["logn_attention_scale"] = false;
  folder.config["pack_qkv"] = true;
  folder.config["unpad_inputs"] = false;
  folder.config["use_memory_efficient_attention"] = false;
  folder.config.erase("rope_parameters");
  folder.config["rope_theta"] = 500000;
  folder.config["rope_scaling"] = {{"factor", 2.0}, {"type", "ntk"}};
  ASSERT_THAT(folder.Load(), IsEmpty());
  const StackDescription& encoder = *folder.description.encoder;
  EXPECT_EQ(encoder.embeddings.types, nullptr);
  ASSERT_EQ(encoder.rotary.size(), 1u);
  EXPECT_FLOAT_EQ(encoder.rotary[0].frequencies[0], 0.917004043f);
  EXPECT_EQ(folder.description.head->input, Input::kPooled);
  folder.config["layer_norm_type"] = "rms_norm";
  EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt("layer_norm_type")));
  folder.config["layer_norm_type"] = "layer_norm";
  folder.config["logn_attention_scale"] = true;
  EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt("logn_attention_scale")));
  folder.config["logn_attention_scale"] = false;
  folder.config["position_embedding_type"] = "absolute";
  EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt("position_embedding_type")));
}

// nomic-ai/nomic-embed-text-v1.5's config.json, smaller.
json OwnNomicConfig() {
  return json::parse(R"({
    "activation_function": "swiglu", "architectures": ["NomicBertModel"],
    "attn_pdrop": 0.0, "bos_token_id": null, "causal": false,
    "dense_seq_output": true, "embd_pdrop": 0.0, "eos_token_id": null,
    "fused_bias_fc": true, "fused_dropout_add_ln": true,
    "initializer_range": 0.02, "layer_norm_epsilon": 1e-12,
    "max_trained_positions": 32, "mlp_fc1_bias": false,
    "mlp_fc2_bias": false, "model_type": "nomic_bert", "n_embd": 32,
    "n_head": 2, "n_inner": 64, "n_layer": 3, "n_positions": 64,
    "pad_vocab_size_multiple": 64, "parallel_block": false,
    "parallel_block_tied_norm": false, "prenorm": false,
    "qkv_proj_bias": false, "reorder_and_upcast_attn": false,
    "resid_pdrop": 0.0, "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0,
    "rotary_emb_interleaved": false, "rotary_emb_scale_base": null,
    "rotary_scaling_factor": null, "scale_attn_by_inverse_layer_idx": false,
    "scale_attn_weights": true, "summary_activation": null,
    "type_vocab_size": 2, "use_cache": true, "use_flash_attn": true,
    "use_rms_norm": false, "use_xentropy": true, "vocab_size": 307})");
}

TEST(NomicBertTest, ReadsTheKeysOfItsOwnCode) {
  Folder folder("nomic_bert.base");
  ASSERT_THAT(folder.Load(), IsEmpty());
  const StackDescription theirs = *folder.description.encoder;
  folder.config = OwnNomicConfig();
  ASSERT_THAT(folder.Load(), IsEmpty());
  const StackDescription& own = *folder.description.encoder;
  EXPECT_EQ(own.activation, theirs.activation);
  EXPECT_EQ(own.norm_epsilon, theirs.norm_epsilon);
  EXPECT_EQ(own.max_positions, theirs.max_positions);
  EXPECT_EQ(own.rotary[0].frequencies, theirs.rotary[0].frequencies);
  EXPECT_EQ(own.embeddings.types, theirs.embeddings.types);
  EXPECT_EQ(own.layer[2].gate->weight, theirs.layer[2].gate->weight);
  EXPECT_EQ(own.layer[2].up.weight, theirs.layer[2].up.weight);
}

TEST(NomicBertTest, EverySecondLayerHasExperts) {
  Folder folder("nomic_bert.experts");
  ASSERT_THAT(folder.Load(), IsEmpty());
  const std::vector<LayerDescription>& layers =
      folder.description.encoder->layer;
  ASSERT_EQ(layers.size(), 4u);
  EXPECT_FALSE(layers[0].experts.has_value());
  EXPECT_FALSE(layers[0].gate.has_value());
  EXPECT_FALSE(layers[2].experts.has_value());
  ASSERT_TRUE(layers[3].experts.has_value());
  const ExpertsDescription& experts = *layers[3].experts;
  EXPECT_EQ(experts.chosen, 2);
  EXPECT_TRUE(experts.over_all);
  EXPECT_EQ(experts.bias,
            folder.weights.Find("encoder.layers.3.mlp.experts.bias"));
  ASSERT_EQ(experts.experts.size(), 4u);
  EXPECT_EQ(experts.experts[3].gate.weight, nullptr);
  EXPECT_THAT(experts.experts[3].up.weight->shape, ElementsAre(48, 32));
  EXPECT_THAT(experts.experts[3].down.weight->shape, ElementsAre(32, 48));
  EXPECT_THAT(ConfigProblem("nomic_bert.experts", "moe_top_k", 5),
              ErrorAt("moe_top_k"));
  EXPECT_THAT(
      ConfigProblem("nomic_bert.experts", "moe_normalize_expert_weights", true),
      ErrorAt("moe_normalize_expert_weights"));
  EXPECT_THAT(ConfigProblem("nomic_bert.experts", "expert_choice_router", true),
              ErrorAt("expert_choice_router"));
}

// With a scaling factor, texts beyond those of training would be scaled.
TEST(NomicBertTest, ServesTextsThatItsRotaryPositionsDoNotScale) {
  Folder folder("nomic_bert.base");
  folder.config = OwnNomicConfig();
  folder.config["rotary_scaling_factor"] = 2;
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.encoder->max_positions, 32);
  EXPECT_FALSE(folder.description.encoder->rotary[0].caveat.empty());
}

TEST(NomicBertTest, RefusesOptionsThatChangeTheArithmetic) {
  const auto problem = [](const char* key, json value) {
    Folder folder("nomic_bert.base");
    folder.config = OwnNomicConfig();
    folder.config[key] = std::move(value);
    const Problems found = folder.LoadWithoutWeights();
    return found.size() == 1 ? found[0] : std::to_string(found.size());
  };
  for (const char* key :
       {"prenorm", "parallel_block", "causal", "use_rms_norm",
        "rotary_emb_interleaved", "scale_attn_by_inverse_layer_idx"}) {
    EXPECT_THAT(problem(key, true), ErrorAt(key));
  }
  EXPECT_THAT(problem("rotary_emb_fraction", 0.5),
              ErrorAt("rotary_emb_fraction"));
  EXPECT_THAT(problem("rotary_emb_scale_base", 512),
              ErrorAt("rotary_emb_scale_base"));
  EXPECT_THAT(problem("activation_function", "glu"),
              ErrorAt("activation_function"));
  EXPECT_THAT(problem("num_experts", 8), ErrorAt("activation_function"));
  EXPECT_THAT(problem("num_shared_experts", 1), ErrorAt("num_shared_experts"));
  EXPECT_THAT(ConfigProblem("nomic_bert.base", "head_dim", 0),
              ErrorAt("head_dim"));
}

}  // namespace
}  // namespace trivium
