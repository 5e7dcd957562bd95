// Folders of sentence-transformers 6.2 and the embeddings and scores that it
// makes of queries and documents (tests/golden/retrieval/*/expected.json).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "model/model.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

using nlohmann::json;

constexpr char kRetrieval[] = "tests/golden/retrieval/";

// An embedding by dimension or by token.
using Embedding = std::map<int, double>;

double Product(const Embedding& a, const Embedding& b) {
  double sum = 0;
  for (const auto& [id, value] : a) {
    const auto found = b.find(id);
    if (found != b.end()) sum += value * found->second;
  }
  return sum;
}

Embedding ToEmbedding(const json& values) {
  Embedding embedding;
  if (values.is_object()) {
    for (const auto& [id, weight] : values.items()) {
      embedding[std::stoi(id)] = weight.get<double>();
    }
  } else {
    for (size_t i = 0; i < values.size(); ++i) {
      embedding[static_cast<int>(i)] = values[i].get<double>();
    }
  }
  return embedding;
}

class RetrievalGoldenTest : public ::testing::TestWithParam<const char*> {
 protected:
  void Load(Precision precision) {
    auto model = Model::Load(std::string(kRetrieval) + GetParam(), {precision});
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
    auto engine = model_->NewEngine({.threads = 2});
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    std::ifstream file(std::string(kRetrieval) + GetParam() + "/expected.json");
    expected_ = json::parse(file);
  }

  bool sparse() const { return expected_.at("kind") == "sparse"; }

  struct Source {
    TextReader reader = {nullptr, 0};
    EncoderInput input;
    SentenceEncoder::Overrides overrides;
  };

  // Tokenizes a text with the prompt of its kind, or with the default one.
  Source Read(std::optional<TextKind> kind, const std::string& text) {
    Source source;
    source.reader = model_->ReaderOf(kind);
    const Model& reader = *source.reader.model;
    const SentenceEncoder& sentences = reader.sentence_encoder();
    const std::string prompt =
        !kind ? sentences.default_prompt()
              : sentences.prompts().at(kind == TextKind::kQuery ? "query"
                                                                : "document");
    auto encoding = reader.tokenizer()->Encode(
        prompt + text, {.max_tokens = reader.info().max_source_tokens});
    EXPECT_TRUE(encoding.ok()) << encoding.status();
    source.input.ids = std::move(encoding->ids);
    source.input.route = source.reader.route;
    if (!sentences.includes_prompt() && !prompt.empty()) {
      // The special token at the end is not the prompt's.
      source.overrides.skipped_tokens =
          static_cast<int>(reader.tokenizer()->Encode(prompt, {})->ids.size()) -
          1;
    }
    return source;
  }

  // Encodes the sources in one step.
  std::vector<Embedding> Encode(const std::vector<Source>& sources) {
    StepPlan plan;
    for (const Source& source : sources) {
      const SentenceEncoder& sentences =
          source.reader.model->sentence_encoder();
      SourceOptions options;
      options.cross_attention = false;
      options.sparse = sentences.has_sparse() && !sentences.makes_sparse();
      if (!options.sparse) {
        options.states = sentences.Reads(source.overrides);
      }
      const auto id = engine_->AddSource(source.input, options);
      EXPECT_TRUE(id.ok()) << id.status();
      plan.encode.push_back({*id, engine_->limits().encoder_layers});
    }
    StepResult result;
    EXPECT_TRUE(engine_->Step(plan, &result).ok());
    std::vector<Embedding> embeddings;
    for (size_t i = 0; i < sources.size(); ++i) {
      const Source& source = sources[i];
      const SourceId id = plan.encode[i].source;
      const Model& reader = *source.reader.model;
      Embedding& embedding = embeddings.emplace_back();
      const SentenceEncoder& sentences = reader.sentence_encoder();
      if (sentences.has_sparse()) {
        const auto made = engine_->SparseEmbedding(id);
        std::vector<SparseWeight> weights(made.begin(), made.end());
        if (sentences.makes_sparse()) {
          weights = sentences.EmbedSparse(
              engine_->EncoderStates(id), reader.info().d_model,
              source.input.ids, source.overrides, std::nullopt);
        }
        if (const auto most = sentences.most_active()) {
          KeepLargest(*most, &weights);
        }
        for (const SparseWeight& one : weights) embedding[one.id] = one.weight;
      } else {
        embedding = ToEmbedding(sentences.Embed(engine_->EncoderStates(id),
                                                reader.info().d_model,
                                                source.overrides));
      }
      engine_->ReleaseSource(id);
    }
    return embeddings;
  }

