#include "model/text_tower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "tests/model/families/fake_weights.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

struct Tower {
  json config;
  std::unique_ptr<Weights> weights;
  Problems problems;
};

Tower TowerOf(json config, std::initializer_list<const char*> names) {
  auto weights = std::make_unique<FakeWeights>();
  for (const char* name : names) weights->Set(name, {1});
  Tower tower = {std::move(config), std::move(weights), {}};
  UseTextTower(&tower.config, &tower.weights, &tower.problems);
  return tower;
}

TEST(TextTowerTest, LeavesOtherFoldersAsTheyAre) {
  const json config = {{"model_type", "llama"},
                       {"text_config", json::object()}};
  const Tower tower = TowerOf(config, {"language_model.norm.weight"});
  EXPECT_EQ(tower.config, config);
  EXPECT_THAT(tower.weights->Names(),
              ElementsAre("language_model.norm.weight"));
}

TEST(TextTowerTest, FindsTensorsUnderTheNamesOfBothForms) {
  const json config = {{"model_type", "mistral3"},
                       {"text_config", json::object()}};
  const Tower old =
      TowerOf(config, {"language_model.model.norm.weight",
                       "language_model.lm_head.weight", "vision_tower.a.weight",
                       "multi_modal_projector.b.weight"});
  EXPECT_THAT(old.weights->Names(),
              ElementsAre("lm_head.weight", "model.norm.weight"));
  EXPECT_EQ(old.config["tie_word_embeddings"], false);
  EXPECT_EQ(old.config["model_type"], "mistral");
  const Tower now =
      TowerOf(config, {"model.language_model.norm.weight",
                       "model.visual.a.weight", "model.vision_tower.a.weight"});
  EXPECT_THAT(now.weights->Names(), ElementsAre("model.norm.weight"));
  EXPECT_NE(now.weights->Find("model.norm.weight"), nullptr);
  EXPECT_EQ(now.config["tie_word_embeddings"], true);
}

TEST(TextTowerTest, TextConfigWinsAndUsualValuesFillIt) {
  const Tower tower =
      TowerOf({{"model_type", "gemma3"},
               {"eos_token_id", {1, 106}},
               {"bos_token_id", 7},
               {"text_config", {{"hidden_size", 2560}, {"bos_token_id", 2}}}},
              {});
  EXPECT_THAT(tower.problems, IsEmpty());
  EXPECT_EQ(tower.config["model_type"], "gemma3_text");
  EXPECT_EQ(tower.config["hidden_size"], 2560);
  EXPECT_EQ(tower.config["vocab_size"], 262208);
  EXPECT_EQ(tower.config["bos_token_id"], 2);
  EXPECT_EQ(tower.config["eos_token_id"], json({1, 106}));
}

// Published folders of Qwen2.5-VL have one object; later ones a text_config.
TEST(TextTowerTest, ReadsFoldersWithoutATextConfig) {
  const json flat = {{"model_type", "qwen2_5_vl"},
                     {"hidden_size", 2048},
                     {"vision_config", {{"hidden_size", 1280}}}};
  const Tower tower =
      TowerOf(flat, {"model.norm.weight", "visual.merger.ln_q.weight"});
  EXPECT_THAT(tower.problems, IsEmpty());
  EXPECT_EQ(tower.config["model_type"], "qwen2_5_vl_text");
  EXPECT_EQ(tower.config["hidden_size"], 2048);
  EXPECT_THAT(tower.weights->Names(), ElementsAre("model.norm.weight"));
  const Tower later =
      TowerOf({{"model_type", "qwen2_5_vl"},
               {"text_config",
                {{"model_type", "qwen2_5_vl_text"}, {"hidden_size", 3584}}}},
              {});
  EXPECT_THAT(later.problems, IsEmpty());
  EXPECT_EQ(later.config["hidden_size"], 3584);
}

TEST(TextTowerTest, KnowsTheNamesOfSmolVlm) {
  const Tower tower = TowerOf(
      {{"model_type", "smolvlm"}, {"text_config", {{"hidden_size", 576}}}},
      {"lm_head.weight", "model.text_model.norm.weight",
       "model.vision_model.a.weight", "model.connector.b.weight"});
  EXPECT_THAT(tower.weights->Names(),
              ElementsAre("lm_head.weight", "model.norm.weight"));
  EXPECT_EQ(tower.config["model_type"], "llama");
  EXPECT_EQ(tower.config["num_hidden_layers"], 32);
}

TEST(TextTowerTest, LeavesOutEyesAndEars) {
  const Tower tower =
      TowerOf({{"model_type", "gemma4"}, {"text_config", json::object()}},
              {"model.language_model.layers.0.layer_scalar",
               "model.vision_tower.a.weight", "model.audio_tower.b.weight",
               "model.embed_vision.c.weight", "model.embed_audio.d.weight"});
  EXPECT_THAT(tower.weights->Names(),
              ElementsAre("model.layers.0.layer_scalar"));
  EXPECT_EQ(tower.config["model_type"], "gemma4_text");
  EXPECT_EQ(tower.config["num_hidden_layers"], 30);
}

TEST(TextTowerTest, NamesAMissingTextConfig) {
  for (const json& text : {json(), json(3)}) {
    const Tower tower =
        TowerOf({{"model_type", "qwen3_vl"}, {"text_config", text}}, {});
    EXPECT_THAT(tower.problems, ElementsAre(ErrorAt("text_config")));
  }
}

}  // namespace
}  // namespace trivium
