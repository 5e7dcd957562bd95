#include "model/families/marian.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/model/families/fake_weights.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

json Config() {
  return json::parse(R"({
    "model_type": "marian", "d_model": 8, "vocab_size": 11,
    "encoder_layers": 2, "encoder_attention_heads": 2, "encoder_ffn_dim": 12,
    "decoder_layers": 1, "decoder_attention_heads": 4, "decoder_ffn_dim": 20,
    "max_position_embeddings": 16, "activation_function": "swish",
    "scale_embedding": true})");
}

// The weights that Config() describes.
FakeWeights TinyWeights() {
  FakeWeights weights;
  const auto linear = [&](const std::string& name, int out, int in) {
    weights.Set(name + ".weight", {out, in});
    weights.Set(name + ".bias", {out});
  };
  const auto norm = [&](const std::string& name) {
    weights.Set(name + ".weight", {8});
    weights.Set(name + ".bias", {8});
  };
  const auto layer = [&](const std::string& name, int ffn, bool cross) {
    for (const char* attention : {"self_attn", "encoder_attn"}) {
      if (!cross && std::string(attention) == "encoder_attn") continue;
      for (const char* part : {"q_proj", "k_proj", "v_proj", "out_proj"}) {
        linear(fmt::format("{}{}.{}", name, attention, part), 8, 8);
      }
      norm(name + attention + "_layer_norm");
    }
    linear(name + "fc1", ffn, 8);
    linear(name + "fc2", 8, ffn);
    norm(name + "final_layer_norm");
  };
  layer("model.encoder.layers.0.", 12, false);
  layer("model.encoder.layers.1.", 12, false);
  layer("model.decoder.layers.0.", 20, true);
  weights.Set("model.shared.weight", {11, 8});
  weights.Set("final_logits_bias", {1, 11});
  return weights;
}

// Returns the problems of loading; `description` receives the result.
Problems Load(const json& config, const Weights* weights,
              TransformerDescription* description = nullptr) {
  Problems problems;
  FamilyModel model = LoadMarian(config, weights, &problems);
  if (description != nullptr) *description = std::move(model.description);
  return problems;
}

TEST(MarianTest, DescribesTheModel) {
  const FakeWeights weights = TinyWeights();
  TransformerDescription description;
  ASSERT_THAT(Load(Config(), &weights, &description), IsEmpty());
  const StackDescription& encoder = *description.encoder;
  const StackDescription& decoder = *description.decoder;
  EXPECT_EQ(encoder.layers, 2);
  EXPECT_EQ(encoder.heads, 2);
  EXPECT_EQ(encoder.feed_forward, 12);
  EXPECT_EQ(encoder.vocabulary, 11);
  EXPECT_EQ(encoder.max_positions, 16);
  EXPECT_EQ(encoder.activation, Activation::kSwish);
  EXPECT_TRUE(encoder.layer[0].feed_forward_norms.after.has_value());
  EXPECT_EQ(encoder.positions, PositionEncoding::kSinusoidal);
  EXPECT_FLOAT_EQ(encoder.embedding_scale, std::sqrt(8.0f));
  ASSERT_THAT(encoder.layer, SizeIs(2));
  EXPECT_FALSE(encoder.layer[0].cross_attention.has_value());
  EXPECT_EQ(decoder.heads, 4);
  ASSERT_THAT(decoder.layer, SizeIs(1));
  ASSERT_TRUE(decoder.layer[0].cross_attention.has_value());
  EXPECT_EQ(decoder.layer[0].cross_attention->key.weight,
            weights.Find("model.decoder.layers.0.encoder_attn.k_proj.weight"));
  EXPECT_EQ(decoder.layer[0].up.bias,
            weights.Find("model.decoder.layers.0.fc1.bias"));
  // One tensor for three purposes.
  const TensorView* shared = weights.Find("model.shared.weight");
  EXPECT_EQ(encoder.embeddings.tokens, shared);
  EXPECT_EQ(decoder.embeddings.tokens, shared);
  EXPECT_EQ(description.output_projection.weight, shared);
  EXPECT_EQ(description.output_projection.bias,
            weights.Find("final_logits_bias"));
}

