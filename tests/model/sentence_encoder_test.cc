#include "model/sentence_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::FloatNear;

// Writes a sentence-transformers folder.
class SentenceEncoderTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    if (const size_t slash = name.find('/'); slash != name.npos) {
      std::filesystem::create_directory(folder_.path() + "/" +
                                        name.substr(0, slash));
    }
    folder_.Write(name, text);
  }
  void WriteModules(const std::string& more) {
    Write("modules.json",
          R"([{"idx": 0, "path": "",
               "type": "sentence_transformers.models.Transformer"}, )" +
              more + "]");
  }
  static std::string Module(const std::string& type, const std::string& path) {
    return R"({"type": "sentence_transformers.models.)" + type +
           R"(", "path": ")" + path + R"("})";
  }
  absl::Status Problem() {
    return SentenceEncoder::Load(folder_.path(), 2).status();
  }
  std::vector<float> Embed(const SentenceEncoder::Overrides& overrides = {}) {
    const auto encoder = SentenceEncoder::Load(folder_.path(), 2);
    EXPECT_TRUE(encoder.ok()) << encoder.status();
    const std::vector<float> embedding = encoder->Embed(states_, 2, overrides);
    const States reads = encoder->Reads(overrides);
    if (reads != States::kAll) {
      const std::span<const float> states(states_);
      EXPECT_EQ(encoder->Embed(
                    reads == States::kFirst ? states.first(2) : states.last(2),
                    2, overrides),
                embedding);
    }
    if (!overrides.pooling) {
      EXPECT_EQ(encoder->embedding_size(2), static_cast<int>(embedding.size()));
    }
    return embedding;
  }
  States Reads(const SentenceEncoder::Overrides& overrides = {}) {
    return SentenceEncoder::Load(folder_.path(), 2)->Reads(overrides);
  }

  const TemporaryFolder folder_;
  const std::vector<float> states_ = {1, 2, 5, -4, 0, 8};  // three tokens
};

TEST_F(SentenceEncoderTest, WithoutModulesReturnsTheMeanWithLengthOne) {
  // The mean is (2, 2).
  const float half = std::sqrt(0.5f);
  EXPECT_THAT(Embed(),
              ElementsAre(FloatNear(half, 1e-6f), FloatNear(half, 1e-6f)));
  EXPECT_THAT(Embed({.pooling = TokenPooling::kMax, .normalize = false}),
              ElementsAre(5, 8));
  EXPECT_THAT(Embed({.pooling = TokenPooling::kLast, .normalize = false}),
              ElementsAre(0, 8));
  EXPECT_THAT(Embed({.pooling = TokenPooling::kFirst, .normalize = false}),
              ElementsAre(1, 2));
}

TEST_F(SentenceEncoderTest, PoolsAsTheFolderSays) {
  WriteModules(Module("Pooling", "1_Pooling"));
  Write("1_Pooling/config.json",
        R"({"word_embedding_dimension": 2, "pooling_mode_cls_token": true,
            "pooling_mode_mean_tokens": false})");
  EXPECT_THAT(Embed(), ElementsAre(1, 2));
  EXPECT_EQ(Reads(), States::kFirst);
  Write("1_Pooling/config.json",
        R"({"pooling_mode_max_tokens": true, "pooling_mode_cls_token": true,
            "pooling_mode_mean_sqrt_len_tokens": true})");
  const float root = 6 / std::sqrt(3.0f);
  EXPECT_THAT(Embed(), ElementsAre(1, 2, 5, 8, FloatNear(root, 1e-5f),
                                   FloatNear(root, 1e-5f)));
  EXPECT_EQ(Reads(), States::kAll);
  EXPECT_EQ(Reads({.pooling = TokenPooling::kFirst}), States::kFirst);
  EXPECT_EQ(Reads({.pooling = TokenPooling::kLast}), States::kLast);
  Write("1_Pooling/config.json", R"({"pooling_mode": "lasttoken"})");
  EXPECT_THAT(Embed(), ElementsAre(0, 8));
  WriteModules(Module("Pooling", "1_Pooling") + "," +
               Module("Normalize", "2_Normalize"));
  EXPECT_THAT(Embed(), ElementsAre(0, 1));
  EXPECT_THAT(Embed({.normalize = false}), ElementsAre(0, 8));
}

