// BERT and its descendants: the descriptions of their folders, and the messages
// for folders that do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
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

struct Head {
  const char* folder;
  std::optional<HeadKind> kind;
  int outputs;
  bool pooler;
};

class HeadTest : public ::testing::TestWithParam<Head> {};

TEST_P(HeadTest, IsThatOfTheArchitecture) {
  Folder folder(GetParam().folder);
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  const auto& head = folder.description.head;
  ASSERT_EQ(head.has_value(), GetParam().kind.has_value());
  EXPECT_EQ(folder.description.pooler.has_value(), GetParam().pooler);
  EXPECT_FALSE(folder.description.decoder.has_value());
  if (!head.has_value()) return;
  EXPECT_EQ(head->kind, *GetParam().kind);
  EXPECT_EQ(head->output.weight->shape[0], GetParam().outputs);
}

INSTANTIATE_TEST_SUITE_P(
    Goldens, HeadTest,
    ::testing::Values(
        Head{"bert.base", std::nullopt, 0, true},
        Head{"bert.old_names", std::nullopt, 0, true},
        Head{"bert.classify", HeadKind::kClassify, 3, true},
        Head{"bert.next_sentence", HeadKind::kClassify, 2, true},
        Head{"bert.tag", HeadKind::kTag, 3, false},
        Head{"bert.answer", HeadKind::kAnswer, 2, false},
        Head{"bert.fill_mask", HeadKind::kFillMask, 307, false},
        Head{"distilbert.classify", HeadKind::kClassify, 3, false},
        Head{"distilbert.fill_mask", HeadKind::kFillMask, 307, false},
        Head{"roberta.classify", HeadKind::kClassify, 3, false},
        Head{"albert.classify", HeadKind::kClassify, 3, true},
        Head{"electra.discriminate", HeadKind::kDiscriminate, 1, false},
        Head{"deberta.classify", HeadKind::kClassify, 3, true},
        Head{"deberta-v2.classify", HeadKind::kClassify, 3, true},
        Head{"mpnet.base", std::nullopt, 0, true},
        Head{"convbert.base", std::nullopt, 0, false},
        Head{"longformer.answer", HeadKind::kAnswer, 2, false},
        Head{"longformer.base", std::nullopt, 0, true},
        Head{"longformer.classify", HeadKind::kClassify, 3, false},
        Head{"longformer.fill_mask", HeadKind::kFillMask, 307, false},
        Head{"longformer.tag", HeadKind::kTag, 3, false},
        Head{"convbert.classify", HeadKind::kClassify, 3, false},
        Head{"convbert.fill_mask", HeadKind::kFillMask, 307, false},
        Head{"data2vec-text.classify", HeadKind::kClassify, 3, false},
        Head{"ernie.fill_mask", HeadKind::kFillMask, 307, false},
        Head{"jina_bert.base", std::nullopt, 0, false},
        Head{"jina_bert.fill_mask", HeadKind::kFillMask, 211, false},
        Head{"jina_bert.code", std::nullopt, 0, true},
        Head{"jina_embeddings_v3.base", std::nullopt, 0, true},
        Head{"jina_embeddings_v3.tag", HeadKind::kTag, 2, false},
        Head{"megatron-bert.classify", HeadKind::kClassify, 3, true},
        Head{"roberta-prelayernorm.fill_mask", HeadKind::kFillMask, 307, false},
        Head{"roformer.classify", HeadKind::kClassify, 2, false},
        Head{"roformer.fill_mask", HeadKind::kFillMask, 307, false},
        Head{"xlm-roberta-xl.classify", HeadKind::kClassify, 2, false},
        Head{"xlm-roberta.flash", HeadKind::kClassify, 1, false},
        Head{"xlm-roberta.task", std::nullopt, 0, false},
        Head{"mobilebert.answer", HeadKind::kAnswer, 2, false},
        Head{"mobilebert.base", std::nullopt, 0, true},
        Head{"mobilebert.classify", HeadKind::kClassify, 3, false},
        Head{"mobilebert.fill_mask", HeadKind::kFillMask, 307, false},
        Head{"mobilebert.tag", HeadKind::kTag, 2, false},
        Head{"modernbert.base", std::nullopt, 0, false},
        Head{"modernbert.classify", HeadKind::kClassify, 3, false},
        Head{"modernbert.tag", HeadKind::kTag, 3, false},
        Head{"modernbert.fill_mask", HeadKind::kFillMask, 307, false},
        Head{"gte.base", std::nullopt, 0, false},
        Head{"gte.classify", HeadKind::kClassify, 3, true},
        Head{"nomic_bert.base", std::nullopt, 0, false},
        Head{"eurobert.base", std::nullopt, 0, false},
        Head{"t5.encoder", std::nullopt, 0, false},
        Head{"xlm.base", std::nullopt, 0, false},
        Head{"xlm.classify", HeadKind::kClassify, 2, false},
        Head{"xlm.answer", HeadKind::kAnswer, 2, false},
        Head{"flaubert.tag", HeadKind::kTag, 2, false},
        Head{"flaubert.fill_mask", HeadKind::kFillMask, 307, false}));

