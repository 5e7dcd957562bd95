#include "model/families/marian_npz.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/model/families/fake_weights.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int kWidth = 8;

json NpzConfig() {
  return json::parse(R"({
    "type": "transformer", "dim-emb": 8, "dim-vocabs": [11, 11],
    "enc-depth": 2, "dec-depth": 1, "transformer-heads": 2,
    "transformer-dim-ffn": 12, "transformer-decoder-dim-ffn": 20,
    "transformer-ffn-activation": "swish", "transformer-preprocess": "",
    "transformer-postprocess": "dan", "transformer-postprocess-emb": "d",
    "transformer-decoder-autoreg": "self-attention", "dec-cell": "gru",
    "tied-embeddings-all": true, "input-types": [],
    "transformer-tied-layers": []})");
}

void SetLinear(const std::string& weight, const std::string& bias, int in,
               int out, FakeWeights* weights) {
  weights->Set(weight, {in, out});
  weights->Set(bias, {1, out});
}
void SetAttention(const std::string& name, FakeWeights* weights) {
  for (const char* part : {"q", "k", "v", "o"}) {
    SetLinear(name + "_W" + part, name + "_b" + part, kWidth, kWidth, weights);
  }
}
void SetNorm(const std::string& name, const std::string& suffix,
             FakeWeights* weights) {
  weights->Set(name + "_ln_scale" + suffix, {1, kWidth});
  weights->Set(name + "_ln_bias" + suffix, {1, kWidth});
}

// The weights that NpzConfig() describes.
FakeWeights NpzWeights() {
  FakeWeights weights;
  const auto layer = [&](const std::string& name, int ffn, bool cross) {
    SetAttention(name + "self", &weights);
    SetNorm(name + "self_Wo", "", &weights);
    if (cross) {
      SetAttention(name + "context", &weights);
      SetNorm(name + "context_Wo", "", &weights);
    }
    SetLinear(name + "ffn_W1", name + "ffn_b1", kWidth, ffn, &weights);
    SetLinear(name + "ffn_W2", name + "ffn_b2", ffn, kWidth, &weights);
    SetNorm(name + "ffn_ffn", "", &weights);
  };
  layer("encoder_l1_", 12, false);
  layer("encoder_l2_", 12, false);
  layer("decoder_l1_", 20, true);
  weights.Set("Wemb", {11, kWidth});
  weights.Set("decoder_ff_logit_out_b", {1, 11});
  weights.Set("special:model.yml", {100}, DType::kI8);
  return weights;
}

Problems LoadNpz(const json& config, const Weights* weights,
                 TransformerDescription* description = nullptr) {
  Problems problems;
  FamilyModel model = LoadMarianNpz(config, weights, &problems);
  if (description != nullptr) *description = std::move(model.description);
  return problems;
}

TEST(MarianNpzTest, DescribesTheModel) {
  const FakeWeights weights = NpzWeights();
  TransformerDescription description;
  ASSERT_THAT(LoadNpz(NpzConfig(), &weights, &description), IsEmpty());
  const StackDescription& encoder = *description.encoder;
  const StackDescription& decoder = *description.decoder;
  EXPECT_EQ(encoder.layers, 2);
  EXPECT_EQ(encoder.heads, 2);
  EXPECT_EQ(encoder.feed_forward, 12);
  EXPECT_EQ(decoder.feed_forward, 20);
  EXPECT_EQ(encoder.activation, Activation::kSwish);
  EXPECT_EQ(encoder.positions, PositionEncoding::kSinusoidalToEnd);
  EXPECT_FALSE(encoder.position_padding_id.has_value());
  EXPECT_FLOAT_EQ(encoder.norm_epsilon, 1e-6f);
  EXPECT_FLOAT_EQ(encoder.embedding_scale, std::sqrt(8.0f));
  ASSERT_THAT(decoder.layer, SizeIs(1));
  const LayerDescription& layer = decoder.layer[0];
  EXPECT_EQ(layer.self_attention.geometry.look_ahead, 0);
  EXPECT_EQ(layer.cross_attention->geometry.look_ahead, kAllKeys);
  EXPECT_FALSE(layer.self_attention_norms.before.has_value());
  EXPECT_EQ(layer.cross_attention_norms.after->weight,
            weights.Find("decoder_l1_context_Wo_ln_scale"));
  // Transposed.
  EXPECT_THAT(layer.up.weight->shape, ElementsAre(20, 8));
  EXPECT_EQ(layer.up.bias, weights.Find("decoder_l1_ffn_b1"));
  // One table for three purposes, with an additional row for the start.
  EXPECT_EQ(decoder.vocabulary, 12);
  EXPECT_THAT(encoder.embeddings.tokens->shape, ElementsAre(12, 8));
  EXPECT_EQ(decoder.embeddings.tokens, encoder.embeddings.tokens);
  EXPECT_EQ(description.output_projection.weight, encoder.embeddings.tokens);
  EXPECT_EQ(description.output_projection.bias->elements(), 12);
}

