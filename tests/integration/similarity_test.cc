// Similarity with a real server: against sentence-transformers' and
// FlagEmbedding's products (tests/golden/retrieval/*/expected.json), and
// against products of what Encode gives.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/integration/server_process.h"
#include "tests/support/error_texts.h"
#include "tests/support/http_get.h"

namespace trivium {
namespace {

using nlohmann::json;

constexpr char kThreeOutputs[] = "bge_m3.three_outputs";
constexpr char kTokenModel[] = "colbert.modernbert";
constexpr char kSparseModel[] = "splade.bert";
constexpr char kDenseModel[] = "dense.weighted_mean";

class SimilarityTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::vector<std::string> flags = {"--precision", "f32", "--http-listen",
                                      "127.0.0.1:0"};
    for (const char* name :
         {kDenseModel, kThreeOutputs, kTokenModel, kSparseModel}) {
      flags.insert(
          flags.end(),
          {"--model", std::string(name) + "=tests/golden/retrieval/" + name});
    }
    flags.insert(flags.end(), {"--model", "decoder=tests/golden/llama.lm"});
    process_ = new ServerProcess(flags);
  }
  static void TearDownTestSuite() {
    EXPECT_TRUE(process_->running()) << "the server died";
    delete process_;
  }

  static json Expected(const std::string& model) {
    std::ifstream file("tests/golden/retrieval/" + model + "/expected.json");
    return json::parse(file);
  }
  static void AddTexts(const json& texts, v1::SimilarityRequest::List* list) {
    for (const json& text : texts) {
      list->add_inputs()->set_text(text.get<std::string>());
    }
  }
  // Compares the golden's queries with its documents.
  static v1::SimilarityRequest Search(const std::string& model) {
    const json expected = Expected(model);
    v1::SimilarityRequest request;
    request.set_model(model);
    request.set_truncate(true);
    AddTexts(expected["queries"], request.mutable_first());
    request.mutable_first()->set_kind(v1::TEXT_KIND_QUERY);
    AddTexts(expected["documents"], request.mutable_second());
    request.mutable_second()->set_kind(v1::TEXT_KIND_DOCUMENT);
    return request;
  }
  v1::SimilarityResponse Compare(const v1::SimilarityRequest& request) {
    const auto response = client_->Similarity(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? *response : v1::SimilarityResponse();
  }
  std::vector<std::vector<float>> Embeddings(const json& texts) {
    v1::EncodeRequest request;
    request.set_model(kDenseModel);
    request.set_truncate(true);
    for (const json& text : texts) {
      request.add_inputs()->set_text(text.get<std::string>());
    }
    std::vector<std::vector<float>> embeddings;
    const auto response = client_->Encode(request);
    EXPECT_TRUE(response.ok()) << response.status();
    if (!response.ok()) return embeddings;
    for (const v1::EncodeResult& result : response->results()) {
      embeddings.emplace_back(result.embedding().begin(),
                              result.embedding().end());
    }
    return embeddings;
  }

  static ServerProcess* process_;
  const std::unique_ptr<Client> client_ = process_->NewClient();
};

ServerProcess* SimilarityTest::process_ = nullptr;

TEST_F(SimilarityTest, MaxSimAndSparseProductsAreTheGoldens) {
  for (const char* const model : {kTokenModel, kSparseModel}) {
    SCOPED_TRACE(model);
    const json scores = Expected(model)["scores"];
    const v1::SimilarityResponse all = Compare(Search(model));
    const int columns = all.second_size();
    ASSERT_EQ(all.scores_size(), all.first_size() * columns);
    // Only one kind counts, so that there are no parts.
    EXPECT_EQ(all.sparse_scores_size() + all.multi_vector_scores_size(), 0);
    for (int row = 0; row < all.first_size(); ++row) {
      EXPECT_GT(all.first(row).token_count(), 0u);
      for (int column = 0; column < columns; ++column) {
        const auto score = scores[row][column].get<float>();
        EXPECT_NEAR(all.scores(row * columns + column), score,
                    1e-3 * std::max(1.f, std::fabs(score)));
      }
    }
  }
}

TEST_F(SimilarityTest, APairHasTheBitsThatItHasAlone) {
  for (const char* const model :
       {kThreeOutputs, kTokenModel, kSparseModel, kDenseModel}) {
    SCOPED_TRACE(model);
    const v1::SimilarityRequest request = Search(model);
    const v1::SimilarityResponse all = Compare(request);
    for (int row = 0; row < all.first_size(); ++row) {
      for (int column = 0; column < all.second_size(); ++column) {
        v1::SimilarityRequest pair = request;
        pair.mutable_first()->clear_inputs();
        *pair.mutable_first()->add_inputs() = request.first().inputs(row);
        pair.mutable_second()->clear_inputs();
        *pair.mutable_second()->add_inputs() = request.second().inputs(column);
        const v1::SimilarityResponse alone = Compare(pair);
        ASSERT_EQ(alone.scores_size(), 1);
        EXPECT_EQ(alone.scores(0),
                  all.scores(row * all.second_size() + column));
      }
    }
  }
}

TEST_F(SimilarityTest, SeveralKindsAreWeighedAsByRerank) {
  v1::SimilarityRequest request = Search(kThreeOutputs);
  request.mutable_weights()->set_dense(0.4f);
  request.mutable_weights()->set_sparse(0.2f);
  request.mutable_weights()->set_multi_vector(0.4f);
  const v1::SimilarityResponse all = Compare(request);
  const int columns = all.second_size();
  ASSERT_EQ(all.multi_vector_scores_size(), all.scores_size());
  for (int row = 0; row < all.first_size(); ++row) {
    v1::RerankRequest rerank;
    rerank.set_model(kThreeOutputs);
    rerank.set_truncate(true);
    rerank.set_query(request.first().inputs(row).text());
    for (const v1::Input& input : request.second().inputs()) {
      rerank.add_documents(input.text());
    }
    *rerank.mutable_weights() = request.weights();
    const auto ranked = client_->Rerank(rerank);
    ASSERT_TRUE(ranked.ok()) << ranked.status();
    for (const auto& document : ranked->documents()) {
      const int at = row * columns + static_cast<int>(document.index());
      EXPECT_EQ(all.sparse_scores(at), document.sparse_score());
      EXPECT_EQ(all.multi_vector_scores(at), document.multi_vector_score());
      // A cosine; the vectors have length 1 but for rounding.
      EXPECT_NEAR(all.dense_scores(at), document.dense_score(), 1e-6);
      EXPECT_NEAR(all.scores(at), document.score(), 1e-6);
    }
  }
}

TEST_F(SimilarityTest, FunctionsAreThoseOfSentenceTransformers) {
  const json texts = Expected(kDenseModel)["documents"];
  const std::vector<std::vector<float>> vectors = Embeddings(texts);
  ASSERT_EQ(vectors.size(), texts.size());
  v1::SimilarityRequest request;
  request.set_model(kDenseModel);
  request.set_truncate(true);
  AddTexts(texts, request.mutable_first());
  for (const auto function :
       {v1::SIMILARITY_FUNCTION_UNSPECIFIED, v1::SIMILARITY_FUNCTION_COSINE,
        v1::SIMILARITY_FUNCTION_DOT, v1::SIMILARITY_FUNCTION_EUCLIDEAN,
        v1::SIMILARITY_FUNCTION_MANHATTAN}) {
    SCOPED_TRACE(v1::SimilarityFunction_Name(function));
    request.set_function(function);
    // Without a second list, the texts are compared with one another.
    const v1::SimilarityResponse all = Compare(request);
    ASSERT_EQ(all.scores_size(), static_cast<int>(texts.size() * texts.size()));
    EXPECT_EQ(all.second_size(), all.first_size());
    for (size_t a = 0; a < vectors.size(); ++a) {
      for (size_t b = 0; b < vectors.size(); ++b) {
        double dot = 0, squares = 0, differences = 0, of_a = 0, of_b = 0;
        for (size_t i = 0; i < vectors[a].size(); ++i) {
          const double x = vectors[a][i], y = vectors[b][i];
          dot += x * y;
          of_a += x * x;
          of_b += y * y;
          squares += (x - y) * (x - y);
          differences += std::fabs(x - y);
        }
        double expected = dot / std::sqrt(of_a * of_b);
        if (function == v1::SIMILARITY_FUNCTION_DOT) expected = dot;
        if (function == v1::SIMILARITY_FUNCTION_EUCLIDEAN) {
          expected = -std::sqrt(squares);
        }
        if (function == v1::SIMILARITY_FUNCTION_MANHATTAN) {
          expected = -differences;
        }
        EXPECT_NEAR(all.scores(static_cast<int>(a * vectors.size() + b)),
                    expected, 1e-5 * (1 + std::fabs(expected)));
      }
    }
  }
  // The same with the list as the second.
  *request.mutable_second() = request.first();
  const v1::SimilarityResponse twice = Compare(request);
  request.clear_second();
  EXPECT_THAT(twice.scores(),
              testing::ElementsAreArray(Compare(request).scores()));
}

TEST_F(SimilarityTest, OneListIsComparedBothWays) {
  v1::SimilarityRequest request = Search(kTokenModel);
  request.clear_second();
  const v1::SimilarityResponse one = Compare(request);
  *request.mutable_second() = request.first();
  EXPECT_THAT(one.scores(),
              testing::ElementsAreArray(Compare(request).scores()));
  // MaxSim is not symmetric.
  EXPECT_NE(one.scores(1), one.scores(one.first_size()));
}

TEST_F(SimilarityTest, HttpGivesTheSameAndTeisShapeStays) {
  v1::SimilarityRequest request = Search(kDenseModel);
  request.clear_model();  // as TEI's shape, which names none
  request.mutable_first()->clear_kind();
  request.mutable_second()->clear_kind();
  const json body = {{"inputs",
                      {{"source_sentence", request.first().inputs(0).text()},
                       {"sentences",
                        {request.second().inputs(0).text(),
                         request.second().inputs(1).text()}}}}};
  const HttpResult tei =
      HttpPost(process_->http_port(), "/similarity", body.dump(),
               "Content-Type: application/json\r\n");
  ASSERT_EQ(tei.status, 200) << tei.body;
  const json scores = json::parse(tei.body);
  ASSERT_EQ(scores.size(), 2u);
  const HttpResult connect = HttpPost(
      process_->http_port(), "/trivium.v1.Inference/Similarity",
      json({{"model", kTokenModel},
            {"first", {{"inputs", {{{"text", "cats"}}}}, {"kind", 1}}},
            {"second", {{"inputs", {{{"text", "cats"}}}}, {"kind", 2}}}})
          .dump(),
      "Content-Type: application/json\r\n");
  ASSERT_EQ(connect.status, 200) << connect.body;
  EXPECT_EQ(json::parse(connect.body)["scores"].size(), 1u);
  const v1::SimilarityResponse all = Compare(request);
  EXPECT_NEAR(scores[1].get<float>(), all.scores(1), 1e-6);
}

TEST_F(SimilarityTest, TheCommandPrintsARowForEachText) {
  const auto run = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), TRIVIUM_PROGRAM);
    arguments.insert(arguments.begin() + 2, {"--address", process_->address()});
    const ProcessResult result = RunProgram(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  const std::string own =
      run({"similarity", "--model", kDenseModel, "cats", "dogs"});
  EXPECT_TRUE(own.starts_with("1.0000\t")) << own;
  EXPECT_TRUE(own.ends_with("\t1.0000\tdogs\n")) << own;
  const std::string others =
      run({"similarity", "--model", kTokenModel, "--search", "--to", "cats",
           "--to", "the sun", "--to", "dogs", "cats"});
  EXPECT_EQ(std::count(others.begin(), others.end(), '\t'), 3) << others;
  EXPECT_NE(run({"similarity", "--model", kThreeOutputs, "--weights", "1,1,0",
                 "--json", "cats"})
                .find("\"sparse_scores\""),
            std::string::npos);
}

