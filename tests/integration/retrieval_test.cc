// Multi-vectors, products of embeddings and labels of the request, with a real
// server, against sentence-transformers, FlagEmbedding and Transformers
// (tests/golden/retrieval/*/expected.json).
#include <algorithm>
#include <cmath>
#include <cstring>
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
#include "tests/support/http_get.h"

namespace trivium {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Not;

constexpr char kRetrievalFolders[] = "tests/golden/retrieval/";
constexpr const char* kColberts[] = {"colbert.expansion", "colbert.modernbert",
                                     "colbert.pylate", "colbert.stanford"};
constexpr char kM3[] = "bge_m3.three_outputs";
constexpr char kNli[] = "zero_shot.bert";
constexpr char kBartNli[] = "zero_shot.bart";

class RetrievalTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::vector<std::string> flags = {"--precision", "f32"};
    for (const char* name : {kM3, kColberts[0], kColberts[1], kColberts[2],
                             kColberts[3], "splade.bert", kNli, kBartNli}) {
      flags.insert(flags.end(), {"--model", std::string(name) + "=" +
                                                kRetrievalFolders + name});
    }
    flags.insert(flags.end(),
                 {"--model", "ranker=tests/golden/sentences/qwen3.reranker",
                  "--http-listen", "127.0.0.1:0"});
    process_ = new ServerProcess(flags);
  }
  static void TearDownTestSuite() {
    EXPECT_TRUE(process_->running()) << "the server died";
    delete process_;
  }

  static json Expected(const std::string& model) {
    std::ifstream file(kRetrievalFolders + model + "/expected.json");
    return json::parse(file);
  }
  static v1::EncodeRequest Request(const std::string& model, v1::TextKind kind,
                                   const json& texts) {
    v1::EncodeRequest request;
    request.set_model(model);
    request.set_kind(kind);
    request.set_truncate(true);
    for (const json& text : texts) {
      request.add_inputs()->set_text(text.get<std::string>());
    }
    return request;
  }

  // Returns the answer, whose status is `status`.
  static json Post(const std::string& path, const json& body,
                   int status = 200) {
    const HttpResult answer = HttpPost(process_->http_port(), path, body.dump(),
                                       "Content-Type: application/json\r\n");
    EXPECT_EQ(answer.status, status) << answer.body;
    return json::parse(answer.body, nullptr, false);
  }

  static ServerProcess* process_;
  const std::unique_ptr<Client> client_ = process_->NewClient();
};

ServerProcess* RetrievalTest::process_ = nullptr;

std::span<const float> Row(const v1::MultiVector& rows, int i) {
  const auto size = static_cast<size_t>(rows.size());
  return std::span(rows.values().data(), rows.values_size())
      .subspan(i * size, size);
}

TEST_F(RetrievalTest, EncodesMultiVectorsLikeSentenceTransformers) {
  for (const char* model : kColberts) {
    SCOPED_TRACE(model);
    const json expected = Expected(model);
    for (const auto& [kind, texts, vectors] :
         {std::tuple(v1::TEXT_KIND_QUERY, "queries", "query_embeddings"),
          std::tuple(v1::TEXT_KIND_DOCUMENT, "documents",
                     "document_embeddings")}) {
      v1::EncodeRequest request = Request(model, kind, expected[texts]);
      request.set_tokens(true);
      const auto response = client_->Encode(request);
      ASSERT_TRUE(response.ok()) << response.status();
      for (int i = 0; i < response->results_size(); ++i) {
        SCOPED_TRACE(expected[texts][i]);
        const v1::EncodeResult& result = response->results(i);
        EXPECT_EQ(result.embedding_size(), 0);
        const v1::MultiVector& rows = result.multi_vector();
        ASSERT_EQ(rows.row_count(), expected[vectors][i].size());
        ASSERT_EQ(rows.positions_size(), static_cast<int>(rows.row_count()));
        EXPECT_LT(rows.positions(rows.positions_size() - 1),
                  result.token_count());
        for (int row = 0; row < static_cast<int>(rows.row_count()); ++row) {
          const auto vector =
              expected[vectors][i][row].get<std::vector<float>>();
          ASSERT_EQ(rows.size(), vector.size());
          for (size_t k = 0; k < vector.size(); ++k) {
            ASSERT_NEAR(Row(rows, row)[k], vector[k], 1e-4);
          }
        }
        // Alone, a text has the same bits.
        v1::EncodeRequest alone = request;
        *alone.mutable_inputs(0) = request.inputs(i);
        alone.mutable_inputs()->DeleteSubrange(1, alone.inputs_size() - 1);
        const auto one = client_->Encode(alone);
        ASSERT_TRUE(one.ok()) << one.status();
        EXPECT_EQ(one->results(0).SerializeAsString(),
                  result.SerializeAsString());
      }
    }
  }
}