TEST(BertTest, AcceptsNamesOfOldCheckpoints) {
  Folder folder("bert.classify");
  const FakeWeights original = folder.weights;
  for (const std::string_view view : original.Names()) {
    const std::string name(view);
    const auto ends = [&](const std::string& end) {
      return name.size() > end.size() &&
             name.compare(name.size() - end.size(), end.size(), end) == 0;
    };
    std::string other = name.rfind("bert.", 0) == 0 ? name.substr(5) : name;
    const std::string stem = other.substr(0, other.rfind('.'));
    if (ends("LayerNorm.weight")) other = stem + ".gamma";
    if (ends("LayerNorm.bias")) other = stem + ".beta";
    if (other != name) folder.weights.Rename(name, other);
  }
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.encoder->embedding_norm->weight,
            folder.weights.Find("embeddings.LayerNorm.gamma"));
  EXPECT_EQ(folder.description.encoder->layer[1].feed_forward_norms.after->bias,
            folder.weights.Find("encoder.layer.1.output.LayerNorm.beta"));
}

// Folders of bare encoders keep the architecture that they were taken from.
TEST(BertTest, AnArchitectureWithoutItsHeadIsABareEncoder) {
  Folder folder("bert.base");
  folder.config["architectures"] = {"BertForMaskedLM"};
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_FALSE(folder.description.head.has_value());
  folder.config.erase("architectures");
  EXPECT_THAT(folder.Load(), IsEmpty());
}

TEST(BertTest, ReadsATiedOrAnUntiedOutput) {
  Folder folder("bert.fill_mask");
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.head->output.weight,
            folder.description.encoder->embeddings.tokens);
  folder.config["tie_word_embeddings"] = false;
  EXPECT_THAT(folder.Load(),
              ElementsAre(ErrorAt("cls.predictions.decoder.weight")));
  folder.weights.Set("cls.predictions.decoder.weight", {307, 32});
  folder.weights.Set("cls.predictions.decoder.bias", {307});
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.head->output.bias,
            folder.weights.Find("cls.predictions.decoder.bias"));
}

TEST(BertTest, NamesTensorsThatDoNotFit) {
  Folder folder("bert.classify");
  folder.config["num_hidden_layers"] = 3;
  EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt("num_hidden_layers")));
  folder.config["num_hidden_layers"] = 2;
  folder.config["id2label"].erase("0");
  EXPECT_THAT(folder.Load(),
              testing::UnorderedElementsAre(ErrorAt("classifier.weight"),
                                            ErrorAt("classifier.bias")));
  folder = Folder("bert.classify");
  folder.weights.Remove("bert.pooler.dense.weight");
  folder.weights.Remove("bert.pooler.dense.bias");
  EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt("pooler")));
}

TEST(BertTest, RefusesOptionsThatChangeTheArithmetic) {
  const auto problems = [](const char* name, const char* key, json value) {
    Folder folder(name);
    folder.config[key] = std::move(value);
    const Problems found = folder.LoadWithoutWeights();
    return found.size() == 1 ? found[0] : std::to_string(found.size());
  };
  EXPECT_THAT(problems("bert.base", "num_attention_heads", 5),
              ErrorAt("num_attention_heads"));
  EXPECT_THAT(problems("bert.base", "is_decoder", true), ErrorAt("is_decoder"));
  EXPECT_THAT(problems("bert.base", "position_embedding_type", "relative_key"),
              ErrorAt("position_embedding_type"));
  EXPECT_THAT(problems("bert.base", "hidden_act", "gelu_10"),
              ErrorAt("hidden_act"));
  EXPECT_THAT(problems("roberta.base", "max_position_embeddings", 2),
              ErrorAt("max_position_embeddings"));
  EXPECT_THAT(problems("albert.base", "num_hidden_groups", 3),
              ErrorAt("num_hidden_groups"));
  EXPECT_THAT(problems("mpnet.base", "relative_attention_num_buckets", 16),
              ErrorAt("relative_attention_num_buckets"));
  EXPECT_THAT(problems("deberta.base", "talking_head", true),
              ErrorAt("talking_head"));
  EXPECT_THAT(problems("deberta.base", "relative_attention", false),
              ErrorAt("relative_attention"));
  for (const json& types : {json("p2p"), json({"c2p", "p2p"}), json({1})}) {
    EXPECT_THAT(problems("deberta.base", "pos_att_type", types),
                ErrorAt("pos_att_type"));
  }
  EXPECT_THAT(problems("deberta-v2.base", "conv_kernel_size", 4),
              ErrorAt("conv_kernel_size"));
  EXPECT_THAT(problems("deberta-v2.base", "position_buckets", 1),
              ErrorAt("position_buckets"));
  EXPECT_THAT(problems("deberta-v2.base", "position_buckets", 500),
              ErrorAt("position_buckets"));
}