TEST_F(SimilarityTest, ErrorsNameTheField) {
  const auto code = absl::StatusCode::kInvalidArgument;
  const auto refuse = [&](const char* model, auto change) {
    v1::SimilarityRequest request;
    request.set_model(model);
    request.mutable_first()->add_inputs()->set_text("cats");
    request.mutable_second()->add_inputs()->set_text("dogs");
    change(&request);
    return client_->Similarity(request).status();
  };
  using S = v1::SimilarityRequest;
  EXPECT_THAT(refuse("decoder", [](S*) {}),
              IsError(absl::StatusCode::kFailedPrecondition, "'decoder'"));
  EXPECT_THAT(refuse(kDenseModel, [](S* r) { r->clear_first(); }),
              IsError(code, "first.inputs"));
  EXPECT_THAT(
      refuse(kDenseModel, [](S* r) { r->mutable_second()->clear_inputs(); }),
      IsError(code, "second.inputs"));
  EXPECT_THAT(
      refuse(kDenseModel, [](S* r) { r->mutable_second()->add_inputs(); }),
      IsError(code, "second.inputs[1]"));
  EXPECT_THAT(refuse(kDenseModel,
                     [](S* r) {
                       r->set_function(static_cast<v1::SimilarityFunction>(9));
                     }),
              IsError(code, "function"));
  EXPECT_THAT(
      refuse(kTokenModel,
             [](S* r) { r->set_function(v1::SIMILARITY_FUNCTION_DOT); }),
      IsError(code, "function"));
  EXPECT_THAT(refuse(kSparseModel, [](S* r) { r->set_dimensions(3); }),
              IsError(code, "dimensions"));
  for (const uint32_t size : {0, 100'000}) {
    EXPECT_THAT(refuse(kDenseModel, [&](S* r) { r->set_dimensions(size); }),
                IsError(code, "dimensions"));
  }
  EXPECT_THAT(
      refuse(kDenseModel, [](S* r) { r->mutable_weights()->set_sparse(1); }),
      IsError(code, "weights.sparse"));
  EXPECT_THAT(
      refuse(kDenseModel,
             [](S* r) { r->mutable_first()->set_prompt_name("unknown"); }),
      IsError(code, "first.prompt_name"));
  EXPECT_THAT(
      refuse(kDenseModel,
             [](S* r) {
               r->mutable_first()->set_kind(static_cast<v1::TextKind>(7));
             }),
      IsError(code, "first.kind"));
  EXPECT_THAT(
      refuse(kDenseModel,
             [](S* r) {
               r->set_truncation_direction(v1::TRUNCATION_DIRECTION_LEFT);
             }),
      IsError(code, "truncation_direction"));
  const auto many = [&](int texts, const std::string& text) {
    return refuse(kThreeOutputs, [&](S* r) {
      r->set_truncate(true);
      r->mutable_weights()->set_multi_vector(1);
      for (int i = 1; i < texts; ++i) {
        r->mutable_first()->add_inputs()->set_text(text);
        r->mutable_second()->add_inputs()->set_text(text);
      }
    });
  };
  std::string longest;
  for (int i = 0; i < 100; ++i) longest += "cats ";
  // The comparisons, and then the answer, would be too large.
  EXPECT_THAT(many(900, longest), IsError(code, "second.inputs"));
  EXPECT_EQ(many(1100, "a").code(), code);
}

}  // namespace
}  // namespace trivium