TEST_F(RetrievalTest, OnePassGivesAllThreeOutputs) {
  const json expected = Expected(kM3);
  v1::EncodeRequest request =
      Request(kM3, v1::TEXT_KIND_DOCUMENT, expected["documents"]);
  // By default only the dense one.
  auto response = client_->Encode(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_FALSE(response->results(0).has_sparse());
  EXPECT_FALSE(response->results(0).has_multi_vector());
  request.add_outputs(v1::ENCODE_OUTPUT_MULTI_VECTOR);
  request.add_outputs(v1::ENCODE_OUTPUT_DENSE);
  request.add_outputs(v1::ENCODE_OUTPUT_SPARSE);
  response = client_->Encode(request);
  ASSERT_TRUE(response.ok()) << response.status();
  for (int i = 0; i < response->results_size(); ++i) {
    const v1::EncodeResult& result = response->results(i);
    const json& all = expected["document_embeddings"][i];
    ASSERT_EQ(result.embedding_size(), static_cast<int>(all["dense"].size()));
    for (int k = 0; k < result.embedding_size(); ++k) {
      ASSERT_NEAR(result.embedding(k), all["dense"][k].get<float>(), 1e-4);
    }
    ASSERT_EQ(result.sparse().ids_size(),
              static_cast<int>(all["sparse"].size()));
    for (int k = 0; k < result.sparse().ids_size(); ++k) {
      EXPECT_NEAR(
          result.sparse().weights(k),
          all["sparse"].at(std::to_string(result.sparse().ids(k))).get<float>(),
          1e-4);
    }
    EXPECT_EQ(result.multi_vector().row_count(), all["colbert"].size());
  }
}

TEST_F(RetrievalTest, RowsComeInTheFormatAndNumberAskedFor) {
  const json documents = Expected("colbert.modernbert")["documents"];
  v1::EncodeRequest request =
      Request("colbert.modernbert", v1::TEXT_KIND_DOCUMENT, documents);
  const auto floats = client_->Encode(request);
  ASSERT_TRUE(floats.ok()) << floats.status();
  for (const auto& [format, bytes, scaled] :
       {std::tuple(v1::EMBEDDING_FORMAT_FLOAT16, 32, false),
        std::tuple(v1::EMBEDDING_FORMAT_INT8, 16, true),
        std::tuple(v1::EMBEDDING_FORMAT_BINARY, 2, true)}) {
    request.mutable_multi_vector()->set_format(format);
    const auto response = client_->Encode(request);
    ASSERT_TRUE(response.ok()) << response.status();
    for (int i = 0; i < response->results_size(); ++i) {
      const v1::MultiVector& rows = response->results(i).multi_vector();
      const int count = static_cast<int>(rows.row_count());
      EXPECT_EQ(rows.values_size(), 0);
      ASSERT_EQ(rows.value_bytes().size(), static_cast<size_t>(count * bytes));
      EXPECT_EQ(rows.scales_size(), scaled ? count : 0);
      if (format != v1::EMBEDDING_FORMAT_INT8) continue;
      const v1::MultiVector& exact = floats->results(i).multi_vector();
      for (int k = 0; k < count * bytes; ++k) {
        const float scale = rows.scales(k / bytes);
        EXPECT_NEAR(static_cast<int8_t>(rows.value_bytes()[k]) * scale,
                    exact.values(k), scale / 2 + 1e-6);
      }
    }
  }
  request.mutable_multi_vector()->clear_format();
  request.mutable_multi_vector()->set_max_rows(4);
  const auto few = client_->Encode(request);
  ASSERT_TRUE(few.ok()) << few.status();
  for (int i = 0; i < few->results_size(); ++i) {
    const v1::MultiVector& all = floats->results(i).multi_vector();
    const v1::MultiVector& rows = few->results(i).multi_vector();
    EXPECT_EQ(rows.row_count(), std::min(all.row_count(), 4u));
    for (int k = 0; k < 16; ++k) EXPECT_EQ(rows.values(k), all.values(k));
  }
}

TEST_F(RetrievalTest, RanksByMaxSimAndBySparseProducts) {
  for (const char* model :
       {"colbert.expansion", "colbert.modernbert", "colbert.pylate",
        "colbert.stanford", "splade.bert"}) {
    SCOPED_TRACE(model);
    const json expected = Expected(model);
    for (size_t q = 0; q < expected["queries"].size(); ++q) {
      v1::RerankRequest request;
      request.set_model(model);
      request.set_query(expected["queries"][q].get<std::string>());
      request.set_truncate(true);
      for (const json& text : expected["documents"]) {
        request.add_documents(text.get<std::string>());
      }
      const auto response = client_->Rerank(request);
      ASSERT_TRUE(response.ok()) << response.status();
      ASSERT_EQ(response->documents_size(), request.documents_size());
      float before = INFINITY;
      for (const auto& document : response->documents()) {
        const auto score = expected["scores"][q][document.index()].get<float>();
        EXPECT_NEAR(document.score(), score, 1e-3 * std::max(1.f, score));
        EXPECT_LE(document.score(), before);
        before = document.score();
        const bool sparse = expected["kind"] == "sparse";
        EXPECT_EQ(document.has_sparse_score(), sparse);
        EXPECT_EQ(document.has_multi_vector_score(), !sparse);
        EXPECT_FALSE(document.has_dense_score());
      }
    }
  }
}

TEST_F(RetrievalTest, WeighsTheProductsOfSeveralEmbeddings) {
  const json expected = Expected(kM3);
  v1::RerankRequest request;
  request.set_model(kM3);
  request.set_truncate(true);
  request.set_query(expected["queries"][1].get<std::string>());
  for (const json& text : expected["documents"]) {
    request.add_documents(text.get<std::string>());
  }
  const auto alike = client_->Rerank(request);
  ASSERT_TRUE(alike.ok()) << alike.status();
  request.mutable_weights()->set_dense(0.4f);
  request.mutable_weights()->set_sparse(0.2f);
  request.mutable_weights()->set_multi_vector(0.4f);
  const auto weighed = client_->Rerank(request);
  ASSERT_TRUE(weighed.ok()) << weighed.status();
  for (const auto& [response, dense, sparse, multi] :
       {std::tuple(&*alike, 1.0, 1.0, 1.0),
        std::tuple(&*weighed, 0.4, 0.2, 0.4)}) {
    for (const auto& document : response->documents()) {
      const size_t d = document.index();
      const json& query = expected["query_embeddings"][1]["dense"];
      double product = 0;
      for (size_t k = 0; k < query.size(); ++k) {
        product += query[k].get<double>() *
                   expected["document_embeddings"][d]["dense"][k].get<double>();
      }
      const double of_sparse = expected["scores"]["sparse"][1][d];
      const double maxima = expected["scores"]["colbert_mean_of_maxima"][1][d];
      EXPECT_NEAR(document.dense_score(), product, 1e-4);
      EXPECT_NEAR(document.sparse_score(), of_sparse, 1e-3);
      EXPECT_NEAR(document.multi_vector_score(), maxima, 1e-4);
      EXPECT_NEAR(document.score(),
                  (dense * product + sparse * of_sparse + multi * maxima) /
                      (dense + sparse + multi),
                  1e-3);
    }
  }
  // One kind alone.
  request.mutable_weights()->Clear();
  request.mutable_weights()->set_sparse(3);
  request.set_top(2);
  const auto one = client_->Rerank(request);
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_EQ(one->documents_size(), 2);
  EXPECT_EQ(one->documents(0).score(), one->documents(0).sparse_score());
  EXPECT_FALSE(one->documents(0).has_dense_score());
}

TEST_F(RetrievalTest, ModelsThatReadPairsRankFirst) {
  v1::RerankRequest request;
  request.set_query("cats");
  request.add_documents("dogs");
  // The first model of all makes embeddings, "ranker" is the last.
  const auto response = client_->Rerank(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->model().name(), "ranker");
  const auto model = client_->GetModel(kM3);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(model->calls(), Contains("Rerank"));
  EXPECT_THAT(client_->GetModel(kNli)->calls(), Not(Contains("Rerank")));
}

TEST_F(RetrievalTest, ClassifiesWithLabelsOfTheRequestLikeTransformers) {
  for (const char* const model : {kNli, kBartNli}) {
    const json expected = Expected(model);
    ASSERT_EQ(expected["runs"].size(), 10u);
    for (const json& run : expected["runs"]) {
      SCOPED_TRACE(model + run.dump());
      v1::ClassifyRequest request;
      request.set_model(model);
      request.add_inputs()->set_text("the cat is a text");
      request.add_inputs()->set_text(run["text"].get<std::string>());
      for (const json& label : run["candidate_labels"]) {
        request.add_labels(label.get<std::string>());
      }
      if (run.contains("multi_label")) request.set_multi_label(true);
      if (run.contains("hypothesis_template")) {
        request.set_hypothesis_template(
            run["hypothesis_template"].get<std::string>());
      }
      const auto response = client_->Classify(request);
      ASSERT_TRUE(response.ok()) << response.status();
      ASSERT_EQ(response->results_size(), 2);
      const v1::Classification& result = response->results(1);
      ASSERT_EQ(result.labels_size(), request.labels_size());
      for (int i = 0; i < result.labels_size(); ++i) {
        const v1::Label& label = result.labels(i);
        EXPECT_EQ(label.label(), run["labels"][i]);
        EXPECT_EQ(label.label(),
                  request.labels(static_cast<int>(label.index())));
        EXPECT_NEAR(label.score(), run["scores"][i].get<float>(), 1e-5);
      }
      EXPECT_GT(result.token_count(),
                static_cast<uint32_t>(3 * request.labels_size()));
      request.set_top(1);
      const auto top = client_->Classify(request);
      ASSERT_TRUE(top.ok()) << top.status();
      EXPECT_EQ(top->results(1).labels_size(), 1);
      EXPECT_EQ(top->results(1).labels(0).SerializeAsString(),
                result.labels(0).SerializeAsString());
    }
  }
}

TEST_F(RetrievalTest, ErrorsNameTheField) {
  const auto code = absl::StatusCode::kInvalidArgument;
  const auto encode = [&](const char* model, auto change) {
    v1::EncodeRequest request;
    request.set_model(model);
    request.add_inputs()->set_text("cats");
    change(&request);
    return client_->Encode(request).status();
  };
  using E = v1::EncodeRequest;
  EXPECT_THAT(
      encode("colbert.expansion",
             [](E* r) { r->add_outputs(v1::ENCODE_OUTPUT_SPARSE); }),
      AllOf(IsError(code, "outputs[0]"), IsError(code, "multi-vector")));
  EXPECT_THAT(
      encode("splade.bert",
             [](E* r) { r->add_outputs(v1::ENCODE_OUTPUT_MULTI_VECTOR); }),
      IsError(code, "outputs[0]"));
  EXPECT_THAT(
      encode(kM3, [](E* r) { r->mutable_multi_vector()->set_max_rows(1); }),
      IsError(code, "multi_vector"));
  EXPECT_THAT(encode("colbert.expansion",
                     [](E* r) { r->mutable_multi_vector()->set_max_rows(0); }),
              IsError(code, "multi_vector.max_rows"));
  EXPECT_THAT(encode("colbert.expansion",
                     [](E* r) {
                       r->mutable_multi_vector()->set_format(
                           static_cast<v1::EmbeddingFormat>(9));
                     }),
              IsError(code, "multi_vector.format"));
  EXPECT_THAT(encode("colbert.expansion", [](E* r) { r->set_dimensions(3); }),
              IsError(code, "dimensions"));
  // A query of more tokens than a fixed expansion has room for.
  EXPECT_THAT(encode("colbert.pylate",
                     [](E* r) {
                       r->set_kind(v1::TEXT_KIND_QUERY);
                       r->mutable_inputs(0)->set_text(
                           "cats cats cats cats cats cats cats cats cats cats");
                     }),
              IsError(code, "inputs[0]"));

  const auto rerank = [&](const char* model, float dense, float multi) {
    v1::RerankRequest request;
    request.set_model(model);
    request.set_query("cats");
    request.add_documents("dogs");
    request.mutable_weights()->set_dense(dense);
    request.mutable_weights()->set_multi_vector(multi);
    return client_->Rerank(request).status();
  };
  EXPECT_THAT(rerank("colbert.expansion", 1, 1),
              IsError(code, "weights.dense"));
  EXPECT_THAT(rerank(kM3, 1, -1), IsError(code, "weights.multi_vector"));
  EXPECT_THAT(rerank(kM3, NAN, 1), IsError(code, "weights.dense"));
  EXPECT_THAT(rerank(kM3, 0, 0), IsError(code, "weights"));
  EXPECT_THAT(rerank("ranker", 1, 0), IsError(code, "weights"));

  const auto classify = [&](const char* model, auto change) {
    v1::ClassifyRequest request;
    request.set_model(model);
    request.add_inputs()->set_text("cats");
    request.add_labels("animals");
    change(&request);
    return client_->Classify(request).status();
  };
  using C = v1::ClassifyRequest;
  EXPECT_THAT(classify("ranker", [](C*) {}),
              IsError(absl::StatusCode::kFailedPrecondition, "'ranker'"));
  EXPECT_THAT(classify(kNli, [](C* r) { r->add_labels("animals"); }),
              IsError(code, "labels[1]"));
  EXPECT_THAT(classify(kNli, [](C* r) { r->add_labels(""); }),
              IsError(code, "labels[1]"));
  EXPECT_THAT(
      classify(kNli, [](C* r) { r->set_hypothesis_template("{} or {}"); }),
      IsError(code, "hypothesis_template"));
  EXPECT_THAT(
      classify(kNli,
               [](C* r) {
                 r->set_hypothesis_template(std::string(2000, 'a') + "{}");
               }),
      IsError(code, "hypothesis_template"));
  EXPECT_THAT(classify(kNli,
                       [](C* r) {
                         r->clear_labels();
                         r->set_multi_label(true);
                       }),
              IsError(code, "multi_label"));
  EXPECT_THAT(
      classify(kNli,
               [](C* r) { r->mutable_inputs(0)->mutable_ids()->add_ids(2); }),
      IsError(code, "inputs[0]"));
  EXPECT_THAT(classify(kNli,
                       [](C* r) {
                         for (int i = 0; i < 2048; ++i) {
                           r->add_labels(std::to_string(i));
                         }
                       }),
              IsError(code, "labels"));
  EXPECT_THAT(classify(kNli,
                       [](C* r) {
                         std::string text;
                         for (int i = 0; i < 60; ++i) text += " cats";
                         r->mutable_inputs(0)->set_text(text);
                       }),
              IsError(code, "inputs[0]"));
}

TEST_F(RetrievalTest, CommandsPrintWhatTheModelsMake) {
  const auto run = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), TRIVIUM_PROGRAM);
    arguments.insert(arguments.begin() + 2, {"--address", process_->address()});
    const ProcessResult result = RunProgram(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  // [CLS], "the", "sun" and [SEP], the marker behind the first, an empty line.
  const std::string rows =
      run({"encode", "--model", "colbert.stanford", "--multi-vector", "--kind",
           "document", "the sun"});
  EXPECT_EQ(lines(rows), 6);
  EXPECT_TRUE(rows.starts_with("[CLS] ")) << rows;
  EXPECT_NE(rows.find("\n[unused1] "), rows.npos) << rows;
  const std::string few =
      run({"encode", "--model", "colbert.stanford", "--multi-vector",
           "--max-rows", "2", "--kind", "document", "the sun", "cats"});
  EXPECT_EQ(lines(few), 6);
  EXPECT_NE(run({"encode", "--model", kM3, "--sparse", "--multi-vector",
                 "--json", "cats"})
                .find("\"sparse\""),
            std::string::npos);
  const std::string labels =
      run({"classify", "--model", kNli, "--labels", "sport,music",
           "--hypothesis-template", "a text about {}", "--multi-label",
           "the team won"});
  EXPECT_NE(labels.find("sport 0."), labels.npos) << labels;
  EXPECT_NE(labels.find("music 0."), labels.npos) << labels;
  // Neither flag takes the texts behind it.
  EXPECT_EQ(lines(run({"classify", "--model", kNli, "--labels", "sport,music",
                       "the team won"})),
            1);
  EXPECT_EQ(lines(run({"rerank", "--model", kM3, "--query", "cats", "--weights",
                       "1,0,1", "cats", "dogs"})),
            2);
}