TEST(RobertaTest, PositionsBeginAfterThePaddingId) {
  Folder folder("xlm-roberta.base");
  ASSERT_THAT(folder.Load(), IsEmpty());
  const StackDescription& encoder = *folder.description.encoder;
  EXPECT_EQ(encoder.max_positions, 64);
  EXPECT_EQ(encoder.position_offset, 2);
  EXPECT_EQ(encoder.position_padding_id, 1);
}

TEST(AlbertTest, DistributesStepsAmongTheGroups) {
  Folder folder("albert.base");
  folder.config["num_hidden_layers"] = 5;
  folder.config["num_hidden_groups"] = 2;
  EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt("albert_layer_groups.1")));
  const FakeWeights original = folder.weights;
  for (const std::string_view name : original.Names()) {
    std::string other(name);
    const size_t at = other.find("groups.0");
    if (at == other.npos) continue;
    other[at + 7] = '1';
    folder.weights.Set(other, original.Find(name)->shape);
  }
  ASSERT_THAT(folder.Load(), IsEmpty());
  const auto& layers = folder.description.encoder->layer;
  ASSERT_EQ(layers.size(), 5u);
  // int(step / (5 / 2)): the third step still belongs to the first group.
  EXPECT_EQ(layers[0].up.weight, layers[2].up.weight);
  EXPECT_NE(layers[2].up.weight, layers[3].up.weight);
  EXPECT_EQ(layers[3].up.weight, layers[4].up.weight);
}

TEST(DebertaTest, ReadsTermsJoinedByABar) {
  Folder folder("deberta-v2.base");
  folder.config["pos_att_type"] = "p2c|c2p";
  ASSERT_THAT(folder.Load(), IsEmpty());
  const auto scale = [&] {
    return folder.description.encoder->layer[0].self_attention.geometry.scale;
  };
  EXPECT_FLOAT_EQ(scale(), 1 / std::sqrt(3 * 16.0f));
  folder.config["pos_att_type"] = "c2p";
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_FLOAT_EQ(scale(), 1 / std::sqrt(2 * 16.0f));
  EXPECT_FALSE(folder.description.encoder->layer[0].position_query);
}

// Version 1 keeps a head's queries, keys and values together.
TEST(DebertaTest, SplitsJoinedProjections) {
  Folder folder("deberta.base");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  const AttentionDescription& attention =
      folder.description.encoder->layer[0].self_attention;
  const auto weights = Weights::Open("tests/golden/deberta.base").value();
  const TensorView* joined =
      weights->Find("encoder.layer.0.attention.self.in_proj.weight");
  const auto value = [](const TensorView* tensor, int row, int column) {
    float result = 0;
    CopyToF32(*tensor, row * 32 + column, std::span(&result, 1));
    return result;
  };
  // Two heads of 16: rows of query 0, key 0, value 0, query 1...
  EXPECT_EQ(value(attention.query.weight, 3, 5), value(joined, 3, 5));
  EXPECT_EQ(value(attention.key.weight, 3, 5), value(joined, 16 + 3, 5));
  EXPECT_EQ(value(attention.value.weight, 3, 5), value(joined, 32 + 3, 5));
  EXPECT_EQ(value(attention.query.weight, 20, 5), value(joined, 48 + 4, 5));
  EXPECT_EQ(value(attention.value.weight, 31, 31), value(joined, 95, 31));
  EXPECT_EQ(attention.key.bias, nullptr);
}

TEST(JinaBertTest, HasSlopesInsteadOfPositions) {
  Folder folder("jina_bert.base");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  const StackDescription& encoder = *folder.description.encoder;
  EXPECT_EQ(encoder.positions, PositionEncoding::kNone);
  EXPECT_THAT(encoder.relative_attention->slopes,
              ElementsAre(1.0f / 16, 1.0f / 256));
  EXPECT_FALSE(encoder.layer[0].self_attention_norms.of_sum.has_value());
}

