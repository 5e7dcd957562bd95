// GPT and its descendants: the descriptions of their folders, and the messages
// for folders that do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/model/families/golden_folder.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

class DecoderFamilyTest : public ::testing::TestWithParam<const char*> {};

TEST_P(DecoderFamilyTest, IsADecoderOnlyModel) {
  Folder folder(GetParam());
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  EXPECT_FALSE(folder.description.encoder.has_value());
  const StackDescription& decoder = *folder.description.decoder;
  ASSERT_EQ(decoder.layer.size(), 2u);
  for (const LayerDescription& layer : decoder.layer) {
    EXPECT_EQ(layer.self_attention.geometry.look_ahead, 0);
    EXPECT_FALSE(layer.cross_attention.has_value());
  }
  // The output is tied.
  EXPECT_EQ(folder.description.output_projection.weight,
            decoder.embeddings.tokens);
  EXPECT_THAT(folder.LoadWithoutWeights(), IsEmpty());
}

TEST_P(DecoderFamilyTest, ReadsASeparateOutput) {
  Folder folder(GetParam());
  folder.config["tie_word_embeddings"] = false;
  EXPECT_THAT(folder.LoadReal(), ElementsAre(ErrorAt("lm_head.weight")));
}

TEST_P(DecoderFamilyTest, RefusesOtherHeads) {
  Folder folder(GetParam());
  folder.config["architectures"] = json::array({"AnyForQuestionAnswering"});
  EXPECT_THAT(folder.LoadWithoutWeights(),
              ElementsAre(ErrorAt("architectures")));
  folder.config["architectures"] = json::array({"AnyModel", 7});
  EXPECT_THAT(folder.LoadWithoutWeights(), IsEmpty());
}

TEST_P(DecoderFamilyTest, ReadsASequenceClassifier) {
  Folder folder(GetParam());
  folder.config["architectures"] =
      json::array({"AnyForSequenceClassification"});
  folder.config["id2label"] = {{"0", "a"}, {"1", "b"}, {"2", "c"}};
  folder.config["pad_token_id"] = 7;
  EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt("score.weight")));
  folder.weights.Set("score.weight", {3, 32});
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.output_projection.weight, nullptr);
  ASSERT_TRUE(folder.description.head.has_value());
  const HeadDescription& head = *folder.description.head;
  EXPECT_EQ(head.kind, HeadKind::kClassify);
  EXPECT_EQ(head.input, HeadDescription::Input::kLastToken);
  EXPECT_EQ(head.padding_id, 7);
  EXPECT_EQ(head.output.weight, folder.weights.Find("score.weight"));
  EXPECT_EQ(head.output.bias, nullptr);
  // LLaMA's first folders said so: no padding.
  folder.config["pad_token_id"] = -1;
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.head->padding_id, -1);
}

TEST_P(DecoderFamilyTest, NamesMissingLayers) {
  Folder folder(GetParam());
  for (const char* key : {"n_layer", "num_layers", "num_hidden_layers"}) {
    if (folder.config.contains(key)) folder.config[key] = 3;
  }
  if (folder.config.contains("attention_types")) {
    folder.config["attention_types"] =
        json::parse(R"([[["global", "global", "local"], 1]])");
    folder.config.erase("attention_layers");
  }
  EXPECT_THAT(folder.LoadReal(), ElementsAre(ErrorAt("config.json")));
}

INSTANTIATE_TEST_SUITE_P(Goldens, DecoderFamilyTest,
                         ::testing::Values("gpt2.lm", "gpt2.old_names",
                                           "openai-gpt.lm", "opt.lm",
                                           "gpt_neo.lm"));

// Returns the only problem of a folder with this option.
std::string Problem(const char* golden, const char* key, json value) {
  Folder folder(golden);
  folder.config[key] = std::move(value);
  const Problems found = folder.LoadWithoutWeights();
  return found.size() == 1 ? found[0] : std::to_string(found.size());
}

TEST(DecoderOptionsTest, RefusesOptionsThatChangeTheArithmetic) {
  EXPECT_THAT(Problem("gpt2.lm", "n_head", 5), ErrorAt("n_head"));
  EXPECT_THAT(Problem("gpt2.lm", "add_cross_attention", true),
              ErrorAt("add_cross_attention"));
  EXPECT_THAT(Problem("gpt2.lm", "activation_function", "gelu_10"),
              ErrorAt("activation_function"));
  EXPECT_THAT(Problem("openai-gpt.lm", "afn", "gelu_new"), ErrorAt("afn"));
  for (const json& types :
       {json("global"), json::parse("[[[\"global\", \"local\"], 2]]"),
        json::parse("[[[\"global\", \"near\"], 1]]"),
        json::parse("[[[\"global\", \"local\"]]]"),
        json::parse("[[\"global\", 2]]"),
        json::parse("[[[\"global\", \"local\"], 4000000000000]]")}) {
    EXPECT_THAT(Problem("gpt_neo.lm", "attention_types", types),
                ErrorAt("attention_types"))
        << types;
  }
}