TEST_F(SentenceEncoderTest, AppliesDenseLayers) {
  WriteModules(Module("Pooling", "1_Pooling") + "," +
               Module("Dense", "2_Dense"));
  Write("1_Pooling/config.json", R"({"pooling_mode_mean_tokens": true})");
  Write("2_Dense/config.json",
        R"({"in_features": 2, "out_features": 3,
            "activation_function": "torch.nn.modules.activation.Tanh"})");
  Write("2_Dense/model.safetensors",
        Safetensors(
            R"({"linear.weight":{"dtype":"F32","shape":[3,2],
                                 "data_offsets":[0,24]},
                "linear.bias":{"dtype":"F32","shape":[3],
                               "data_offsets":[24,36]}})",
            Floats({1, 0, 0, 0.5f, 1, -1, 0, 0, 0.25f})));
  EXPECT_THAT(Embed(), ElementsAre(FloatNear(std::tanh(2.0f), 1e-6f),
                                   FloatNear(std::tanh(1.0f), 1e-6f),
                                   FloatNear(std::tanh(0.25f), 1e-6f)));
  // A request's own pooling skips the dense layers.
  EXPECT_THAT(Embed({.pooling = TokenPooling::kMean}), ElementsAre(2, 2));
  Write("2_Dense/model.safetensors",
        Safetensors(R"({"linear.weight":{"dtype":"F32","shape":[3,2],
                                         "data_offsets":[0,24]}})",
                    Floats({1, 0, 0, std::nanf(""), 1, -1})));
  EXPECT_THAT(Problem(), IsError(StatusCode::kInvalidArgument, "infinite"));
  Write("2_Dense/config.json", R"({"activation_function": "x.Threshold"})");
  EXPECT_THAT(Problem(),
              IsError(StatusCode::kInvalidArgument, "activation_function"));
}

TEST_F(SentenceEncoderTest, DenseLayersMayAddTheirInput) {
  WriteModules(Module("Pooling", "1_Pooling") + "," +
               Module("Dense", "2_Dense"));
  Write("1_Pooling/config.json", R"({"pooling_mode": "max"})");  // 5, 8
  Write("2_Dense/config.json",
        R"({"activation_function": "torch.nn.modules.activation.ReLU",
            "use_residual": true})");
  Write("2_Dense/model.safetensors",
        Safetensors(R"({"linear.weight":{"dtype":"F32","shape":[2,2],
                                         "data_offsets":[0,16]}})",
                    Floats({1, 1, -1, 0})));
  EXPECT_THAT(Embed(), ElementsAre(18, 8));
  const std::string narrow = R"("linear.weight":{"dtype":"F32","shape":[1,2],
                                                "data_offsets":[0,8]})";
  Write("2_Dense/model.safetensors",
        Safetensors("{" + narrow + "}", Floats({1, 1})));
  EXPECT_THAT(Problem(),
              IsError(StatusCode::kInvalidArgument, "residual.weight"));
  Write("2_Dense/model.safetensors", Safetensors("{" + narrow + R"(,
            "residual.weight":{"dtype":"F32","shape":[1,2],
                               "data_offsets":[8,16]}})",
                                                 Floats({1, 1, -2, 0})));
  EXPECT_THAT(Embed(), ElementsAre(3));
}

