// Tests embeddings and scores of decoders with a real server against
// sentence-transformers (tests/golden/make_sentence_goldens.py).
#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/integration/server_process.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Not;

constexpr char kFolder[] = "tests/golden/sentences/";
// Folders of sentence-transformers 6.2, with what it makes of queries and
// documents.
constexpr char kRetrieval[] = "tests/golden/retrieval/";
constexpr const char* kDense[] = {"dense.cls_and_max",     "dense.modernbert",
                                  "dense.prompt_excluded", "dense.router",
                                  "dense.weighted_mean",   "static.mean"};
constexpr const char* kSparse[] = {"splade.bert", "splade.inference_free",
                                   "splade.sum_log1p"};

class SentencesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::vector<std::string> flags = {"--precision", "f32"};
    for (const char* name :
         {"qwen3.embedding", "gemma3.embedding", "qwen3.reranker"}) {
      flags.insert(flags.end(),
                   {"--model", std::string(name) + "=" + kFolder + name});
    }
    for (const std::span<const char* const> names :
         std::initializer_list<std::span<const char* const>>{kDense, kSparse}) {
      for (const char* name : names) {
        flags.insert(flags.end(),
                     {"--model", std::string(name) + "=" + kRetrieval + name});
      }
    }
    server_ = new ServerProcess(flags);
  }
  static void TearDownTestSuite() {
    EXPECT_TRUE(server_->running()) << "the server died";
    delete server_;
  }

  static json SentenceRuns(const std::string& model) {
    std::ifstream file(kFolder + model + "/golden.json");
    return json::parse(file).at("runs");
  }
  std::vector<std::string> Calls(const std::string& model) {
    const auto response = client_->GetModel(model);
    EXPECT_TRUE(response.ok()) << response.status();
    return {response->calls().begin(), response->calls().end()};
  }

  static ServerProcess* server_;
  const std::unique_ptr<Client> client_ = server_->NewClient();
};

ServerProcess* SentencesTest::server_ = nullptr;

// A text alone and all texts with a prompt in one call give the same bits.
TEST_F(SentencesTest, EncodesLikeSentenceTransformers) {
  for (const char* model : {"qwen3.embedding", "gemma3.embedding"}) {
    SCOPED_TRACE(model);
    v1::EncodeRequest together;
    together.set_model(model);
    together.set_prompt_name("query");
    std::vector<std::string> alone;
    for (const json& run : SentenceRuns(model)) {
      v1::EncodeRequest request;
      request.set_model(model);
      request.add_inputs()->set_text(run["text"].get<std::string>());
      const std::string name = run.value("prompt_name", "");
      if (!name.empty()) request.set_prompt_name(name);
      if (run.contains("dimensions")) {
        request.set_dimensions(run["dimensions"].get<uint32_t>());
      }
      const auto response = client_->Encode(request);
      ASSERT_TRUE(response.ok()) << response.status();
      const auto expected = run["embedding"].get<std::vector<float>>();
      const v1::EncodeResult& result = response->results(0);
      ASSERT_EQ(static_cast<size_t>(result.embedding_size()), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(result.embedding(static_cast<int>(i)), expected[i], 2e-6)
            << i << " of " << run["text"];
      }
      if (name != "query") continue;
      *together.add_inputs() = request.inputs(0);
      alone.push_back(result.SerializeAsString());
    }
    const auto response = client_->Encode(together);
    ASSERT_TRUE(response.ok()) << response.status();
    ASSERT_EQ(static_cast<size_t>(response->results_size()), alone.size());
    for (size_t i = 0; i < alone.size(); ++i) {
      EXPECT_EQ(response->results(static_cast<int>(i)).SerializeAsString(),
                alone[i]);
    }
    EXPECT_THAT(Calls(model), Contains("Encode"));
    EXPECT_THAT(Calls(model), Not(Contains("Generate")));
  }
}