// The gate's rows are the first ones in one variant, the last in the other.
TEST(JinaBertTest, VariantsDifferInNormsAndGates) {
  Folder code("jina_bert.code");
  ASSERT_THAT(code.LoadReal(), IsEmpty());
  const LayerDescription& layer = code.description.encoder->layer[0];
  EXPECT_TRUE(layer.self_attention_norms.of_sum.has_value());
  EXPECT_EQ(layer.self_attention.query_norm->weight->shape[0], 48);
  EXPECT_GT(layer.gate->weight->data.data(), layer.up.weight->data.data());
  Folder base("jina_bert.base");
  ASSERT_THAT(base.LoadReal(), IsEmpty());
  const LayerDescription& other = base.description.encoder->layer[0];
  EXPECT_LT(other.gate->weight->data.data(), other.up.weight->data.data());
}

TEST(JinaBertTest, RefusesAnUnknownFeedForward) {
  Folder folder("jina_bert.base");
  folder.config["feed_forward_type"] = "swiglu";
  EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt("feed_forward_type")));
}

TEST(ConvBertTest, HalfOfTheHeadsReadNearTokens) {
  Folder folder("convbert.base");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  const StackDescription& encoder = *folder.description.encoder;
  EXPECT_EQ(encoder.heads, 2);
  const AttentionDescription& attention = encoder.layer[0].self_attention;
  EXPECT_EQ(attention.geometry.head_size, 10);
  EXPECT_EQ(attention.near->width, 9);
  EXPECT_THAT(attention.near->weights.weight->shape, ElementsAre(18, 20));
  // A ratio above the number of heads leaves one.
  folder.config["head_ratio"] = 7;
  folder.Load();
  EXPECT_EQ(folder.description.encoder->heads, 1);
}

TEST(ConvBertTest, RefusesSizesThatDoNotFit) {
  for (const auto& [key, value] : {std::pair("num_attention_heads", json(6)),
                                   {"conv_kernel_size", json(4)},
                                   {"num_groups", json(5)},
                                   {"head_ratio", json(0)},
                                   {"is_decoder", json(true)}}) {
    SCOPED_TRACE(key);
    Folder folder("convbert.fill_mask");
    folder.config[key] = value;
    EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt(key)));
  }
}

TEST(LongformerTest, TheHeadTellsWhichTokensAreGlobal) {
  Folder folder("longformer.classify");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  const StackDescription& encoder = *folder.description.encoder;
  EXPECT_EQ(encoder.layer[1].self_attention.geometry.look_back, 8);
  EXPECT_EQ(encoder.layer[2].self_attention.geometry.look_ahead, 4);
  ASSERT_TRUE(encoder.global_tokens.has_value());
  EXPECT_EQ(encoder.global_tokens->end_id, std::nullopt);
  EXPECT_TRUE(encoder.layer[2].self_attention.global.has_value());
  // Without its head, nothing asks for global tokens.
  folder.config["architectures"] = {"LongformerModel"};
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  EXPECT_FALSE(folder.description.encoder->global_tokens.has_value());
  folder = Folder("longformer.answer");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  EXPECT_EQ(folder.description.encoder->global_tokens->end_id, 2);
  folder.config["sep_token_id"] = 9;
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  EXPECT_EQ(folder.description.encoder->global_tokens->end_id, 9);
}

TEST(LongformerTest, RefusesWindowsThatDoNotFit) {
  for (const json& window : {json(5), json({4, 8}), json("all")}) {
    SCOPED_TRACE(window.dump());
    Folder folder("longformer.classify");
    folder.config["attention_window"] = window;
    EXPECT_THAT(folder.LoadWithoutWeights(),
                ElementsAre(ErrorAt("attention_window")));
  }
}

TEST(MobileBertTest, LayersAreAsTheOptionsSay) {
  Folder folder("mobilebert.base");
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  const LayerDescription& layer = folder.description.encoder->layer[0];
  EXPECT_EQ(layer.earlier_feed_forwards.size(), 3u);
  EXPECT_TRUE(layer.bottleneck->attention.has_value());
  EXPECT_EQ(layer.self_attention_norms.after->kind, NormTensors::Kind::kNone);
  Folder other("mobilebert.answer");
  ASSERT_THAT(other.LoadReal(), IsEmpty());
  const LayerDescription& normed = other.description.encoder->layer[0];
  EXPECT_TRUE(normed.earlier_feed_forwards.empty());
  EXPECT_FALSE(normed.bottleneck->attention.has_value());
  EXPECT_EQ(normed.self_attention_norms.after->kind, NormTensors::Kind::kLayer);
  Folder wide("mobilebert.tag");
  ASSERT_THAT(wide.LoadReal(), IsEmpty());
  EXPECT_FALSE(wide.description.encoder->layer[0].bottleneck.has_value());
}