TEST_F(SentenceEncoderTest, SpladePoolsTheVocabulary) {
  WriteModules(Module("SpladePooling", "1_Splade"));
  const auto pooling = [&](const std::string& config) {
    Write("1_Splade/config.json", config);
    const auto encoder = SentenceEncoder::Load(folder_.path(), 2);
    EXPECT_TRUE(encoder.ok()) << encoder.status();
    EXPECT_TRUE(encoder->has_sparse());
    EXPECT_FALSE(encoder->has_dense());
    return encoder->vocabulary_pooling().value();
  };
  EXPECT_FALSE(pooling("{}").sum);
  EXPECT_FALSE(pooling(R"({"activation_function": "relu"})").double_log);
  EXPECT_TRUE(pooling(R"({"pooling_strategy": "sum"})").sum);
  EXPECT_TRUE(pooling(R"({"activation_function": "log1p_relu"})").double_log);
  Write("1_Splade/config.json", R"({"pooling_strategy": "mean"})");
  EXPECT_THAT(Problem(),
              IsError(StatusCode::kInvalidArgument, "pooling_strategy"));
  Write("1_Splade/config.json", "{}");
  WriteModules(Module("SpladePooling", "1_Splade") + "," +
               Module("Normalize", ""));
  EXPECT_THAT(Problem(), IsError(StatusCode::kInvalidArgument, "Normalize"));
  Write("1_Pooling/config.json", R"({"pooling_mode": "mean"})");
  WriteModules(Module("Pooling", "1_Pooling") + "," +
               Module("SpladePooling", "1_Splade"));
  EXPECT_THAT(Problem(),
              IsError(StatusCode::kInvalidArgument, "SpladePooling"));
  EXPECT_FALSE(SentenceEncoder().has_sparse());
}

TEST_F(SentenceEncoderTest, MakesTheStepsInTheirOrder) {
  Write("1_Pooling/config.json", R"({"pooling_mode": ["cls", "max"]})");
  Write("2_LayerNorm/config.json", R"({"dimension": 4})");
  Write("2_LayerNorm/model.safetensors",
        Safetensors(R"({"norm.weight":{"dtype":"F32","shape":[4],
                                       "data_offsets":[0,16]},
                        "norm.bias":{"dtype":"F32","shape":[4],
                                     "data_offsets":[16,32]}})",
                    Floats({1, 2, 1, 1, 0, 0, 0, 0.5f})));
  Write("3_Dense/config.json",
        R"({"activation_function": "torch.nn.modules.activation.ReLU"})");
  Write("3_Dense/model.safetensors",
        Safetensors(R"({"linear.weight":{"dtype":"F32","shape":[2,4],
                                         "data_offsets":[0,32]}})",
                    Floats({0, 1, 0, 0, 0, 0, 0, 1})));
  const std::string first = Module("Pooling", "1_Pooling") + "," +
                            Module("LayerNorm", "2_LayerNorm") + ",";
  WriteModules(first + Module("Dense", "3_Dense"));
  // Pooled: 1, 2, 5, 8; mean 4, variance 7.5.
  const float scale = 1 / std::sqrt(7.5f + 1e-5f);
  EXPECT_THAT(Embed(), ElementsAre(0, FloatNear(4 * scale + 0.5f, 1e-6f)));
  WriteModules(first + Module("Normalize", "") + "," +
               Module("Dense", "3_Dense"));
  const float length = std::sqrt(9 + 16 + 1 + std::pow(4 + 0.5f / scale, 2));
  EXPECT_THAT(Embed(),
              ElementsAre(0, FloatNear((4 + 0.5f / scale) / length, 1e-6f)));
  Write("2_LayerNorm/model.safetensors",
        Safetensors(R"({"norm.weight":{"dtype":"F32","shape":[4],
                                       "data_offsets":[0,16]}})",
                    Floats({1, 2, 1, 1})));
  EXPECT_THAT(Problem(), IsError(StatusCode::kInvalidArgument, "norm.bias"));
}

TEST_F(SentenceEncoderTest, LaterTokensWeighMoreInAWeightedMean) {
  WriteModules(Module("Pooling", "1_Pooling"));
  Write("1_Pooling/config.json", R"({"pooling_mode": "weightedmean"})");
  EXPECT_THAT(Embed(), ElementsAre(FloatNear(11 / 6.0f, 1e-6f),
                                   FloatNear(18 / 6.0f, 1e-6f)));
}

