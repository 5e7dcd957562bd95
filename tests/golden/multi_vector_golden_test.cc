// Folders of multi-vector models and the vectors and scores that
// sentence-transformers 6.2 makes of queries and documents, and bge-m3's three
// outputs (tests/golden/retrieval/*/expected.json).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "model/model.h"
#include "model/similarity.h"
#include "model/token_pooling.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

using nlohmann::json;

constexpr TextKind kKinds[] = {TextKind::kQuery, TextKind::kDocument};

const char* Texts(TextKind kind) {
  return kind == TextKind::kQuery ? "queries" : "documents";
}
const char* Vectors(TextKind kind) {
  return kind == TextKind::kQuery ? "query_embeddings" : "document_embeddings";
}

class MultiVectorGoldenTest : public ::testing::TestWithParam<const char*> {
 protected:
  void Load(Precision precision) {
    const std::string folder =
        std::string("tests/golden/retrieval/") + GetParam();
    auto model = Model::Load(folder, {precision});
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
    auto engine = model_->NewEngine({.threads = 2});
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    std::ifstream file(folder + "/expected.json");
    expected_ = json::parse(file);
  }

  const SentenceEncoder& sentences() { return model_->sentence_encoder(); }

  struct Text {
    TextKind kind = TextKind::kDocument;
    EncoderInput input;
  };
  Text Read(TextKind kind, const json& text) {
    const MultiVectors& multi = *sentences().multi_vectors();
    const char* name = kind == TextKind::kQuery ? "query" : "document";
    std::string prompt = sentences().prompts().at(name);
    const auto marker = multi.TakeMarker(&prompt);
    const int longest = model_->info().max_source_tokens;
    const int most = multi.MostTokens(kind);
    auto encoding = model_->tokenizer()->Encode(
        prompt + text.get<std::string>(),
        {.max_tokens = (most > 0 ? std::min(most, longest) : longest) -
                       (marker ? 1 : 0)});
    EXPECT_TRUE(encoding.ok()) << encoding.status();
    if (marker) encoding->ids.insert(encoding->ids.begin() + 1, *marker);
    Text read;
    read.kind = kind;
    read.input.ids = std::move(encoding->ids);
    if (kind == TextKind::kQuery) multi.Expand(longest, &read.input);
    return read;
  }
  std::vector<Text> ReadAll(TextKind kind) {
    std::vector<Text> texts;
    for (const json& text : expected_.at(Texts(kind))) {
      texts.push_back(Read(kind, text));
    }
    return texts;
  }

  struct Made {
    VectorRows rows;
    std::vector<SparseWeight> sparse;
    std::vector<float> dense;
  };
  // Encodes the texts in one step.
  std::vector<Made> Encode(const std::vector<Text>& texts) {
    StepPlan plan;
    SourceOptions options;
    options.cross_attention = false;
    options.states = States::kAll;
    for (const Text& text : texts) {
      const auto id = engine_->AddSource(text.input, options);
      EXPECT_TRUE(id.ok()) << id.status();
      plan.encode.push_back({*id, engine_->limits().encoder_layers});
    }
    StepResult result;
    EXPECT_TRUE(engine_->Step(plan, &result).ok());
    std::vector<Made> all;
    for (size_t i = 0; i < texts.size(); ++i) {
      const auto states = engine_->EncoderStates(plan.encode[i].source);
      const EncoderInput& input = texts[i].input;
      Made& made = all.emplace_back();
      auto rows = sentences().multi_vectors()->Rows(
          states, input.ids, texts[i].kind, input.unattended);
      EXPECT_TRUE(rows.ok()) << rows.status();
      made.rows = *std::move(rows);
      if (sentences().makes_sparse()) {
        made.sparse = sentences().EmbedSparse(states, model_->info().d_model,
                                              input.ids, {}, {});
        made.dense = sentences().Embed(states, model_->info().d_model, {});
      }
      engine_->ReleaseSource(plan.encode[i].source);
    }
    return all;
  }

  std::unique_ptr<Model> model_;
  std::unique_ptr<Engine> engine_;
  json expected_;
};

void ExpectNear(std::span<const float> found, const json& values) {
  ASSERT_EQ(found.size(), values.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], values[i].get<double>(), 1e-4) << i;
  }
}