// As in .bin files: transposed, with scales.
TEST(MarianNpzTest, KeepsQuantizedMatricesAsTheyAre) {
  FakeWeights weights = NpzWeights();
  const TensorView scales = {DType::kF32, {20, 1}, {}};
  weights.Set("decoder_l1_ffn_W1", {20, kWidth}, DType::kI8);
  weights.Set("decoder_l1_ffn_W1_QuantMultA", {1});
  weights.Set("none_QuantMultA", {1});
  weights.SetScales("decoder_l1_ffn_W1", &scales);
  TransformerDescription description;
  ASSERT_THAT(LoadNpz(NpzConfig(), &weights, &description), IsEmpty());
  EXPECT_EQ(description.decoder->layer[0].up.weight,
            weights.Find("decoder_l1_ffn_W1"));
  weights.Set("decoder_l1_ffn_W1", {kWidth, 20}, DType::kI8);
  weights.SetScales("decoder_l1_ffn_W1", &scales);
  EXPECT_THAT(LoadNpz(NpzConfig(), &weights),
              ElementsAre(ErrorAt("decoder_l1_ffn_W1")));
}

TEST(MarianNpzTest, ReadsSeparateEmbeddings) {
  json config = NpzConfig();
  config["tied-embeddings-all"] = false;
  config["dim-vocabs"] = {13, 11};
  FakeWeights weights = NpzWeights();
  weights.Remove("Wemb");
  weights.Set("encoder_Wemb", {13, kWidth});
  weights.Set("decoder_Wemb", {11, kWidth});
  weights.Set("decoder_ff_logit_out_Wt", {11, kWidth});
  TransformerDescription description;
  ASSERT_THAT(LoadNpz(config, &weights, &description), IsEmpty());
  EXPECT_EQ(description.encoder->vocabulary, 14);
  EXPECT_EQ(description.decoder->vocabulary, 12);
  EXPECT_NE(description.output_projection.weight,
            description.decoder->embeddings.tokens);
  // The name of older versions.
  weights.Remove("decoder_ff_logit_out_Wt");
  weights.Set("decoder_ff_logit_out_W", {kWidth, 11});
  ASSERT_THAT(LoadNpz(config, &weights, &description), IsEmpty());
  EXPECT_THAT(description.output_projection.weight->shape, ElementsAre(12, 8));
  weights.Remove("decoder_ff_logit_out_W");
  config["tied-embeddings"] = true;
  ASSERT_THAT(LoadNpz(config, &weights, &description), IsEmpty());
  EXPECT_EQ(description.output_projection.weight,
            description.decoder->embeddings.tokens);
}

TEST(MarianNpzTest, ReadsNormsOfEmbeddingsAndOfTheLastLayer) {
  json config = NpzConfig();
  config["transformer-postprocess-emb"] = "nd";
  config["transformer-postprocess-top"] = "n";
  FakeWeights weights = NpzWeights();
  for (const char* side : {"encoder", "decoder"}) {
    SetNorm(fmt::format("{}_emb", side), "_pre", &weights);
    SetNorm(fmt::format("{}_top", side), "", &weights);
  }
  TransformerDescription description;
  ASSERT_THAT(LoadNpz(config, &weights, &description), IsEmpty());
  EXPECT_EQ(description.encoder->embedding_norm->weight,
            weights.Find("encoder_emb_ln_scale_pre"));
  EXPECT_EQ(description.decoder->final_norm->bias,
            weights.Find("decoder_top_ln_bias"));
}