TEST(MobileBertTest, RefusesWhatDoesNotFit) {
  for (const auto& [key, value] : {std::pair("num_attention_heads", json(3)),
                                   {"normalization_type", json("batch_norm")},
                                   {"key_query_shared_bottleneck", json(false)},
                                   {"num_feedforward_networks", json(0)},
                                   {"embedding_size", json(48)}}) {
    SCOPED_TRACE(key);
    Folder folder("mobilebert.fill_mask");
    folder.config[key] = value;
    EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt(key)));
  }
}

TEST(RoFormerTest, RefusesRotaryValues) {
  Folder folder("roformer.fill_mask");
  folder.config["rotary_value"] = true;
  EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt("rotary_value")));
}

TEST(ErnieTest, AddsTheFirstTaskToTheTypes) {
  Folder folder("ernie.fill_mask"), other("ernie.fill_mask");
  other.config["use_task_id"] = false;
  ASSERT_THAT(folder.LoadReal(), IsEmpty());
  ASSERT_THAT(other.LoadReal(), IsEmpty());
  const TensorView* const with = folder.description.encoder->embeddings.types;
  const TensorView* const without = other.description.encoder->embeddings.types;
  ASSERT_EQ(without->shape, with->shape);
  std::vector<float> sums(with->elements()), plain(with->elements());
  CopyToF32(*with, 0, sums);
  CopyToF32(*without, 0, plain);
  EXPECT_NE(sums, plain);
}

TEST(XlmTest, NormsComeWhereTheFolderSays) {
  Folder after("flaubert.fill_mask"), before("flaubert.tag");
  ASSERT_THAT(after.Load(), IsEmpty());
  ASSERT_THAT(before.Load(), IsEmpty());
  const auto& norms = [](const Folder& folder) -> const SublayerNorms& {
    return folder.description.encoder->layer[1].feed_forward_norms;
  };
  EXPECT_TRUE(norms(after).after.has_value());
  EXPECT_FALSE(norms(after).before.has_value());
  EXPECT_TRUE(norms(before).before.has_value());
  EXPECT_FALSE(norms(before).after.has_value());
  EXPECT_FALSE(before.description.encoder->final_norm.has_value());
}

TEST(XlmTest, ReadsTheMeanAndEarlyVocabularies) {
  Folder folder("xlm.classify");
  folder.config["summary_type"] = "mean";
  folder.config["n_words"] = folder.config["vocab_size"];
  folder.config.erase("vocab_size");
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.head->input, HeadDescription::Input::kMean);
}

TEST(XlmTest, RefusesWhatItDoesNotRun) {
  for (const auto& [key, value] : {std::pair("causal", json(true)),
                                   {"is_encoder", json(false)},
                                   {"summary_type", json("attn")},
                                   {"summary_use_proj", json(false)},
                                   {"summary_proj_to_labels", json(false)},
                                   {"summary_activation", json("tanh")},
                                   {"n_heads", json(5)}}) {
    SCOPED_TRACE(key);
    Folder folder("xlm.classify");
    folder.config[key] = value;
    EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt(key)));
  }
  Folder words("flaubert.fill_mask");
  words.config["asm"] = true;
  EXPECT_THAT(words.Load(), ElementsAre(ErrorAt("asm")));
  Folder answers("xlm.answer");
  answers.config["architectures"] = {"XLMForQuestionAnswering"};
  EXPECT_THAT(answers.Load(), ElementsAre(ErrorAt("architectures")));
}

TEST(XlmRobertaFlashTest, RefusesATaskWithoutAdapters) {
  Folder folder("xlm-roberta.task");
  folder.config["lora_task"] = "classification";
  EXPECT_THAT(folder.Load(), ElementsAre(ErrorAt("lora_task")));
}

TEST(XlmRobertaFlashTest, RefusesAdaptersOfAnotherRank) {
  Folder folder("xlm-roberta.task");
  folder.config["lora_rank"] = 5;
  EXPECT_THAT(folder.Load(), testing::Not(IsEmpty()));
}

}  // namespace
}  // namespace trivium