TEST(Gpt2Test, ReadsTheScalesOfTheAttention) {
  Folder folder("gpt2.lm");
  const auto scale = [&](int layer) {
    EXPECT_THAT(folder.LoadReal(), IsEmpty());
    return folder.description.decoder->layer[layer]
        .self_attention.geometry.scale;
  };
  EXPECT_EQ(scale(1), 0.25f);
  folder.config["scale_attn_by_inverse_layer_idx"] = true;
  EXPECT_EQ(scale(0), 0.25f);
  EXPECT_EQ(scale(1), 0.125f);
  folder.config["scale_attn_weights"] = false;
  EXPECT_EQ(scale(1), 0.5f);
  // A different order of the same arithmetic.
  folder.config["reorder_and_upcast_attn"] = true;
  EXPECT_EQ(scale(1), 0.5f);
}

TEST(Gpt2Test, ReadsTheWidthOfTheFeedForward) {
  Folder folder("gpt2.lm");
  EXPECT_THAT(folder.LoadReal(), IsEmpty());
  EXPECT_EQ(folder.description.decoder->feed_forward, 4 * 32);
  folder.config["n_inner"] = 96;
  EXPECT_THAT(folder.LoadReal(), Contains(ErrorAt("h.0.mlp.c_fc.weight")));
}

TEST(Gpt2Test, HasTheFamilysDefaultEndToken) {
  Folder folder("gpt2.lm");
  EXPECT_THAT(folder.LoadWithoutWeights(), IsEmpty());
  EXPECT_TRUE(folder.generation_defaults
                  .empty());  // its vocabulary has only 307 tokens
  folder.config["vocab_size"] = 50257;
  EXPECT_THAT(folder.LoadWithoutWeights(), IsEmpty());
  EXPECT_EQ(folder.generation_defaults["eos_token_id"], 50256);
}

TEST(GptNeoTest, HasBandsAndNoScale) {
  Folder folder("gpt_neo.lm");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  const auto& layers = folder.description.decoder->layer;
  EXPECT_EQ(layers[0].self_attention.geometry.look_back, kAllKeys);
  EXPECT_EQ(layers[1].self_attention.geometry.look_back, 7);
  for (const LayerDescription& layer : layers) {
    EXPECT_EQ(layer.self_attention.geometry.scale, 1);
  }
}

TEST(GptNeoTest, RefusesAListOfLayersThatDiffers) {
  EXPECT_THAT(Problem("gpt_neo.lm", "attention_layers",
                      json::array({"global", "global"})),
              ErrorAt("attention_layers"));
  Folder folder("gpt_neo.lm");
  folder.config.erase("attention_layers");
  EXPECT_THAT(folder.LoadWithoutWeights(), IsEmpty());
}

TEST(OptTest, ReadsNormsAndPositions) {
  Folder folder("opt.lm");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  EXPECT_EQ(folder.description.decoder->position_offset, 2);
  EXPECT_EQ(folder.description.decoder->max_positions, 64);
  EXPECT_TRUE(folder.description.decoder->final_norm.has_value());
  folder.config["_remove_final_layer_norm"] = true;
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  EXPECT_FALSE(folder.description.decoder->final_norm.has_value());
  folder.config["_remove_final_layer_norm"] = false;
  folder.config["do_layer_norm_before"] = false;
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  EXPECT_FALSE(folder.description.decoder->final_norm.has_value());
  const LayerDescription& layer = folder.description.decoder->layer[0];
  EXPECT_TRUE(layer.self_attention_norms.after.has_value());
  EXPECT_FALSE(layer.self_attention_norms.before.has_value());
}

TEST(OptTest, ReadsNarrowEmbeddings) {
  Folder folder("opt.lm");
  folder.config["word_embed_proj_dim"] = 16;
  const std::string decoder = "model.decoder.";
  folder.weights.Set(decoder + "embed_tokens.weight", {307, 16});
  folder.weights.Set(decoder + "project_in.weight", {32, 16});
  EXPECT_THAT(folder.Load(),
              ElementsAre(ErrorAt("decoder.project_out.weight")));
  folder.weights.Set(decoder + "project_out.weight", {16, 32});
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.decoder->embeddings.projection->weight,
            folder.weights.Find(decoder + "project_in.weight"));
  EXPECT_EQ(folder.description.output_narrowing->weight,
            folder.weights.Find(decoder + "project_out.weight"));
}

TEST(OptTest, ReadsLayersWithoutBiases) {
  Folder folder("opt.lm");
  folder.config["enable_bias"] = false;
  ASSERT_THAT(folder.Load(), IsEmpty());
  const LayerDescription& layer = folder.description.decoder->layer[0];
  EXPECT_EQ(layer.up.bias, nullptr);
  EXPECT_EQ(layer.self_attention.output.bias, nullptr);
  EXPECT_NE(layer.feed_forward_norms.before->bias, nullptr);
}

}  // namespace
}  // namespace trivium