TEST(MarianTest, ReadsATableOfPositionsInTheWeights) {
  FakeWeights weights = TinyWeights();
  weights.Set("model.encoder.embed_positions.weight", {16, 8});
  TransformerDescription description;
  ASSERT_THAT(Load(Config(), &weights, &description), IsEmpty());
  EXPECT_EQ(description.encoder->positions, PositionEncoding::kLearned);
  EXPECT_EQ(description.encoder->embeddings.positions,
            weights.Find("model.encoder.embed_positions.weight"));
  EXPECT_EQ(description.decoder->positions, PositionEncoding::kSinusoidal);

  weights.Set("model.decoder.embed_positions.weight", {15, 8});
  EXPECT_THAT(Load(Config(), &weights),
              ElementsAre(ErrorAt("decoder.embed_positions.weight")));
}

TEST(MarianTest, EveryGoldenIsDescribed) {
  for (const char* name :
       {"tests/golden/marian.translate", "tests/golden/marian.bin_zip",
        "tests/golden/marian.bin_legacy",
        "tests/golden/marian.separate_vocabularies", "model/embedded"}) {
    const std::string folder = name;
    const auto config = ReadJsonFile(folder + "/config.json");
    const auto weights = Weights::Open(folder);
    ASSERT_TRUE(config.ok() && weights.ok()) << folder;
    EXPECT_THAT(Load(*config, weights->get()), IsEmpty()) << folder;
  }
}

TEST(MarianTest, ReadsSeparateVocabularies) {
  FakeWeights weights = TinyWeights();
  weights.Remove("model.shared.weight");
  weights.Set("model.encoder.embed_tokens.weight", {11, 8});
  weights.Set("model.decoder.embed_tokens.weight", {13, 8});
  weights.Set("final_logits_bias", {1, 13});
  json config = Config();
  config["share_encoder_decoder_embeddings"] = false;
  config["decoder_vocab_size"] = 13;
  TransformerDescription description;
  ASSERT_THAT(Load(config, &weights, &description), IsEmpty());
  EXPECT_EQ(description.encoder->vocabulary, 11);
  EXPECT_EQ(description.decoder->vocabulary, 13);
  EXPECT_EQ(description.output_projection.weight,
            weights.Find("model.decoder.embed_tokens.weight"));

  config["tie_word_embeddings"] = false;
  EXPECT_THAT(Load(config, &weights), ElementsAre(ErrorAt("lm_head.weight")));
  weights.Set("lm_head.weight", {13, 8});
  ASSERT_THAT(Load(config, &weights, &description), IsEmpty());
  EXPECT_EQ(description.output_projection.weight,
            weights.Find("lm_head.weight"));
}

TEST(MarianTest, AcceptsNamesOfOlderFolders) {
  // Without the prefix and the bias, and with embeddings under the encoder's
  // name.
  FakeWeights weights = TinyWeights();
  const FakeWeights original = weights;
  for (const std::string_view name : original.Names()) {
    if (name.substr(0, 6) == "model.") {
      weights.Rename(std::string(name), std::string(name.substr(6)));
    }
  }
  weights.Rename("shared.weight", "encoder.embed_tokens.weight");
  weights.Remove("final_logits_bias");
  TransformerDescription description;
  ASSERT_THAT(Load(Config(), &weights, &description), IsEmpty());
  EXPECT_EQ(description.output_projection.weight,
            weights.Find("encoder.embed_tokens.weight"));
  EXPECT_EQ(description.output_projection.bias, nullptr);
}

