// BART and its relatives, and T5: the descriptions of their folders, and the
// messages for folders that do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/model/families/golden_folder.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Seq2SeqFamiliesTest, ChecksSizesAndOptions) {
  Folder folder("bart.generate");
  folder.config["decoder_attention_heads"] = 3;
  EXPECT_THAT(folder.LoadWithoutWeights(),
              ElementsAre(ErrorAt("decoder_attention_heads")));
  folder = Folder("m2m_100.translate");
  folder.config["d_model"] = 33;
  folder.config["encoder_attention_heads"] = 3;
  folder.config["decoder_attention_heads"] = 3;
  EXPECT_THAT(folder.LoadWithoutWeights(), ElementsAre(ErrorAt("d_model")));
  folder = Folder("t5.gated");
  folder.config["feed_forward_proj"] = "gated-mish";
  EXPECT_THAT(folder.LoadWithoutWeights(),
              ElementsAre(ErrorAt("feed_forward_proj")));
  folder = Folder("t5.gated");
  folder.config["relative_attention_max_distance"] = 4;
  EXPECT_THAT(folder.LoadWithoutWeights(),
              ElementsAre(ErrorAt("relative_attention_num_buckets")));
}

// Transformers saves what it made of feed_forward_proj beside it, and reads
// that.
TEST(Seq2SeqFamiliesTest, SavedActivationsCountMore) {
  Folder folder("t5.generate");
  folder.config["feed_forward_proj"] = "gated-gelu";
  folder.config["dense_act_fn"] = "relu";
  folder.config["is_gated_act"] = false;
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  EXPECT_EQ(folder.description.encoder->activation, Activation::kRelu);
  EXPECT_FALSE(folder.description.encoder->layer[0].gate.has_value());
  folder.config["dense_act_fn"] = "gelu";
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  EXPECT_EQ(folder.description.decoder->activation, Activation::kGelu);
  folder.config["dense_act_fn"] = "mish2";
  EXPECT_THAT(folder.LoadWithoutWeights(),
              ElementsAre(ErrorAt("dense_act_fn")));
}

TEST(Seq2SeqFamiliesTest, ChecksLongAndMixedFamilies) {
  struct Case {
    const char* folder;
    json changes;
    const char* at;
  };
  const Case cases[] = {
      {"led.generate", {{"attention_window", 5}}, "attention_window"},
      {"led.generate", {{"attention_window", {4, 8, 8}}}, "attention_window"},
      {"led.generate", {{"attention_window", {4, 7}}}, "attention_window"},
      {"led.generate",
       {{"attention_window", json::array()}},
       "attention_window"},
      {"led.generate",
       {{"attention_window", json::array({4})}},
       "attention_window"},
      {"led.generate",
       {{"attention_window", json::array({4, 1 << 25})}},
       "attention_window"},
      {"led.generate",
       {{"max_encoder_position_embeddings", nullptr}},
       "max_encoder_position_embeddings"},
      {"longt5.generate",
       {{"encoder_attention_type", "global"}},
       "encoder_attention_type"},
      {"longt5.generate", {{"local_radius", 0}}, "local_radius"},
      {"longt5.blocks", {{"global_block_size", 0}}, "global_block_size"},
      {"nllb-moe.generate",
       {{"moe_eval_capacity_token_fraction", 0.5}},
       "moe_eval_capacity_token_fraction"},
      {"nllb-moe.generate",
       {{"second_expert_policy", "random"}},
       "second_expert_policy"},
      {"nllb-moe.generate", {{"num_experts", 1}}, "num_experts"},
      {"nllb-moe.generate",
       {{"num_experts", 1024},
        {"encoder_layers", 1000},
        {"decoder_layers", 1000}},
       "num_experts"},
      {"nllb-moe.generate", {{"moe_token_dropout", 2}}, "moe_token_dropout"},
      {"nllb-moe.generate",
       {{"encoder_sparse_step", -1}},
       "encoder_sparse_step"},
      {"t5gemma.generate", {{"encoder", nullptr}}, "encoder"},
      {"t5gemma.generate", {{"decoder", 3}}, "decoder"},
      {"t5gemma.generate",
       {{"architectures", {"T5GemmaEncoderModel"}}},
       "architectures"},
      {"t5gemma2.generate", {{"encoder", {{"text_config", 1}}}}, "text_config"},
      {"t5gemma2.generate", {{"decoder", nullptr}}, "decoder"},
  };
  for (const auto& [name, changes, at] : cases) {
    SCOPED_TRACE(changes.dump());
    Folder folder(name);
    folder.config.update(changes);
    EXPECT_THAT(folder.LoadWithoutWeights(), ElementsAre(ErrorAt(at)));
  }
}