TEST(MarianNpzTest, ReadsARecurrenceInsteadOfSelfAttention) {
  json config = NpzConfig();
  config["transformer-decoder-autoreg"] = "rnn";
  config["dec-cell"] = "ssru";
  FakeWeights weights = NpzWeights();
  for (const char* part : {"q", "k", "v", "o"}) {
    weights.Remove(fmt::format("decoder_l1_self_W{}", part));
    weights.Remove(fmt::format("decoder_l1_self_b{}", part));
  }
  for (const char* part : {"scale", "bias"}) {
    weights.Rename(fmt::format("decoder_l1_self_Wo_ln_{}", part),
                   fmt::format("decoder_l1_rnn_ffn_ln_{}", part));
  }
  weights.Set("decoder_l1_rnn_W", {kWidth, kWidth});
  SetLinear("decoder_l1_rnn_Wf", "decoder_l1_rnn_bf", kWidth, kWidth, &weights);
  TransformerDescription description;
  ASSERT_THAT(LoadNpz(config, &weights, &description), IsEmpty());
  const LayerDescription& layer = description.decoder->layer[0];
  ASSERT_TRUE(layer.recurrence.has_value());
  EXPECT_EQ(layer.recurrence->input.bias, nullptr);
  EXPECT_EQ(layer.recurrence->forget.bias, weights.Find("decoder_l1_rnn_bf"));
  EXPECT_EQ(layer.self_attention.query.weight, nullptr);
  EXPECT_FALSE(description.encoder->layer[0].recurrence.has_value());

  config["dec-cell"] = "gru";
  EXPECT_THAT(LoadNpz(config, &weights), ElementsAre(ErrorAt("dec-cell")));
  config["dec-cell"] = "ssru";
  config["layer-normalization"] = true;
  config["transformer-rnn-projection"] = true;
  EXPECT_THAT(LoadNpz(config, &weights),
              ElementsAre(ErrorAt("layer-normalization"),
                          ErrorAt("transformer-rnn-projection")));
}

TEST(MarianNpzTest, LayersMayShareTheirTensors) {
  json config = NpzConfig();
  config["dec-depth"] = 3;
  config["transformer-tied-layers"] = {1, 1, 1};
  const FakeWeights weights = NpzWeights();
  TransformerDescription description;
  ASSERT_THAT(LoadNpz(config, &weights, &description), IsEmpty());
  ASSERT_THAT(description.decoder->layer, SizeIs(3));
  EXPECT_EQ(description.decoder->layer[0], description.decoder->layer[2]);
  config["transformer-tied-layers"] = {1, 1};
  EXPECT_THAT(LoadNpz(config, &weights),
              ElementsAre(ErrorAt("transformer-tied-layers")));
}

TEST(MarianNpzTest, RefusesUnsupportedOptions) {
  const FakeWeights weights = NpzWeights();
  const std::pair<const char*, json> others[] = {
      {"type", "s2s"},
      {"right-left", true},
      {"ulr", true},
      {"lemma-dim-emb", 8},
      {"lemma-dependency", "soft-transformer-layer"},
      {"transformer-ffn-depth", 3},
      {"transformer-decoder-ffn-depth", 1},
      {"transformer-ffn-activation", "gelu"},
      {"transformer-no-projection", true},
      {"transformer-no-bias", true},
      {"transformer-no-affine", true},
      {"transformer-pool", true},
      {"transformer-attention-mask", "alibi"},
      {"transformer-disable-position-embeddings", true},
      {"transformer-decoder-autoreg", "average-attention"},
      {"transformer-preprocess", "n"},
      {"transformer-postprocess", "da"},
      {"transformer-postprocess", "dhn"},
      {"transformer-postprocess-emb", "x"},
      {"transformer-postprocess-top", "an"},
      {"input-types", {"sequence", "class"}},
      {"dim-vocabs", {11}},
      {"dim-vocabs", {11, 12}},
      {"dim-emb", 9},
      {"transformer-heads", 0},
      {"enc-depth", "two"},
      {"dec-depth", nullptr},
  };
  for (const auto& [key, value] : others) {
    json config = NpzConfig();
    config[key] = value;
    const Problems problems = LoadNpz(config, &weights);
    ASSERT_FALSE(problems.empty()) << key << " " << value;
    EXPECT_THAT(problems[0], ErrorAt(std::string(key))) << key << " " << value;
  }
}

TEST(MarianNpzTest, RefusesUnknownTensors) {
  FakeWeights weights = NpzWeights();
  weights.Set("Wpos", {50, kWidth});
  EXPECT_THAT(LoadNpz(NpzConfig(), &weights), ElementsAre(ErrorAt("Wpos")));
  weights.Remove("Wpos");
  weights.Set("encoder_l1_ffn_W1", {kWidth, 13});
  weights.Remove("decoder_l1_self_bq");
  EXPECT_THAT(
      LoadNpz(NpzConfig(), &weights),
      ElementsAre(ErrorAt("encoder_l1_ffn_W1"), ErrorAt("decoder_l1_self_bq")));
}

}  // namespace
}  // namespace trivium
