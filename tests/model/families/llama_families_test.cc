// LLaMA and its descendants: the descriptions of their folders, and the
// messages for folders that do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/model/families/golden_folder.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(LlamaFamiliesTest, ChecksSizes) {
  Folder folder("llama.lm");
  folder.config["num_key_value_heads"] = 3;
  EXPECT_THAT(folder.LoadWithoutWeights(),
              ElementsAre(ErrorAt("num_key_value_heads")));
  folder = Folder("qwen2.lm");
  folder.config["num_attention_heads"] = 3;
  EXPECT_THAT(folder.LoadWithoutWeights(), ElementsAre(ErrorAt("head_dim")));
  folder.config["head_dim"] = 12;
  EXPECT_THAT(folder.LoadWithoutWeights(), IsEmpty());
}

// Of logits alone: Transformers' class does not read the other key.
TEST(LlamaFamiliesTest, Gemma3MayHaveASoftCap) {
  Folder folder("gemma3_text.lm");
  ASSERT_THAT(folder.LoadWithoutWeights(), IsEmpty());
  EXPECT_EQ(folder.description.logit_soft_cap, 0);
  folder.config["attn_logit_softcapping"] = 50;
  folder.config["final_logit_softcapping"] = 30;
  ASSERT_THAT(folder.Load(), IsEmpty());
  EXPECT_EQ(folder.description.logit_soft_cap, 30);
  EXPECT_EQ(
      folder.description.decoder->layer[0].self_attention.geometry.soft_cap, 0);
}

TEST(LlamaFamiliesTest, RefusesOptionsThatWouldBeIgnored) {
  Folder folder("mistral.lm");
  folder.config["layer_types"] = {"sliding_attention", "full_attention"};
  EXPECT_THAT(folder.LoadWithoutWeights(), ElementsAre(ErrorAt("layer_types")));
  folder.config["layer_types"] = {"sliding_attention"};
  EXPECT_THAT(folder.LoadWithoutWeights(),
              ElementsAre(ErrorAt("[\"sliding_attention\"]")));
  folder = Folder("qwen3.lm");
  folder.config["layer_types"] = {"sliding_attention", "full_attention"};
  EXPECT_THAT(folder.LoadWithoutWeights(),
              ElementsAre(ErrorAt("sliding_window")));
  folder = Folder("mistral.lm");
  folder.config["use_bidirectional_attention"] = true;
  EXPECT_THAT(folder.LoadWithoutWeights(),
              ElementsAre(ErrorAt("use_bidirectional_attention")));
  folder = Folder("gemma3_text.lm");
  folder.config["rope_parameters"]["chunked_attention"] = json::object();
  EXPECT_THAT(folder.LoadWithoutWeights(),
              ElementsAre(ErrorAt("rope_parameters")));
  folder = Folder("smollm3.lm");
  folder.config["no_rope_layers"] = {1, 0, 2, 0};
  EXPECT_THAT(folder.LoadWithoutWeights(),
              ElementsAre(ErrorAt("no_rope_layers")));
  folder.config["no_rope_layers"] = {1, 0, 1};
  EXPECT_THAT(folder.LoadWithoutWeights(), ElementsAre(ErrorAt("[1,0,1]")));
  folder = Folder("llama.lm");
  folder.config["hidden_act"] = "mish";
  EXPECT_THAT(folder.LoadWithoutWeights(), ElementsAre(ErrorAt("hidden_act")));
  folder = Folder("mixtral.lm");
  folder.config["num_experts_per_tok"] = 5;
  EXPECT_THAT(folder.LoadWithoutWeights(),
              ElementsAre(ErrorAt("num_experts_per_tok")));
  folder = Folder("gpt_oss.lm");
  folder.config["quantization_config"] = {{"quant_method", "fp8"}};
  EXPECT_THAT(folder.LoadWithoutWeights(), ElementsAre(ErrorAt("mxfp4")));
}

TEST(LlamaFamiliesTest, WindowsAreSwitchedOnByTheirOption) {
  Folder folder("qwen2.lm");
  folder.config["sliding_window"] = 8;
  folder.config.erase("layer_types");
  folder.config["max_window_layers"] = 1;
  EXPECT_THAT(folder.LoadWithoutWeights(), IsEmpty());
  folder.config["use_sliding_window"] = true;
  EXPECT_THAT(folder.LoadWithoutWeights(), IsEmpty());
}

// The keys of Gemma 3's first folders, and those that Transformers 5 writes.
TEST(LlamaFamiliesTest, ReadsGemmasOldAndNewKeysOfRotaryPositionsAlike) {
  Folder folder("gemma3_text.lm");
  ASSERT_THAT(folder.LoadWithoutWeights(), IsEmpty());
  const std::vector<RotaryDescription> expected =
      folder.description.decoder->rotary;
  folder.config.erase("rope_parameters");
  folder.config["rope_theta"] = 1000000.0;
  folder.config["rope_local_base_freq"] = 10000.0;
  for (const double factor : {1.0, 8.0}) {
    folder.config["rope_scaling"] = {{"factor", factor},
                                     {"rope_type", "linear"}};
    ASSERT_THAT(folder.LoadWithoutWeights(), IsEmpty());
    const auto& rotary = folder.description.decoder->rotary;
    ASSERT_EQ(rotary.size(), 2u);
    EXPECT_EQ(rotary[1].frequencies, expected[1].frequencies);
    for (size_t i = 0; i < rotary[0].frequencies.size(); ++i) {
      EXPECT_FLOAT_EQ(rotary[0].frequencies[i],
                      expected[0].frequencies[i] / factor);
    }
  }
}

}  // namespace
}  // namespace trivium