TEST_F(SentencesTest, EncodesQueriesAndDocumentsLikeSentenceTransformers) {
  for (const char* model : kDense) {
    SCOPED_TRACE(model);
    std::ifstream file(std::string(kRetrieval) + model + "/expected.json");
    const json expected = json::parse(file);
    for (const auto& [kind, texts, vectors] :
         {std::tuple(v1::TEXT_KIND_QUERY, "queries", "query_embeddings"),
          std::tuple(v1::TEXT_KIND_DOCUMENT, "documents",
                     "document_embeddings")}) {
      v1::EncodeRequest request;
      request.set_model(model);
      request.set_kind(kind);
      request.set_truncate(true);  // as sentence-transformers does
      for (const json& text : expected[texts]) {
        request.add_inputs()->set_text(text.get<std::string>());
      }
      const auto response = client_->Encode(request);
      ASSERT_TRUE(response.ok()) << response.status();
      for (int i = 0; i < response->results_size(); ++i) {
        const auto vector = expected[vectors][i].get<std::vector<float>>();
        float most = 0;
        for (const float value : vector) most = std::max(most, std::abs(value));
        const auto& result = response->results(i).embedding();
        ASSERT_EQ(static_cast<size_t>(result.size()), vector.size());
        for (size_t k = 0; k < vector.size(); ++k) {
          ASSERT_NEAR(result[static_cast<int>(k)], vector[k], 1e-4 * most)
              << k << " of " << expected[texts][i];
        }
      }
    }
  }
}

TEST_F(SentencesTest, MakesSparseEmbeddingsLikeSentenceTransformers) {
  for (const char* model : kSparse) {
    SCOPED_TRACE(model);
    std::ifstream file(std::string(kRetrieval) + model + "/expected.json");
    const json expected = json::parse(file);
    for (const auto& [kind, texts, vectors] :
         {std::tuple(v1::TEXT_KIND_QUERY, "queries", "query_embeddings"),
          std::tuple(v1::TEXT_KIND_DOCUMENT, "documents",
                     "document_embeddings")}) {
      v1::EncodeRequest request;
      request.set_model(model);
      request.set_kind(kind);
      request.set_truncate(true);
      request.set_tokens(true);
      for (const json& text : expected[texts]) {
        request.add_inputs()->set_text(text.get<std::string>());
      }
      const auto response = client_->Encode(request);
      ASSERT_TRUE(response.ok()) << response.status();
      for (int i = 0; i < response->results_size(); ++i) {
        const json& weights = expected[vectors][i];
        const v1::SparseEmbedding& sparse = response->results(i).sparse();
        EXPECT_EQ(response->results(i).embedding_size(), 0);
        ASSERT_EQ(sparse.ids_size(), sparse.weights_size());
        ASSERT_EQ(sparse.ids_size(), sparse.tokens_size());
        EXPECT_NEAR(sparse.ids_size(), static_cast<int>(weights.size()), 2);
        for (int k = 0; k < sparse.ids_size(); ++k) {
          EXPECT_NEAR(sparse.weights(k),
                      weights.value(std::to_string(sparse.ids(k)), 0.0f), 1e-3)
              << sparse.tokens(k);
        }
      }
      // The three largest weights.
      request.mutable_sparse()->set_top_k(3);
      request.mutable_sparse()->set_threshold(0);
      const auto top = client_->Encode(request);
      ASSERT_TRUE(top.ok()) << top.status();
      const v1::SparseEmbedding& some = top->results(0).sparse();
      std::vector<float> all(response->results(0).sparse().weights().begin(),
                             response->results(0).sparse().weights().end());
      std::sort(all.begin(), all.end(), std::greater<>());
      ASSERT_EQ(some.ids_size(), 3);
      EXPECT_TRUE(std::is_sorted(some.ids().begin(), some.ids().end()));
      EXPECT_EQ(*std::min_element(some.weights().begin(), some.weights().end()),
                all[2]);
    }
  }
}