// A window of LED is a number or a list; half of it lies on either side.
TEST(Seq2SeqFamiliesTest, EncodersOfLongTextsSeeWindows) {
  Folder folder("led.generate");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  const auto& layers = folder.description.encoder->layer;
  EXPECT_EQ(layers[0].self_attention.geometry.look_back, 2);
  EXPECT_EQ(layers[1].self_attention.geometry.look_ahead, 4);
  EXPECT_EQ(folder.description.decoder->max_positions, 48);
  EXPECT_FALSE(folder.description.encoder->global_tokens.has_value());
  folder.config["attention_window"] = 6;
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  EXPECT_EQ(
      folder.description.encoder->layer[1].self_attention.geometry.look_back,
      3);
  folder = Folder("longt5.generate");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  EXPECT_EQ(
      folder.description.encoder->layer[1].self_attention.geometry.look_ahead,
      3);
  EXPECT_EQ(
      folder.description.decoder->layer[0].self_attention.geometry.look_back,
      kAllKeys);
}

TEST(Seq2SeqFamiliesTest, EncodersOfLongTextsSeeBlocks) {
  Folder folder("longt5.blocks");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  const TransformerDescription& description = folder.description;
  EXPECT_EQ(description.encoder->layer[1].self_attention.blocks->size, 4);
  EXPECT_NE(description.encoder->relative_attention->block_bias, nullptr);
  EXPECT_EQ(description.decoder->relative_attention->block_bias, nullptr);
  EXPECT_FALSE(description.decoder->layer[0].self_attention.blocks.has_value());
}

TEST(Seq2SeqFamiliesTest, ExpertsAreInEachNthLayer) {
  Folder folder("nllb-moe.generate");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  const auto& layers = folder.description.encoder->layer;
  EXPECT_FALSE(layers[0].experts.has_value());
  EXPECT_TRUE(layers[1].experts.has_value());
  EXPECT_TRUE(folder.description.decoder->layer[2].experts.has_value());
  folder.config["num_experts"] = 6;
  EXPECT_FALSE(folder.LoadReal().empty());
}

TEST(Seq2SeqFamiliesTest, T5GemmasSidesHaveSizesOfTheirOwn) {
  Folder folder("t5gemma.generate");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  const TransformerDescription& description = folder.description;
  EXPECT_EQ(description.encoder->d_model, 40);
  EXPECT_EQ(description.decoder->d_model, 32);
  const AttentionDescription& cross =
      *description.decoder->layer[0].cross_attention;
  EXPECT_EQ(cross.key.weight->shape[1], 40);
  EXPECT_EQ(cross.geometry.rotary, AttentionGeometry::kNoRotary);
  folder.config["decoder"]["head_dim"] = "large";
  EXPECT_THAT(folder.LoadWithoutWeights(), ElementsAre(ErrorAt("head_dim")));
}

TEST(Seq2SeqFamiliesTest, T5Gemma2MergesBothAttentions) {
  Folder folder("t5gemma2.generate");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  const TransformerDescription& description = folder.description;
  const LayerDescription& layer = description.decoder->layer[1];
  EXPECT_TRUE(layer.merges());
  EXPECT_EQ(layer.cross_attention->key, layer.self_attention.key);
  EXPECT_EQ(layer.cross_attention->geometry.look_back, kAllKeys);
  EXPECT_EQ(layer.self_attention.geometry.look_back, 5);
  EXPECT_EQ(description.decoder->embeddings.tokens,
            description.encoder->embeddings.tokens);
  // A window of six tokens.
  const auto& encoder = description.encoder->layer;
  EXPECT_EQ(encoder[0].self_attention.geometry.look_back, 2);
  EXPECT_EQ(encoder[0].self_attention.geometry.look_ahead, 3);
  EXPECT_EQ(encoder[1].self_attention.geometry.look_ahead, kAllKeys);
  folder.config["encoder"]["text_config"]["sliding_window"] = 7;
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  const AttentionGeometry& odd =
      folder.description.encoder->layer[0].self_attention.geometry;
  EXPECT_EQ(odd.look_back, 3);
  EXPECT_EQ(odd.look_ahead, 3);
  folder.config["decoder"]["vocab_size"] = 300;
  EXPECT_THAT(folder.LoadWithoutWeights(), ElementsAre(ErrorAt("decoder")));
}