TEST(MarianTest, ReadsNormsBeforeTheSublayers) {
  FakeWeights weights = TinyWeights();
  json config = Config();
  config["normalize_before"] = true;
  config["add_final_layer_norm"] = true;
  EXPECT_THAT(Load(config, &weights), SizeIs(4));
  for (const char* side : {"encoder", "decoder"}) {
    weights.Set(fmt::format("model.{}.layer_norm.weight", side), {8});
    weights.Set(fmt::format("model.{}.layer_norm.bias", side), {8});
  }
  TransformerDescription description;
  ASSERT_THAT(Load(config, &weights, &description), IsEmpty());
  EXPECT_TRUE(description.decoder->layer[0].cross_attention_norms.before);
  EXPECT_FALSE(description.decoder->layer[0].cross_attention_norms.after);
  EXPECT_TRUE(description.encoder->final_norm.has_value());
}

TEST(MarianTest, NamesUnusableConfigValues) {
  const auto problem = [](const char* key, const json& value) {
    json config = Config();
    config[key] = value;
    const Problems problems = Load(config, nullptr);
    return problems.size() == 1 ? problems[0]
                                : fmt::format("{} problems", problems.size());
  };
  EXPECT_THAT(problem("encoder_attention_heads", 3),
              ErrorAt("encoder_attention_heads"));
  EXPECT_THAT(problem("decoder_attention_heads", 0),
              ErrorAt("decoder_attention_heads"));
  EXPECT_THAT(problem("encoder_layers", -1), ErrorAt("-1"));
  EXPECT_THAT(problem("encoder_layers", 1e9), ErrorAt("encoder_layers"));
  EXPECT_THAT(problem("encoder_layers", 1000000000), ErrorAt("1000000000"));
  EXPECT_THAT(problem("vocab_size", UINT64_MAX), ErrorAt("vocab_size"));
  EXPECT_THAT(problem("vocab_size", "many"), ErrorAt("vocab_size"));
  EXPECT_THAT(problem("d_model", nullptr), ErrorAt("d_model"));
  EXPECT_THAT(problem("max_position_embeddings", 0),
              ErrorAt("max_position_embeddings"));
  EXPECT_THAT(problem("scale_embedding", "yes"), ErrorAt("scale_embedding"));
  EXPECT_THAT(problem("activation_function", "gelu_10"),
              ErrorAt("activation_function"));
  EXPECT_THAT(problem("decoder_vocab_size", 0), ErrorAt("decoder_vocab_size"));
}

TEST(MarianTest, AnEmptyConfigListsEveryMissingKey) {
  const Problems problems = Load(json::object(), nullptr);
  EXPECT_THAT(problems, SizeIs(9));
  EXPECT_THAT(problems, Contains(ErrorAt("decoder_ffn_dim")));
}

TEST(MarianTest, CollectsAllTensorProblems) {
  FakeWeights weights = TinyWeights();
  weights.Remove("model.encoder.layers.0.fc1.bias");
  weights.Set("model.encoder.layers.1.fc2.weight", {8, 13});
  weights.Set("model.shared.weight", {11, 8}, DType::kI64);
  weights.Set("final_logits_bias", {1, 12});
  EXPECT_THAT(
      Load(Config(), &weights),
      testing::UnorderedElementsAre(
          ErrorAt("model.encoder.layers.0.fc1.bias"),
          ErrorAt("model.encoder.layers.1.fc2.weight"),
          ErrorAt("model.shared.weight"), ErrorAt("final_logits_bias")));
}

TEST(MarianTest, MissingLayersAreOneProblem) {
  const FakeWeights weights = TinyWeights();
  json config = Config();
  config["decoder_layers"] = 900;
  EXPECT_THAT(Load(config, &weights), ElementsAre(ErrorAt("decoder_layers")));
}

TEST(RegistryTest, FindsFamiliesByModelType) {
  EXPECT_EQ(FindFamily("marian"), &LoadMarian);
  EXPECT_EQ(FindFamily("Marian"), nullptr);
  EXPECT_THAT(FamilyNames(), Contains("marian"));
}

}  // namespace
}  // namespace trivium