TEST_F(SentencesTest, NamesTheEmbeddingsThatAModelHas) {
  const auto error = [&](const char* model, auto change) {
    v1::EncodeRequest request;
    request.set_model(model);
    request.add_inputs()->set_text("cats");
    change(&request);
    return client_->Encode(request).status();
  };
  using R = v1::EncodeRequest;
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(
      error("splade.bert",
            [](R* r) { r->add_outputs(v1::ENCODE_OUTPUT_DENSE); }),
      AllOf(IsError(code, "outputs[0]"), IsError(code, "'splade.bert'")));
  EXPECT_THAT(
      error("static.mean",
            [](R* r) { r->add_outputs(v1::ENCODE_OUTPUT_SPARSE); }),
      AllOf(IsError(code, "outputs[0]"), IsError(code, "'static.mean'")));
  EXPECT_THAT(error("splade.bert", [](R* r) { r->set_dimensions(3); }),
              IsError(code, "dimensions"));
  EXPECT_THAT(
      error("splade.bert", [](R* r) { r->mutable_sparse()->set_top_k(0); }),
      IsError(code, "sparse.top_k"));
  EXPECT_THAT(error("splade.bert",
                    [](R* r) { r->mutable_sparse()->set_threshold(-1); }),
              IsError(code, "sparse.threshold"));
  EXPECT_THAT(
      error("static.mean", [](R* r) { r->mutable_sparse()->set_top_k(1); }),
      IsError(code, "sparse"));
  EXPECT_THAT(error("static.mean",
                    [](R* r) {
                      r->add_outputs(v1::ENCODE_OUTPUT_DENSE);
                      r->add_outputs(v1::ENCODE_OUTPUT_DENSE);
                    }),
              IsError(code, "outputs[1]"));
}

TEST_F(SentencesTest, ScoresLikeTheModelCard) {
  const std::string model = "qwen3.reranker";
  for (const json& run : SentenceRuns(model)) {
    v1::RerankRequest request;
    request.set_model(model);
    request.set_query(run["query"].get<std::string>());
    for (const json& document : run["documents"]) {
      request.add_documents(document.get<std::string>());
    }
    if (run.contains("prompt_name")) {
      request.set_prompt_name(run["prompt_name"].get<std::string>());
    }
    const auto response = client_->Rerank(request);
    ASSERT_TRUE(response.ok()) << response.status();
    ASSERT_EQ(response->documents_size(), request.documents_size());
    float before = 1;
    for (const auto& document : response->documents()) {
      EXPECT_NEAR(document.score(),
                  run["scores"][document.index()].get<float>(), 2e-6);
      EXPECT_LE(document.score(), before);
      before = document.score();
    }
    // The same prompt as a text.
    if (!run.contains("prompt_name")) continue;
    request.set_prompt("the judge of a document says");
    const auto as_text = client_->Rerank(request);
    ASSERT_TRUE(as_text.ok()) << as_text.status();
    EXPECT_EQ(as_text->documents(0).score(), response->documents(0).score());
  }
  EXPECT_THAT(Calls(model), Contains("Rerank"));
}

TEST_F(SentencesTest, NamesWhatTheModelCannotDo) {
  v1::RerankRequest request;
  request.set_model("qwen3.reranker");
  request.set_query("q");
  request.add_documents("d");
  request.set_prompt_name("nobody");
  EXPECT_THAT(client_->Rerank(request),
              AllOf(IsError(absl::StatusCode::kInvalidArgument, "prompt_name"),
                    IsError(absl::StatusCode::kInvalidArgument, "judge, web")));
  request.clear_prefix();
  std::string text;
  for (int i = 0; i < 600; ++i) text += " cats";
  *request.mutable_documents(0) = text;
  EXPECT_THAT(client_->Rerank(request),
              IsError(absl::StatusCode::kInvalidArgument, "512"));
  request.set_truncate(true);
  const auto cut = client_->Rerank(request);
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_GT(cut->documents(0).truncated_tokens(), 80u);
  EXPECT_LE(cut->documents(0).token_count(), 512u);
  request.set_model("qwen3.embedding");
  EXPECT_FALSE(client_->Rerank(request).ok());
}

}  // namespace
}  // namespace trivium
