#include "model/static_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/model/weights/weight_files.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

// A table of 5 tokens beside the tokenizer "[UNK] a b".
class StaticModelTest : public ::testing::Test {
 protected:
  StaticModelTest() {
    folder_.Write("vocab.txt", "[UNK]\na\nb\n");
    folder_.Write("tokenizer_config.json",
                  R"({"cls_token": "a", "sep_token": "b"})");
    WriteModules("StaticEmbedding");
  }
  void WriteModules(const std::string& type, const std::string& more = "") {
    folder_.Write("modules.json",
                  R"([{"path": "", "type": "a.)" + type + "\"}" + more + "]");
  }
  void WriteWeights(const std::string& header, const std::string& bytes) {
    folder_.Write("model.safetensors", Safetensors(header, bytes));
  }
  absl::Status Problem() { return Model::Load(folder_.path(), {}).status(); }
  // Returns the state of each token, and the sparse embedding in `sparse`.
  std::vector<float> LookUp(const std::string& text,
                            std::vector<SparseWeight>* sparse = nullptr) {
    const auto model = Model::Load(folder_.path(), {});
    EXPECT_TRUE(model.ok()) << model.status();
    if (!model.ok()) return {};
    const auto engine = *(*model)->NewEngine({});
    EncoderInput input;
    input.ids = (*model)->tokenizer()->Encode(text, {})->ids;
    SourceOptions options;
    options.states = States::kAll;
    options.sparse = sparse != nullptr;
    const auto source = engine->AddSource(input, options);
    EXPECT_TRUE(source.ok()) << source.status();
    StepPlan plan;
    plan.encode.push_back({*source, 1});
    StepResult result;
    EXPECT_TRUE(engine->Step(plan, &result).ok());
    EXPECT_FALSE(engine->Step(plan, &result).ok()) << "it is ready";
    if (sparse != nullptr) {
      const auto weights = engine->SparseEmbedding(*source);
      sparse->assign(weights.begin(), weights.end());
    }
    const auto states = engine->EncoderStates(*source);
    return {states.begin(), states.end()};
  }

  const TemporaryFolder folder_;
};

TEST_F(StaticModelTest, LooksTokensUpWithoutSpecialOnes) {
  EXPECT_TRUE(Model::IsAt(folder_.path()));
  WriteWeights(R"({"embedding.weight":{"dtype":"F32","shape":[3,2],
                                       "data_offsets":[0,24]}})",
               Floats({9, 9, 1, 2, 3, 4}));
  EXPECT_THAT(LookUp("b a b"), ElementsAre(3, 4, 1, 2, 3, 4));
  EXPECT_TRUE(Model::Check(folder_.path(), {}).empty());
  const auto model = Model::Load(folder_.path(), {});
  const ModelInfo& info = (*model)->info();
  EXPECT_EQ(info.design, Design::kEncoder);
  EXPECT_EQ(info.d_model, 2);
  EXPECT_EQ(info.vocabulary, 3);
  EXPECT_EQ(info.parameters, 6);
  // What a table does not have.
  const auto engine = *(*model)->NewEngine({});
  SourceOptions options;
  options.sparse = true;
  EXPECT_EQ(engine->AddSource({{1}, {}}, options).status().code(),
            StatusCode::kFailedPrecondition);
  options.sparse = false;
  options.attention = true;
  EXPECT_EQ(engine->AddSource({{1}, {}}, options).status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(engine->AddSource({{3}, {}}, {.selection = {}}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(StaticModelTest, FoldsTheMappingAndTheWeightsOfModel2Vec) {
  const std::string rows = Floats({5, 6, 7, 8});
  const std::string mapping("\1\0\0\0\0\0\0\0\0\0\0\0", 12);
  WriteWeights(R"({"embeddings":{"dtype":"F32","shape":[2,2],
                                 "data_offsets":[0,16]},
                   "mapping":{"dtype":"I32","shape":[3],
                              "data_offsets":[16,28]},
                   "weights":{"dtype":"F32","shape":[3],
                              "data_offsets":[28,40]}})",
               rows + mapping + Floats({1, 2, 0.5f}));
  EXPECT_THAT(LookUp("a b"), ElementsAre(10, 12, 2.5f, 3));
  WriteWeights(R"({"embeddings":{"dtype":"F32","shape":[2,2],
                                 "data_offsets":[0,16]},
                   "mapping":{"dtype":"I32","shape":[3],
                              "data_offsets":[16,28]}})",
               rows + std::string("\2\0\0\0\0\0\0\0\0\0\0\0", 12));
  EXPECT_THAT(Problem(), IsError(StatusCode::kInvalidArgument, "mapping[0]"));
}

TEST_F(StaticModelTest, WeighsEachTokenOfASparseEmbeddingOnce) {
  WriteModules("SparseStaticEmbedding");
  WriteWeights(
      R"({"weight":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})",
      Floats({0, 2, 3}));
  std::vector<SparseWeight> sparse;
  LookUp("b a b x", &sparse);
  EXPECT_THAT(sparse, ElementsAre(SparseWeight{1, 2}, SparseWeight{2, 3}));
  folder_.Write("config.json", R"({"path": "idf.json"})");
  EXPECT_THAT(Problem(), IsError(StatusCode::kInvalidArgument, "path"));
}

TEST_F(StaticModelTest, ErrorsNameWhatIsWrong) {
  EXPECT_THAT(Problem(),
              IsError(StatusCode::kInvalidArgument, "model.safetensors"));
  WriteWeights(R"({"other":{"dtype":"F32","shape":[3,2],
                            "data_offsets":[0,24]}})",
               Floats({9, 9, 1, 2, 3, 4}));
  EXPECT_THAT(Problem(),
              IsError(StatusCode::kInvalidArgument, "embedding.weight"));
  WriteWeights(R"({"embedding.weight":{"dtype":"F32","shape":[2,2],
                                       "data_offsets":[0,16]}})",
               Floats({9, 9, 1, 2}));
  EXPECT_THAT(Problem(), IsError(StatusCode::kInvalidArgument, "pieces"));
  WriteModules("StaticEmbedding",
               R"(, {"path": "1_SpladePooling", "type": "a.SpladePooling"})");
  WriteWeights(R"({"embedding.weight":{"dtype":"F32","shape":[3,2],
                                       "data_offsets":[0,24]}})",
               Floats({9, 9, 1, 2, 3, 4}));
  EXPECT_THAT(Problem(),
              IsError(StatusCode::kInvalidArgument, "SpladePooling"));
}

}  // namespace
}  // namespace trivium