TEST_F(SentenceEncoderTest, PoolingMayLeaveThePromptOut) {
  WriteModules(Module("Pooling", "1_Pooling"));
  const auto pooled = [&](const char* mode) {
    Write("1_Pooling/config.json", R"({"include_prompt": false,
                                       "pooling_mode": ")" +
                                       std::string(mode) + "\"}");
    return Embed({.skipped_tokens = 1});
  };
  EXPECT_FALSE((pooled("mean"),
                SentenceEncoder::Load(folder_.path(), 2)->includes_prompt()));
  EXPECT_THAT(pooled("mean"), ElementsAre(2.5f, 2));
  EXPECT_THAT(pooled("max"), ElementsAre(5, 8));
  EXPECT_THAT(pooled("weightedmean"), ElementsAre(2, FloatNear(3.2f, 1e-6f)));
  // The first token after the prompt.
  EXPECT_THAT(pooled("cls"), ElementsAre(5, -4));
  // That of the whole text.
  EXPECT_THAT(pooled("lasttoken"), ElementsAre(0, 8));
}

TEST_F(SentenceEncoderTest, ReadsPrompts) {
  WriteModules(Module("Normalize", ""));
  Write("config_sentence_transformers.json",
        R"({"prompts": {"query": "query: ", "document": ""},
            "default_prompt_name": "query"})");
  const auto encoder = SentenceEncoder::Load(folder_.path(), 2);
  ASSERT_TRUE(encoder.ok());
  EXPECT_EQ(encoder->default_prompt(), "query: ");
  EXPECT_EQ(encoder->prompts().at("document"), "");
  Write("config_sentence_transformers.json", R"({"default_prompt_name": "x"})");
  EXPECT_THAT(Problem(),
              IsError(StatusCode::kInvalidArgument, "default_prompt_name"));
}

TEST_F(SentenceEncoderTest, ErrorsNameWhatIsNotSupported) {
  Write("modules.json", "{}");
  EXPECT_THAT(Problem(), IsError(StatusCode::kInvalidArgument, "modules.json"));
  WriteModules(Module("WordWeights", "1_WordWeights"));
  EXPECT_THAT(Problem(), IsError(StatusCode::kInvalidArgument, "WordWeights"));
  WriteModules(Module("Pooling", "../1_Pooling"));
  EXPECT_THAT(Problem(), IsError(StatusCode::kInvalidArgument, "../1_Pooling"));
  WriteModules("7");
  EXPECT_THAT(Problem(), IsError(StatusCode::kInvalidArgument, "module"));
  WriteModules(Module("Pooling", "1_Pooling"));
  EXPECT_THAT(Problem(),
              IsError(StatusCode::kNotFound, "1_Pooling/config.json"));
  Write("1_Pooling/config.json", R"({"word_embedding_dimension": 3})");
  EXPECT_THAT(Problem(), IsError(StatusCode::kInvalidArgument,
                                 "word_embedding_dimension"));
  Write("1_Pooling/config.json", R"({"pooling_mode": ["mean", "odd"]})");
  EXPECT_THAT(Problem(), IsError(StatusCode::kInvalidArgument, "pooling"));
}

TEST_F(SentenceEncoderTest, ReadsTheLengthOfTheLongestText) {
  const auto longest = [&] {
    return SentenceEncoder::Load(folder_.path(), 2)->max_tokens();
  };
  Write("sentence_bert_config.json", R"({"max_seq_length": 256})");
  EXPECT_EQ(longest(), 0);
  WriteModules(Module("Normalize", "1_Normalize"));
  EXPECT_EQ(longest(), 256);
  Write("tokenizer_config.json", R"({"model_max_length": 128})");
  EXPECT_EQ(longest(), 256);
  // Newer versions write the length only into the tokenizer's configuration.
  Write("sentence_bert_config.json", R"({"modality_config": {}})");
  EXPECT_EQ(longest(), 128);
  Write("sentence_bert_config.json", R"({"max_seq_length": null})");
  EXPECT_EQ(longest(), 128);
  Write("tokenizer_config.json",
        R"({"model_max_length": 1000000000000000019884624838656})");
  EXPECT_EQ(longest(), 0);
  Write("sentence_bert_config.json", R"({"max_seq_length": -1})");
  EXPECT_THAT(Problem(),
              IsError(StatusCode::kInvalidArgument, "max_seq_length"));
}

}  // namespace
}  // namespace trivium