TEST(Seq2SeqFamiliesTest, TakesT5Gemma2sPublishedSizes) {
  Folder folder("t5gemma2.generate");
  const nlohmann::json sizes = {
      {"hidden_size", 640},           {"intermediate_size", 2048},
      {"num_hidden_layers", 18},      {"num_attention_heads", 4},
      {"num_key_value_heads", 1},     {"head_dim", 256},
      {"query_pre_attn_scalar", 256}, {"sliding_window", 512},
      {"vocab_size", 262144},         {"max_position_embeddings", 131072},
      {"layer_types", nullptr}};
  folder.config["encoder"]["text_config"].update(sizes);
  folder.config["decoder"].update(sizes);
  EXPECT_THAT(folder.LoadWithoutWeights(), IsEmpty());
  EXPECT_EQ(folder.description.decoder->layers, 18);
}

TEST(Seq2SeqFamiliesTest, RefusesOtherHeads) {
  for (const char* name :
       {"bart.generate", "t5.generate", "led.generate", "longt5.generate",
        "nllb-moe.generate", "t5gemma.generate", "t5gemma2.generate"}) {
    Folder folder(name);
    folder.config["architectures"] = {"AnyForQuestionAnswering"};
    EXPECT_THAT(folder.LoadWithoutWeights(),
                ElementsAre(ErrorAt("architectures")));
  }
}

TEST(Seq2SeqFamiliesTest, NamesMissingLayers) {
  Folder folder("mbart.translate");
  folder.config["encoder_layers"] = 3;
  EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt("encoder_layers")));
  folder = Folder("t5.generate");
  folder.config["num_decoder_layers"] = 5;
  EXPECT_THAT(folder.LoadReal(), ElementsAre(ErrorAt("num_decoder_layers")));
}

// Marian's and Pegasus' tables may be in the weights; M2M-100's are never read.
TEST(Seq2SeqFamiliesTest, ReadsStoredSinesIfTransformersDoes) {
  Folder folder("pegasus.summarize");
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.encoder->positions, PositionEncoding::kLearned);
  folder.weights.Remove("model.encoder.embed_positions.weight");
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.encoder->positions,
            PositionEncoding::kSinusoidal);
  EXPECT_EQ(folder.description.decoder->positions, PositionEncoding::kLearned);
  folder = Folder("m2m_100.translate");
  folder.weights.Set("model.encoder.embed_positions.weight", {64, 32});
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.encoder->positions,
            PositionEncoding::kSinusoidalToEnd);
}

// The weights decide whether T5's output is tied; the configuration decides
// whether its states are scaled.
TEST(Seq2SeqFamiliesTest, ReadsT5sOutputAndItsScale) {
  const auto first_scale = [](const Folder& folder) {
    std::vector<float> weight(32);
    CopyToF32(*folder.description.decoder->final_norm->weight, 0, weight);
    return weight[0];
  };
  Folder folder("t5.generate");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  EXPECT_EQ(folder.description.output_projection.weight,
            folder.description.decoder->embeddings.tokens);
  const float scaled = first_scale(folder);
  folder.config.erase("scale_decoder_outputs");
  folder.config["tie_word_embeddings"] = false;
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  EXPECT_FLOAT_EQ(scaled * std::sqrt(32.0f), first_scale(folder));
  folder.config["tie_word_embeddings"] = true;
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  EXPECT_EQ(scaled, first_scale(folder));
  folder.config["model_type"] = "mt5";
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  EXPECT_FLOAT_EQ(scaled * std::sqrt(32.0f), first_scale(folder));

  folder = Folder("t5.gated");
  folder.weights.Set("lm_head.weight", {307, 32});
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_NE(folder.description.output_projection.weight,
            folder.description.decoder->embeddings.tokens);
}

TEST(Seq2SeqFamiliesTest, DefaultsEqualTransformers) {
  Folder folder("bart.generate");
  folder.LoadWithoutWeights();
  EXPECT_EQ(folder.generation_defaults, json::parse(R"({
      "decoder_start_token_id": 2, "eos_token_id": 2,
      "forced_eos_token_id": 2})"));
  folder = Folder("t5.generate");
  folder.LoadWithoutWeights();
  EXPECT_EQ(folder.generation_defaults, json::parse(R"({
      "decoder_start_token_id": 0, "eos_token_id": 1})"));
}

}  // namespace
}  // namespace trivium