  std::vector<Embedding> EncodeAll(std::optional<TextKind> kind,
                                   const json& texts) {
    std::vector<Source> sources;
    for (const json& text : texts) {
      sources.push_back(Read(kind, text.get<std::string>()));
    }
    return Encode(sources);
  }

  std::unique_ptr<Model> model_;
  std::unique_ptr<Engine> engine_;
  json expected_;
};

TEST_P(RetrievalGoldenTest, EqualsSentenceTransformers) {
  ASSERT_NO_FATAL_FAILURE(Load(Precision::kF32));
  std::vector<Embedding> embeddings[3];
  const std::tuple<std::optional<TextKind>, const char*, const char*> kinds[] =
      {{TextKind::kQuery, "queries", "query_embeddings"},
       {TextKind::kDocument, "documents", "document_embeddings"},
       {std::nullopt, "documents", "plain_embeddings"}};
  for (int k = 0; k < 3; ++k) {
    const auto& [kind, texts, vectors] = kinds[k];
    if (!kind && !expected_.contains(vectors)) continue;
    std::vector<Embedding>& found = embeddings[k];
    found = EncodeAll(kind, expected_.at(texts));
    ASSERT_EQ(found.size(), expected_.at(vectors).size());
    for (size_t i = 0; i < found.size(); ++i) {
      SCOPED_TRACE(expected_[texts][i]);
      const Embedding vector = ToEmbedding(expected_[vectors][i]);
      double most = 0;
      for (const auto& [id, value] : vector) {
        most = std::max(most, std::fabs(value));
      }
      ASSERT_TRUE(sparse() || found[i].size() == vector.size());
      // A weight near 0 may be left out on one side.
      for (const Embedding* one : {&vector, &std::as_const(found[i])}) {
        for (const auto& [id, value] : *one) {
          const auto at = [id = id](const Embedding& in) {
            return in.contains(id) ? in.at(id) : 0;
          };
          ASSERT_NEAR(at(found[i]), at(vector), 1e-4 * most) << id;
        }
      }
    }
  }
  for (size_t q = 0; q < embeddings[0].size(); ++q) {
    for (size_t d = 0; d < embeddings[1].size(); ++d) {
      const Embedding& query = embeddings[0][q];
      const Embedding& document = embeddings[1][d];
      double score = Product(query, document);
      if (!sparse()) {  // the cosine
        score /= std::sqrt(Product(query, query) * Product(document, document));
      }
      const auto expected = expected_.at("scores")[q][d].get<double>();
      EXPECT_NEAR(score, expected, 1e-4 * std::max(1.0, std::fabs(expected)));
    }
  }
}

TEST_P(RetrievalGoldenTest, TextsTogetherHaveTheBitsOfEachAlone) {
  for (const Precision precision : {Precision::kF32, Precision::kInt8}) {
    ASSERT_NO_FATAL_FAILURE(Load(precision));
    // Queries and documents in one step, as a batch has them.
    std::vector<Source> sources;
    for (size_t i = 0; i < expected_["queries"].size(); ++i) {
      sources.push_back(Read(TextKind::kQuery, expected_["queries"][i]));
      sources.push_back(Read(TextKind::kDocument, expected_["documents"][i]));
    }
    const std::vector<Embedding> together = Encode(sources);
    for (size_t i = 0; i < sources.size(); ++i) {
      EXPECT_EQ(Encode({sources[i]}).front(), together[i]) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Folders, RetrievalGoldenTest,
    ::testing::Values("dense.asymmetric", "dense.cls_after_prompt",
                      "dense.cls_and_max", "dense.modernbert",
                      "dense.one_route", "dense.prompt_excluded",
                      "dense.router", "dense.routes", "dense.truncated",
                      "dense.weighted_mean", "sparse.auto_encoder",
                      "splade.bert", "splade.few_weights",
                      "splade.inference_free", "splade.sum_log1p",
                      "static.mean"),
    [](const auto& folder) {
      std::string name = folder.param;
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

}  // namespace
}  // namespace trivium