TEST_P(MultiVectorGoldenTest, EqualsTheReference) {
  ASSERT_NO_FATAL_FAILURE(Load(Precision::kF32));
  std::vector<Made> made[2];
  for (const TextKind kind : kKinds) {
    std::vector<Made>& found = made[kind == TextKind::kDocument];
    found = Encode(ReadAll(kind));
    const json& vectors = expected_.at(Vectors(kind));
    ASSERT_EQ(found.size(), vectors.size());
    for (size_t i = 0; i < found.size(); ++i) {
      SCOPED_TRACE(expected_[Texts(kind)][i]);
      const bool m3 = vectors[i].is_object();
      const json& rows = m3 ? vectors[i]["colbert"] : vectors[i];
      ASSERT_EQ(static_cast<size_t>(found[i].rows.rows()), rows.size());
      for (size_t row = 0; row < rows.size(); ++row) {
        SCOPED_TRACE(row);
        ExpectNear(found[i].rows.row(static_cast<int>(row)), rows[row]);
      }
      if (!m3) continue;
      ExpectNear(found[i].dense, vectors[i]["dense"]);
      const json& weights = vectors[i]["sparse"];
      ASSERT_EQ(found[i].sparse.size(), weights.size());
      for (const SparseWeight& one : found[i].sparse) {
        EXPECT_NEAR(one.weight,
                    weights.at(std::to_string(one.id)).get<double>(), 1e-4);
      }
    }
  }
  const bool mean = sentences().multi_vectors()->settings().takes_mean;
  const json& scores = expected_.at("scores");
  for (size_t q = 0; q < made[0].size(); ++q) {
    const Made& query = made[0][q];
    const MaxSimQuery query_rows = MaxSimQueryOf(query.rows);
    for (size_t d = 0; d < made[1].size(); ++d) {
      const Made& document = made[1][d];
      const double sum = MaxSim(query_rows, document.rows);
      if (!mean) {
        EXPECT_NEAR(sum, scores[q][d].get<double>(), 1e-3);
        continue;
      }
      EXPECT_NEAR(sum / query.rows.rows(),
                  scores["colbert_mean_of_maxima"][q][d].get<double>(), 1e-4);
      EXPECT_NEAR(SparseProduct(query.sparse, document.sparse),
                  scores["sparse"][q][d].get<double>(), 1e-3);
    }
  }
}

TEST_P(MultiVectorGoldenTest, TextsTogetherHaveTheBitsOfEachAlone) {
  for (const Precision precision : {Precision::kF32, Precision::kInt8}) {
    ASSERT_NO_FATAL_FAILURE(Load(precision));
    std::vector<Text> texts = ReadAll(TextKind::kQuery);
    for (Text& text : ReadAll(TextKind::kDocument)) {
      texts.push_back(std::move(text));
    }
    const std::vector<Made> together = Encode(texts);
    for (size_t i = 0; i < texts.size(); ++i) {
      const Made alone = Encode({texts[i]}).front();
      EXPECT_EQ(alone.rows.values, together[i].rows.values) << i;
      EXPECT_EQ(alone.sparse, together[i].sparse) << i;
      EXPECT_EQ(alone.dense, together[i].dense) << i;
    }
  }
}

// As sentence-transformers' HierarchicalTokenPooling, whose rows are in the
// order of scipy's labels.
TEST_P(MultiVectorGoldenTest, PoolsRowsLikeSentenceTransformers) {
  ASSERT_NO_FATAL_FAILURE(Load(Precision::kF32));
  if (!expected_.contains("pooled_documents")) GTEST_SKIP();
  const std::vector<Made> made = Encode(ReadAll(TextKind::kDocument));
  for (size_t i = 0; i < made.size(); ++i) {
    SCOPED_TRACE(expected_["documents"][i]);
    const json& expected = expected_["pooled_documents"][i];
    VectorRows rows = made[i].rows;
    PoolRows(1 + (rows.rows() - 1) / 2, &rows);
    ASSERT_EQ(static_cast<size_t>(rows.rows()), expected.size());
    for (const json& one : expected) {
      double nearest = 1;
      for (int row = 0; row < rows.rows(); ++row) {
        double most = 0;
        for (int k = 0; k < rows.size; ++k) {
          most = std::max(most,
                          std::fabs(rows.row(row)[k] - one[k].get<double>()));
        }
        nearest = std::min(nearest, most);
      }
      EXPECT_LT(nearest, 1e-4);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, MultiVectorGoldenTest,
                         ::testing::Values("bge_m3.three_outputs",
                                           "colbert.expansion",
                                           "colbert.modernbert",
                                           "colbert.pylate",
                                           "colbert.stanford"),
                         [](const auto& folder) {
                           std::string name = folder.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace trivium