TEST_F(RetrievalTest, AnswersInTheShapesOfOthers) {
  const json run = Expected(kNli)["runs"][0];
  const json zero_shot = {
      {"inputs", run["text"]},
      {"parameters", {{"candidate_labels", run["candidate_labels"]}}}};
  // huggingface_hub posts to the address that it is given.
  const json labels = Post("/", zero_shot);
  ASSERT_EQ(labels.size(), 3u);
  // The first model that classifies.
  EXPECT_EQ(labels[0]["label"], run["labels"][0]);
  EXPECT_NEAR(labels[0]["score"].get<float>(), run["scores"][0].get<float>(),
              1e-5);
  EXPECT_EQ(Post("/predict", zero_shot), labels);
  json many = zero_shot;
  many["inputs"] = {run["text"], run["text"]};
  EXPECT_EQ(Post("/predict", many), json::array({labels, labels}));
  many["parameters"]["candidate_labels"] = json::array();
  EXPECT_THAT(Post("/predict", many, 422)["error"].get<std::string>(),
              ErrorAt("candidate_labels"));

  const json expected = Expected("colbert.modernbert");
  const json score = {{"model", "colbert.modernbert"},
                      {"text_1", expected["queries"][0]},
                      {"text_2", expected["documents"]},
                      {"truncate_prompt_tokens", -1}};
  for (const char* path : {"/score", "/v1/score"}) {
    const json answer = Post(path, score);
    EXPECT_EQ(answer["object"], "list");
    ASSERT_EQ(answer["data"].size(), expected["documents"].size());
    for (size_t i = 0; i < answer["data"].size(); ++i) {
      EXPECT_EQ(answer["data"][i]["index"], i);
      EXPECT_NEAR(answer["data"][i]["score"].get<float>(),
                  expected["scores"][0][i].get<float>(), 1e-2);
    }
    EXPECT_GT(answer["usage"]["prompt_tokens"], 0);
  }
  json two = score;
  two["text_1"] = {"a", "b"};
  EXPECT_THAT(Post("/score", two, 400)["error"]["message"].get<std::string>(),
              ErrorAt("text_1"));

  const json classes =
      Post("/classify", {{"model", kNli}, {"input", {"cats", "the team"}}});
  ASSERT_EQ(classes["data"].size(), 2u);
  EXPECT_EQ(classes["data"][1]["num_classes"], 3);
  const auto probabilities =
      classes["data"][1]["probs"].get<std::vector<float>>();
  const size_t best =
      std::max_element(probabilities.begin(), probabilities.end()) -
      probabilities.begin();
  const char* const kLabels[] = {"contradiction", "neutral", "entailment"};
  EXPECT_EQ(classes["data"][1]["label"], kLabels[best]);

  json body = {{"model", kM3},
               {"input", Expected(kM3)["documents"][0]},
               {"outputs", {"dense", "sparse", "multi_vector"}},
               {"kind", "document"}};
  const json all = Post("/v1/embeddings", body)["data"][0];
  const json three = Expected(kM3)["document_embeddings"][0];
  EXPECT_EQ(all["embedding"].size(), three["dense"].size());
  EXPECT_EQ(all["sparse_embedding"]["indices"].size(), three["sparse"].size());
  EXPECT_EQ(all["sparse_embedding"]["values"].size(), three["sparse"].size());
  ASSERT_EQ(all["multi_vector"].size(), three["colbert"].size());
  EXPECT_NEAR(all["multi_vector"][1][2].get<float>(),
              three["colbert"][1][2].get<float>(), 1e-4);
  body["outputs"] = {"multi_vector"};
  EXPECT_FALSE(Post("/v1/embeddings", body)["data"][0].contains("embedding"));
  for (const auto& [name, value] :
       {std::pair("outputs", "many"), std::pair("kind", "answer")}) {
    json wrong = body;
    wrong[name] = value;
    EXPECT_THAT(Post("/v1/embeddings", wrong, 400)["error"]["message"]
                    .get<std::string>(),
                ErrorAt(name));
  }
}

}  // namespace
}  // namespace trivium
