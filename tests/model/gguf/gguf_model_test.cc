#include "model/gguf/gguf_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "model/gguf/gguf_changes.h"
#include "tests/model/weights/gguf_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

GgufModel Read(const GgufWriter& writer, Problems* problems) {
  const TemporaryFolder folder;
  folder.Write("model.gguf", writer.Bytes());
  return ReadGgufModel(folder.path() + "/model.gguf", problems);
}
GgufModel ReadWell(const GgufWriter& writer) {
  Problems problems;
  GgufModel model = Read(writer, &problems);
  EXPECT_THAT(problems, IsEmpty());
  return model;
}
Problems ProblemsOf(const GgufWriter& writer) {
  Problems problems;
  Read(writer, &problems);
  return problems;
}

std::vector<float> Values(const GgufModel& model, const std::string& name) {
  const TensorView* const tensor =
      model.weights == nullptr ? nullptr : model.weights->Find(name);
  if (tensor == nullptr) return {};
  std::vector<float> values(tensor->elements());
  CopyToF32(*tensor, 0, values);
  return values;
}

// Returns 0, 1, 2...
std::vector<float> Count(size_t size) {
  std::vector<float> values(size);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

// The metadata of a decoder with heads of four dimensions; `without` are keys
// that the test gives itself.
GgufWriter Decoder(const std::string& architecture,
                   const std::set<std::string_view>& without = {}) {
  GgufWriter writer;
  writer.Value("general.architecture", architecture);
  for (const auto& [name, value] : {std::pair("context_length", 64u),
                                    {"block_count", 2u},
                                    {"embedding_length", 8u},
                                    {"feed_forward_length", 16u},
                                    {"attention.head_count", 2u},
                                    {"attention.head_count_kv", 1u},
                                    {"rope.dimension_count", 4u}}) {
    if (!without.contains(name)) writer.Value(architecture + "." + name, value);
  }
  writer.Real(architecture + ".rope.freq_base", 10000)
      .Value("tokenizer.ggml.eos_token_id", 2);
  for (const char* name : {"attention.layer_norm_rms_epsilon"}) {
    if (!without.contains(name)) writer.Real(architecture + "." + name, 0.5f);
  }
  return writer;
}

TEST(GgufModelTest, MakesConfigOfLlama) {
  GgufWriter writer = Decoder("llama");
  writer.Tensor("token_embd.weight", {3, 8}, Count(24));
  const GgufModel model = ReadWell(writer);
  EXPECT_EQ(model.config, json({{"model_type", "llama"},
                                {"max_position_embeddings", 64},
                                {"num_hidden_layers", 2},
                                {"hidden_size", 8},
                                {"intermediate_size", 16},
                                {"num_attention_heads", 2},
                                {"num_key_value_heads", 1},
                                {"head_dim", 4},
                                {"rms_norm_eps", 0.5},
                                {"rope_theta", 10000.0},
                                {"sliding_window", nullptr},
                                {"attention_bias", false},
                                {"mlp_bias", false},
                                {"vocab_size", 3},
                                {"tie_word_embeddings", true},
                                {"eos_token_id", 2}}));
  EXPECT_EQ(model.generation_config, json({{"eos_token_id", 2}}));
  EXPECT_TRUE(model.tokenizer.is_null());
}

TEST(GgufModelTest, ChatTurnsMayEndWithATokenOfTheirOwn) {
  GgufWriter writer = Decoder("llama");
  writer.Value("tokenizer.ggml.eot_token_id", 5);
  EXPECT_EQ(ReadWell(writer).generation_config["eos_token_id"], json({2, 5}));
}

// The rows of a head are 0 1 2 3 in the folder and 0 2 1 3 in the file.
TEST(GgufModelTest, UndoesTheInterleavingOfHeads) {
  GgufWriter writer = Decoder("llama");
  writer.Tensor("blk.1.attn_q.weight", {8, 1}, {0, 2, 1, 3, 4, 6, 5, 7})
      .Tensor("blk.1.attn_k.weight", {4, 2}, {0, 1, 4, 5, 2, 3, 6, 7})
      .Tensor("blk.1.attn_q.bias", {8}, {0, 2, 1, 3, 4, 6, 5, 7})
      .Tensor("blk.1.attn_v.weight", {4, 1}, Count(4));
  const GgufModel model = ReadWell(writer);
  const std::string layer = "model.layers.1.self_attn.";
  EXPECT_EQ(Values(model, layer + "q_proj.weight"), Count(8));
  EXPECT_EQ(Values(model, layer + "k_proj.weight"), Count(8));
  EXPECT_EQ(Values(model, layer + "q_proj.bias"), Count(8));
  EXPECT_EQ(Values(model, layer + "v_proj.weight"), Count(4));
  // Qwen's are not interleaved.
  GgufWriter qwen = Decoder("qwen2");
  qwen.Tensor("blk.0.attn_q.weight", {8, 1}, Count(8));
  EXPECT_EQ(Values(ReadWell(qwen), "model.layers.0.self_attn.q_proj.weight"),
            Count(8));
}

TEST(GgufModelTest, SplitsExpertsIntoTensors) {
  GgufWriter writer = Decoder("llama");
  writer.Value("llama.expert_count", 2)
      .Value("llama.expert_used_count", 1)
      .Tensor("blk.0.ffn_gate_exps.weight", {2, 2, 3}, Count(12));
  const GgufModel model = ReadWell(writer);
  EXPECT_EQ(model.config["model_type"], "mixtral");
  EXPECT_EQ(model.config["num_local_experts"], 2);
  const std::string name =
      "model.layers.0.block_sparse_moe.experts.1.w1.weight";
  EXPECT_THAT(Values(model, name), ElementsAre(6, 7, 8, 9, 10, 11));
  EXPECT_THAT(model.weights->Find(name)->shape, ElementsAre(2, 3));
}

TEST(GgufModelTest, NamesTheTypesOfBlocks) {
  const std::vector<std::byte> bytes(1000);
  GgufWeights weights(nullptr);
  EXPECT_EQ(weights.Quantization(), "");
  const auto add = [&](std::string name, DType dtype, size_t size) {
    weights.Add(std::move(name), {dtype, {1}, std::span(bytes).first(size)});
  };
  add("norm", DType::kF32, 1000);
  EXPECT_EQ(weights.Quantization(), "");
  add("a", DType::kQ6K, 210);
  EXPECT_EQ(weights.Quantization(), "Q6_K");
  add("b", DType::kQ3K, 110);
  add("c", DType::kQ3K, 110);
  EXPECT_EQ(weights.Quantization(), "Q3_K and Q6_K");
  add("d", DType::kIq4Xs, 136);
  EXPECT_EQ(weights.Quantization(), "Q3_K, Q6_K and IQ4_XS");
}

TEST(GgufModelTest, SubtractsOneFromGemmasNorms) {
  GgufWriter writer = Decoder("gemma3");
  writer.Value("gemma3.attention.sliding_window", 8)
      .Value("gemma3.attention.key_length", 4)
      .Tensor("output_norm.weight", {2}, {1.5f, 0})
      .Tensor("blk.0.ffn_norm.weight", {1}, {2})
      .Tensor("blk.0.ffn_up.weight", {1}, {2});
  const GgufModel model = ReadWell(writer);
  EXPECT_EQ(model.config["model_type"], "gemma3_text");
  EXPECT_EQ(model.config["sliding_window_pattern"], 6);
  EXPECT_EQ(model.config["query_pre_attn_scalar"], 4);
  EXPECT_THAT(Values(model, "model.norm.weight"), ElementsAre(0.5f, -1));
  EXPECT_THAT(Values(model, "model.layers.0.pre_feedforward_layernorm.weight"),
              ElementsAre(1));
  EXPECT_THAT(Values(model, "model.layers.0.mlp.up_proj.weight"),
              ElementsAre(2));
}

TEST(GgufModelTest, TransposesTheMatricesOfGpt2) {
  GgufWriter writer;
  writer.Value("general.architecture", "gpt2")
      .Value("gpt2.block_count", 1)
      .Tensor("blk.0.ffn_up.weight", {3, 2}, Count(6))
      .Tensor("blk.0.ffn_up.bias", {3}, Count(3))
      // A block of 32 with d = 1 and the numbers 0, 1, 2...
      .Info("blk.0.ffn_down.weight", {1, 32}, 8, 64);
  writer.data.resize(64);
  writer.data += std::string("\x00\x3c", 2);
  for (char i = 0; i < 32; ++i) writer.data += i;
  const GgufModel model = ReadWell(writer);
  const std::string layer = "transformer.h.0.mlp.";
  EXPECT_THAT(model.weights->Find(layer + "c_fc.weight")->shape,
              ElementsAre(2, 3));
  EXPECT_THAT(Values(model, layer + "c_fc.weight"),
              ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_EQ(Values(model, layer + "c_fc.bias"), Count(3));
  EXPECT_THAT(model.weights->Find(layer + "c_proj.weight")->shape,
              ElementsAre(32, 1));
  EXPECT_EQ(Values(model, layer + "c_proj.weight"), Count(32));
}

TEST(GgufModelTest, ReadsTheScalingOfRotaryPositions) {
  GgufWriter writer = Decoder("qwen2");
  writer.Value("qwen2.rope.scaling.type", "yarn")
      .Real("qwen2.rope.scaling.factor", 4)
      .Value("qwen2.rope.scaling.original_context_length", 32);
  EXPECT_EQ(ReadWell(writer).config["rope_scaling"],
            json({{"rope_type", "yarn"},
                  {"factor", 4.0},
                  {"original_max_position_embeddings", 32}}));
  writer = Decoder("qwen2");
  writer.Value("qwen2.rope.scaling.type", "longrope");
  EXPECT_THAT(ProblemsOf(writer), ElementsAre(ErrorAt("rope.scaling.type")));
}

// LLaMA 3.1's factors, as llama.cpp's converter computes them.
TEST(GgufModelTest, RecognizesLlama3ByItsFrequencyFactors) {
  const auto with_factors = [](float change) {
    constexpr int kHead = 128;
    GgufWriter writer;
    writer.Value("general.architecture", "llama")
        .Value("llama.embedding_length", 2 * kHead)
        .Value("llama.attention.head_count", 2)
        .Real("llama.rope.freq_base", 500000);
    std::vector<float> factors;
    for (int i = 0; i < kHead / 2; ++i) {
      const double wave =
          2 * std::numbers::pi * std::pow(500000.0, 2.0 * i / kHead);
      const double smooth = (8192 / wave - 1) / 3;
      factors.push_back(
          static_cast<float>(wave < 2048   ? 1
                             : wave > 8192 ? 32
                                           : 1 / ((1 - smooth) / 32 + smooth)));
    }
    factors[1] *= change;
    writer.Tensor("rope_freqs.weight", {kHead / 2}, factors);
    return writer;
  };
  EXPECT_EQ(ReadWell(with_factors(1)).config["rope_scaling"],
            json({{"rope_type", "llama3"},
                  {"factor", 32.0},
                  {"low_freq_factor", 1.0},
                  {"high_freq_factor", 4.0},
                  {"original_max_position_embeddings", 8192}}));
  const json other = ReadWell(with_factors(1.25f)).config["rope_scaling"];
  EXPECT_EQ(other["rope_type"], "longrope");
  EXPECT_EQ(other["short_factor"], other["long_factor"]);
  EXPECT_EQ(other["short_factor"][1], 1.25);
  EXPECT_THAT(ProblemsOf(with_factors(-1)),
              ElementsAre(ErrorAt("rope_freqs.weight")));
  // Heads of one dimension have no pairs.
  GgufWriter narrow = Decoder("llama");
  narrow.Value("llama.attention.key_length", 1)
      .Value("llama.attention.value_length", 1)
      .Tensor("rope_freqs.weight", {0}, {});
  EXPECT_THAT(ProblemsOf(narrow),
              testing::Contains(ErrorAt("rope_freqs.weight")));
}

TEST(GgufModelTest, LeavesOutLayersThatPredictFurtherTokens) {
  GgufWriter writer = Decoder("glm4moe");
  writer.Value("glm4moe.nextn_predict_layers", 1)
      .Tensor("blk.0.ffn_up.weight", {1}, {2})
      .Tensor("blk.1.ffn_up.weight", {1}, {3})
      .Tensor("blk.1.nextn.eh_proj.weight", {1}, {3});
  const GgufModel model = ReadWell(writer);
  EXPECT_EQ(model.config["num_hidden_layers"], 1);
  EXPECT_THAT(model.weights->Names(),
              ElementsAre("model.layers.0.mlp.up_proj.weight"));
}

TEST(GgufModelTest, ReadsFactorsOfLongTexts) {
  GgufWriter writer = Decoder("phi3");
  writer.Value("phi3.rope.scaling.original_context_length", 16)
      .Real("phi3.rope.scaling.attn_factor", 1.5f)
      .Tensor("rope_factors_long.weight", {2}, {2, 4})
      .Tensor("rope_factors_short.weight", {2}, {1, 1});
  EXPECT_EQ(ReadWell(writer).config["rope_scaling"],
            json({{"rope_type", "longrope"},
                  {"long_factor", {2.0, 4.0}},
                  {"short_factor", {1.0, 1.0}},
                  {"original_max_position_embeddings", 16},
                  {"attention_factor", 1.5}}));
  GgufWriter broken = Decoder("phi3");
  broken.Tensor("rope_factors_long.weight", {5}, Count(5));
  EXPECT_THAT(ProblemsOf(broken),
              ElementsAre(ErrorAt("rope_factors_long.weight")));
}

// Keys are stored transposed, and each head's rows are keys, then values.
TEST(GgufModelTest, JoinsTheProductsOfLatentAttention) {
  GgufWriter writer = Decoder("deepseek2");
  writer.Value("deepseek2.attention.kv_lora_rank", 2)
      .Tensor("blk.0.attn_k_b.weight", {2, 2, 1}, {0, 1, 4, 5})
      .Tensor("blk.0.attn_v_b.weight", {2, 1, 2}, {2, 3, 6, 7});
  const GgufModel model = ReadWell(writer);
  const std::string name = "model.layers.0.self_attn.kv_b_proj.weight";
  EXPECT_EQ(Values(model, name), Count(8));
  EXPECT_THAT(model.weights->Find(name)->shape, ElementsAre(4, 2));
  EXPECT_EQ(model.config["topk_method"], "greedy");
  GgufWriter broken = Decoder("deepseek2");
  broken.Tensor("blk.0.attn_k_b.weight", {2, 2, 1}, Count(4))
      .Tensor("blk.0.attn_v_b.weight", {3, 1, 2}, Count(6));
  EXPECT_THAT(ProblemsOf(broken), ElementsAre(ErrorAt("kv_b_proj")));
}

// The file has the queries of all heads, then their keys, then their values.
TEST(GgufModelTest, GroupsFalconsHeads) {
  GgufWriter writer = Decoder(
      "falcon", {"attention.head_count", "attention.head_count_kv",
                 "attention.layer_norm_rms_epsilon", "rope.dimension_count"});
  writer.Value("falcon.attention.head_count", 4)
      .Value("falcon.attention.head_count_kv", 2)
      .Tensor("blk.0.attn_qkv.weight", {8, 1}, {0, 1, 4, 5, 2, 6, 3, 7})
      .Tensor("blk.0.attn_norm.weight", {1}, {2});
  GgufModel model = ReadWell(writer);
  EXPECT_EQ(Values(model,
                   "transformer.h.0.self_attention.query_key_value"
                   ".weight"),
            Count(8));
  EXPECT_THAT(Values(model, "transformer.h.0.input_layernorm.weight"),
              ElementsAre(2));
  EXPECT_EQ(model.config["new_decoder_architecture"], true);
  EXPECT_EQ(model.config["num_ln_in_parallel_attn"], 1);
  // Falcon 40B's feed-forward has a norm of its own, which takes the name.
  writer.Tensor("blk.0.attn_norm_2.weight", {1}, {3});
  model = ReadWell(writer);
  EXPECT_THAT(Values(model, "transformer.h.0.ln_mlp.weight"), ElementsAre(2));
  EXPECT_THAT(Values(model, "transformer.h.0.ln_attn.weight"), ElementsAre(3));
  EXPECT_EQ(model.config["num_ln_in_parallel_attn"], 2);
}

// llama.cpp assumes as many heads of keys as of queries, if a file says
// nothing.
TEST(GgufModelTest, HeadsShareKeysOnlyIfTheFileSaysSo) {
  for (const std::string architecture : {"falcon", "starcoder"}) {
    GgufWriter writer;
    writer.Value("general.architecture", architecture)
        .Value(architecture + ".attention.head_count", 4);
    EXPECT_EQ(ReadWell(writer).config["multi_query"], false) << architecture;
    writer.Value(architecture + ".attention.head_count_kv", 1);
    EXPECT_EQ(ReadWell(writer).config["multi_query"], true) << architecture;
  }
}

TEST(GgufModelTest, RefusesAnotherEpsilonOfOlmo) {
  for (const float epsilon : {1e-5f, 1e-6f, 1e-4f}) {
    GgufWriter writer = Decoder("olmo", {"attention.layer_norm_rms_epsilon"});
    writer.Real("olmo.attention.layer_norm_epsilon", epsilon);
    if (epsilon == 1e-5f) {
      ReadWell(writer);
    } else {
      EXPECT_THAT(ProblemsOf(writer),
                  ElementsAre(ErrorAt("layer_norm_epsilon")));
    }
  }
}

// The growth is part of the scaling of rotary positions.
TEST(GgufModelTest, RefusesGrowthOfQueriesWithoutScaling) {
  GgufWriter writer = Decoder("mistral3");
  writer.Real("mistral3.attention.temperature_scale", 0.5f);
  EXPECT_THAT(ProblemsOf(writer), ElementsAre(ErrorAt("temperature_scale")));
  writer.Value("mistral3.rope.scaling.type", std::string("yarn"))
      .Real("mistral3.rope.scaling.factor", 4);
  EXPECT_EQ(ReadWell(writer).config["rope_scaling"]["llama_4_scaling_beta"],
            0.5);
}

// Only weights are stored as 1 + w.
TEST(GgufModelTest, SubtractsOneFromNemotronsWeights) {
  GgufWriter writer = Decoder("nemotron");
  writer.Real("nemotron.attention.layer_norm_epsilon", 0.5f)
      .Tensor("output_norm.weight", {1}, {3})
      .Tensor("output_norm.bias", {1}, {3})
      .Tensor("blk.0.ffn_norm.weight", {1}, {3})
      .Tensor("blk.0.ffn_norm.bias", {1}, {3});
  const GgufModel model = ReadWell(writer);
  EXPECT_THAT(Values(model, "model.norm.weight"), ElementsAre(2));
  EXPECT_THAT(Values(model, "model.norm.bias"), ElementsAre(3));
  const std::string norm = "model.layers.0.post_attention_layernorm.";
  EXPECT_THAT(Values(model, norm + "weight"), ElementsAre(2));
  EXPECT_THAT(Values(model, norm + "bias"), ElementsAre(3));
}

// Gemma 4's factors say which pairs of a head turn.
TEST(GgufModelTest, Gemma4sFactorsTurnPairsOrStopThem) {
  const auto with_factors = [](const std::vector<float>& factors) {
    GgufWriter writer = Decoder("gemma4", {"rope.dimension_count"});
    writer.Value("gemma4.attention.key_length", 8)
        .Value("gemma4.attention.key_length_swa", 4)
        .Value("gemma4.rope.dimension_count", 8)
        .Bools("gemma4.attention.sliding_window_pattern", {true, false})
        .Tensor("rope_freqs.weight", {factors.size()}, factors);
    return writer;
  };
  const GgufModel model = ReadWell(with_factors({1, 1e30f, 1e30f, 1e30f}));
  EXPECT_EQ(model.config["rope_parameters"]["full_attention"]
                        ["partial_rotary_factor"],
            0.25);
  EXPECT_EQ(model.config["layer_types"],
            json({"sliding_attention", "full_attention"}));
  EXPECT_EQ(model.config["per_layer_config"],
            json({{"1", {{"head_dim", 8}, {"num_key_value_heads", 1}}}}));
  EXPECT_THAT(ProblemsOf(with_factors({1, 2, 1e30f, 1e30f})),
              ElementsAre(ErrorAt("rope_freqs.weight")));
  EXPECT_THAT(ProblemsOf(with_factors({})),
              ElementsAre(ErrorAt("rope_freqs.weight")));
  EXPECT_THAT(ProblemsOf(Decoder("gemma4")),
              testing::Contains(ErrorAt("sliding_window_pattern")));
}

// An object or a text is made of each value.
TEST(GgufModelTest, RefusesListsThatAreLongerThanAnyModel) {
  for (const char* architecture : {"cohere2", "gemma4"}) {
    GgufWriter writer = Decoder(architecture);
    writer.Bools(
        std::string(architecture) + ".attention.sliding_window_pattern",
        std::vector<bool>(100'000));
    EXPECT_THAT(ProblemsOf(writer),
                ElementsAre(ErrorAt("sliding_window_pattern")));
  }
}

// Blocks of Nemotron-H are known by their heads and widths.
TEST(GgufModelTest, NamesTheBlocksOfNemotronH) {
  GgufWriter writer = Decoder(
      "nemotron_h",
      {"block_count", "attention.head_count_kv", "feed_forward_length"});
  writer.Value("nemotron_h.block_count", 3)
      .Numbers("nemotron_h.attention.head_count_kv", {0, 1, 0})
      .Numbers("nemotron_h.feed_forward_length", {0, 0, 16})
      .Value("nemotron_h.ssm.inner_size", 24)
      .Value("nemotron_h.ssm.time_step_rank", 4);
  const GgufModel model = ReadWell(writer);
  EXPECT_EQ(model.config["layers_block_type"],
            json({"linear_attention", "full_attention", "mlp"}));
  EXPECT_EQ(model.config["num_key_value_heads"], 1);
  EXPECT_EQ(model.config["intermediate_size"], 16);
  EXPECT_EQ(model.config["mamba_head_dim"], 6);
}

// Its output's factor is in the output's tensor, which a tied file lacks.
TEST(GgufModelTest, RefusesTiedFalconH1) {
  EXPECT_THAT(ProblemsOf(Decoder("falcon-h1")),
              ElementsAre(ErrorAt("output.weight")));
}

TEST(GgufModelTest, RefusesAHeadWithoutItsPooler) {
  GgufWriter writer;
  writer.Value("general.architecture", std::string("bert"))
      .Tensor("cls.output.weight", {2, 4}, Count(8));
  EXPECT_THAT(ProblemsOf(writer), ElementsAre(ErrorAt("cls.output.weight")));
  writer.Tensor("cls.weight", {4, 4}, Count(16)).Value("bert.pooling_type", 4);
  // DistilBERT's.
  EXPECT_THAT(ProblemsOf(writer), ElementsAre(ErrorAt("cls.weight")));
  writer.Tensor("token_types.weight", {1, 4}, Count(4));
  const GgufModel model = ReadWell(writer);
  EXPECT_EQ(model.config["model_type"], "roberta");
  EXPECT_EQ(model.config["id2label"],
            json({{"0", "LABEL_0"}, {"1", "LABEL_1"}}));
  writer.Real("tokenizer.ggml.padding_token_id", NAN)
      .Value("bert.context_length", 8);
  EXPECT_EQ(ReadWell(writer).config["max_position_embeddings"], 10);
}

// It compares "yes" with "no" after a prompt of its own.
TEST(GgufModelTest, RefusesQwen3sReranker) {
  GgufWriter writer = Decoder("qwen3");
  writer.Value("qwen3.pooling_type", 4)
      .Tensor("cls.output.weight", {2, 8}, Count(16));
  EXPECT_THAT(ProblemsOf(writer), ElementsAre(ErrorAt("cls.output.weight")));
}

TEST(GgufModelTest, NamesTensorsThatDoNotFit) {
  const auto problems = [](const std::string& architecture, const char* name,
                           const std::vector<uint64_t>& shape, size_t size) {
    return ProblemsOf(Decoder(architecture).Tensor(name, shape, Count(size)));
  };
  // Queries, keys and values of two heads.
  EXPECT_THAT(problems("gptneox", "blk.0.attn_qkv.weight", {4, 1}, 4),
              ElementsAre(ErrorAt("blk.0.attn_qkv.weight")));
  EXPECT_THAT(problems("qwen35", "blk.0.attn_gate.weight", {4, 1}, 4),
              ElementsAre(ErrorAt("blk.0.attn_gate.weight")));
  EXPECT_THAT(problems("deepseek2", "blk.0.attn_k_b.weight", {4, 1}, 4),
              ElementsAre(ErrorAt("blk.0.attn_k_b.weight")));
  // A decay of 0.
  EXPECT_THAT(problems("granitehybrid", "blk.0.ssm_a", {2, 1}, 2),
              testing::Contains(ErrorAt("blk.0.ssm_a")));
}

TEST(GgufModelTest, NamesUnsupportedValues) {
  const auto problems = [](const std::string& architecture, const char* key) {
    return ProblemsOf(Decoder(architecture).Value(architecture + key, 3));
  };
  EXPECT_THAT(ProblemsOf(Decoder("rwkv7")), ElementsAre(ErrorAt("rwkv7")));
  EXPECT_THAT(ProblemsOf(GgufWriter()),
              ElementsAre(ErrorAt("general.architecture")));
  EXPECT_THAT(problems("llama", ".logit_scale"),
              ElementsAre(ErrorAt("llama.logit_scale")));
  EXPECT_THAT(problems("qwen3", ".attention.value_length"),
              ElementsAre(ErrorAt("qwen3.attention.value_length")));
  EXPECT_THAT(ProblemsOf(Decoder("llama").Value("split.count", 2)),
              ElementsAre(ErrorAt("split.count")));
  for (const char* name :
       {"blk.0.ssm_in.weight", "blk.0.attn_q", "blk.x.attn_q.weight",
        "blk..attn_q.weight", "blk.9999999.attn_q.weight", "cls.weight",
        "blk.0.attn_q.scale", "model.norm.weight"}) {
    EXPECT_THAT(ProblemsOf(Decoder("llama").Tensor(name, {8}, Count(8))),
                ElementsAre(ErrorAt(name)))
        << name;
  }
  EXPECT_THAT(
      ProblemsOf(Decoder("llama").Tensor("blk.0.attn_q.weight", {6}, Count(6))),
      ElementsAre(ErrorAt("blk.0.attn_q.weight")));
  EXPECT_THAT(ProblemsOf(Decoder("qwen3moe")
                             .Tensor("blk.0.ffn_up_exps.weight", {5000, 1},
                                     Count(5000))),
              ElementsAre(ErrorAt("blk.0.ffn_up_exps.weight")));
}

TEST(GgufModelTest, AFileIsKnownByItsFirstBytes) {
  const TemporaryFolder folder;
  folder.Write("sha256-0123", "GGUF and more");
  folder.Write("Model.GGUF", "GGUF and more");
  folder.Write("broken.gguf", "");
  folder.Write("short", "GGU");
  folder.Write("other", "PK\3\4");
  for (const char* name : {"sha256-0123", "Model.GGUF", "broken.gguf"}) {
    EXPECT_TRUE(IsGgufFile(folder.path() + "/" + name)) << name;
  }
  for (const char* name : {"short", "other", "absent", "absent.gguf", ""}) {
    EXPECT_FALSE(IsGgufFile(folder.path() + "/" + name)) << name;
  }
}

TEST(GgufModelTest, NamesMissingFiles) {
  Problems problems;
  ReadGgufModel("no/such.gguf", &problems);
  EXPECT_THAT(problems, ElementsAre(ErrorAt("no/such.gguf")));
}

}  // namespace
}  // namespace trivium
