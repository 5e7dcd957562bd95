// The calls of encoders' heads, over puppets.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/server/transports/grpc/rpc_fixture.h"
#include "tests/support/error_texts.h"

namespace trivium {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Puppet ids: 'a' is 101 (4 + 97), an end is 0.
class HeadsTest : public RpcTest {
 protected:
  void AddParts(Server::Parts* parts) override {
    Add("classifier",
        {HeadKind::kClassify,
         HeadInfo::Scores::kSoftmax,
         {"no", "maybe", "yes"}},
        parts);
    Add("ranker", {HeadKind::kClassify, HeadInfo::Scores::kSigmoid, {"fits"}},
        parts);
    Add("tagger",
        {HeadKind::kTag,
         HeadInfo::Scores::kSoftmax,
         {"O", "B-PER", "I-PER", "LOC"}},
        parts);
    Add("discriminator",
        {HeadKind::kDiscriminate,
         HeadInfo::Scores::kSoftmax,
         {"original", "replaced"}},
        parts);
    Add("filler", {HeadKind::kFillMask, HeadInfo::Scores::kSoftmax, {}}, parts);
  }

  static void Add(const std::string& name, HeadInfo head,
                  Server::Parts* parts) {
    auto model = std::make_unique<PuppetModel>(Design::kEncoder);
    model->ReadPairs();
    model->mutable_info().head = std::move(head);
    model->mutable_info().pooled_size = 2;
    model->mutable_info().mask_id = PuppetTokenizer::kFirst + '_';
    model->mutable_tokenizer().unknown = '2';
    parts->models.push_back(ServedPuppet(name, std::move(model)));
  }

  // Logits [tokens, outputs] whose largest of token i is the digit that the
  // text has there; the end token gets `end`.
  void TagByDigits(int outputs, int end = 0) {
    batcher_->set_logits([outputs, end](const Request& request) {
      std::vector<float> logits;
      for (const int32_t id : request.source.ids) {
        const int digit = id == 0 ? end : id - PuppetTokenizer::kFirst - '0';
        for (int i = 0; i < outputs; ++i) {
          logits.push_back(i == digit ? 2.0f : 0.0f);
        }
      }
      return logits;
    });
  }

  v1::ClassifyTokensResponse Tag(const v1::ClassifyTokensRequest& request) {
    v1::ClassifyTokensResponse response;
    const grpc::Status status =
        stub_->ClassifyTokens(Context().get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
};

TEST_F(HeadsTest, ClassifyGivesLabelsBestFirst) {
  batcher_->set_logits([](const Request&) {
    return std::vector<float>{0, std::log(3.0f), std::log(4.0f)};
  });
  v1::ClassifyRequest request;
  request.set_model("classifier");
  request.add_inputs()->set_text("ab");
  request.add_inputs()->mutable_pair()->set_first("a");
  request.mutable_inputs(1)->mutable_pair()->set_second("b");
  v1::ClassifyResponse response;
  ASSERT_TRUE(stub_->Classify(Context().get(), request, &response).ok());
  ASSERT_EQ(response.results_size(), 2);
  const v1::Classification& result = response.results(0);
  ASSERT_EQ(result.labels_size(), 3);
  EXPECT_EQ(result.labels(0).label(), "yes");
  EXPECT_EQ(result.labels(0).index(), 2);
  EXPECT_NEAR(result.labels(0).score(), 0.5, 1e-6);
  EXPECT_NEAR(result.labels(1).score(), 0.375, 1e-6);
  EXPECT_EQ(result.labels(2).label(), "no");
  EXPECT_NEAR(result.labels(2).score(), 0.125, 1e-6);
  EXPECT_EQ(result.token_count(), 3);
  const std::vector<Request> submitted = batcher_->submitted();
  ASSERT_EQ(submitted.size(), 2u);
  EXPECT_TRUE(submitted[0].logits);
  EXPECT_EQ(submitted[0].states, States::kNone);
  EXPECT_THAT(submitted[1].source.ids, ElementsAre(101, 0, 102, 0));
  EXPECT_THAT(submitted[1].source.type_ids, ElementsAre(0, 0, 1, 1));

  request.set_top(1);
  ASSERT_TRUE(stub_->Classify(Context().get(), request, &response).ok());
  EXPECT_EQ(response.results(1).labels_size(), 1);
}

TEST_F(HeadsTest, RerankOrdersDocuments) {
  batcher_->set_logits([](const Request& request) {
    // Longer documents are better; the sigmoid of the longest is 1 in f32.
    return std::vector<float>{request.source.ids.size() * 10.0f - 50};
  });
  v1::RerankRequest request;
  request.set_model("ranker");
  request.set_query("q");
  for (const char* document : {"four", "", "eleven  ...", "four"}) {
    request.add_documents(document);
  }
  v1::RerankResponse response;
  ASSERT_TRUE(stub_->Rerank(Context().get(), request, &response).ok());
  std::vector<int> order;
  for (const auto& one : response.documents()) order.push_back(one.index());
  EXPECT_THAT(order, ElementsAre(2, 0, 3, 1));
  EXPECT_NEAR(response.documents(3).score(), 1 / (1 + std::exp(20.0)), 1e-9);
  EXPECT_EQ(response.documents(0).logit(), 90);
  request.set_top(2);
  ASSERT_TRUE(stub_->Rerank(Context().get(), request, &response).ok());
  EXPECT_EQ(response.documents_size(), 2);
}

TEST_F(HeadsTest, ClassesDoNotRank) {
  v1::RerankRequest request;
  request.set_model("classifier");
  request.set_query("q");
  request.add_documents("d");
  v1::RerankResponse response;
  EXPECT_EQ(stub_->Rerank(Context().get(), request, &response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  // Without a name: the first model that ranks.
  batcher_->set_logits([](const Request&) { return std::vector<float>{1}; });
  request.clear_model();
  ASSERT_TRUE(stub_->Rerank(Context().get(), request, &response).ok());
  EXPECT_EQ(response.model().name(), "ranker");
}

TEST_F(HeadsTest, RerankAcceptsAThousandDocuments) {
  batcher_->set_logits([](const Request& request) {
    return std::vector<float>{static_cast<float>(request.source.ids.size())};
  });
  v1::RerankRequest request;
  request.set_model("ranker");
  request.set_query("q");
  for (int i = 0; i < 1000; ++i)
    request.add_documents(std::string(i % 50, 'x'));
  request.set_return_text(true);
  v1::RerankResponse response;
  ASSERT_TRUE(stub_->Rerank(Context().get(), request, &response).ok());
  ASSERT_EQ(response.documents_size(), 1000);
  EXPECT_EQ(response.documents(0).index(), 49u);
  for (const auto& one : response.documents()) {
    EXPECT_EQ(one.text(), request.documents(static_cast<int>(one.index())));
  }
  request.clear_return_text();
  ASSERT_TRUE(stub_->Rerank(Context().get(), request, &response).ok());
  EXPECT_EQ(response.documents(0).text(), "");
}

TEST_F(HeadsTest, RerankNamesTheDocumentThatIsTooLong) {
  v1::RerankRequest request;
  request.set_model("ranker");
  request.set_query("q");
  request.add_documents("fits");
  request.add_documents(std::string(100, 'a'));  // the model reads 64 tokens
  v1::RerankResponse response;
  grpc::Status status = stub_->Rerank(Context().get(), request, &response);
  EXPECT_EQ(BadField(status), "documents[1]");
  EXPECT_THAT(status.error_message(), ErrorAt("103"));
  request.set_query(std::string(100, 'q'));
  request.mutable_documents()->RemoveLast();
  status = stub_->Rerank(Context().get(), request, &response);
  EXPECT_EQ(BadField(status), "documents[0]");
  request.clear_documents();
  EXPECT_EQ(BadField(stub_->Rerank(Context().get(), request, &response)),
            "documents");
}

TEST_F(HeadsTest, ClassifyTokensJoinsTokensToSpans) {
  TagByDigits(4, /*end=*/3);
  v1::ClassifyTokensRequest request;
  request.set_model("tagger");
  // The tokens are O, a PER of three tokens, another PER right after it, two of
  // LOC, and O. The token "2" is an unknown word, which belongs to the text.
  request.add_inputs()->set_text(
      "0122133"
      "0");
  const v1::ClassifyTokensResponse response = Tag(request);
  const v1::TokenClassification& result = response.results(0);
  ASSERT_EQ(result.spans_size(), 3);
  EXPECT_EQ(result.spans(0).label(), "PER");
  EXPECT_EQ(result.spans(0).text(), "122");
  EXPECT_EQ(result.spans(0).byte_begin(), 1);
  EXPECT_EQ(result.spans(0).byte_end(), 4);
  EXPECT_EQ(result.spans(0).char_end(), 4);
  EXPECT_EQ(result.spans(0).token_begin(), 1);
  EXPECT_EQ(result.spans(0).token_end(), 4);
  const double score = std::exp(2.0) / (std::exp(2.0) + 3);
  EXPECT_NEAR(result.spans(0).score(), score, 1e-6);
  EXPECT_EQ(result.spans(1).label(), "PER");
  EXPECT_EQ(result.spans(1).text(), "1");
  // The special end token is LOC, too, but does not belong to the text.
  EXPECT_EQ(result.spans(2).text(), "33");

  request.set_aggregation(v1::AGGREGATION_NONE);
  request.add_ignore("LOC");
  const v1::ClassifyTokensResponse single = Tag(request);
  std::string labels;
  for (const auto& span : single.results(0).spans()) {
    labels += span.label() + " ";
  }
  EXPECT_EQ(labels, "O B-PER I-PER I-PER B-PER O ");
}

TEST_F(HeadsTest, SpansOfIdsHaveNoText) {
  TagByDigits(4);
  v1::ClassifyTokensRequest request;
  request.set_model("tagger");
  v1::InputIds* ids = request.add_inputs()->mutable_ids();
  for (const char digit : std::string("0133")) {
    ids->add_ids(PuppetTokenizer::kFirst + digit);
  }
  const v1::ClassifyTokensResponse response = Tag(request);
  ASSERT_EQ(response.results(0).spans_size(), 2);
  EXPECT_EQ(response.results(0).spans(1).label(), "LOC");
  EXPECT_EQ(response.results(0).spans(1).token_begin(), 2);
  EXPECT_EQ(response.results(0).spans(1).token_end(), 4);
  EXPECT_EQ(response.results(0).spans(1).text(), "");
}

TEST_F(HeadsTest, ADiscriminatorsLogitIsThatOfReplaced) {
  batcher_->set_logits([](const Request&) {
    return std::vector<float>{-1, 3, -2};
  });
  v1::ClassifyTokensRequest request;
  request.set_model("discriminator");
  request.add_inputs()->set_text("ab");
  request.add_ignore("original");
  const v1::ClassifyTokensResponse response = Tag(request);
  ASSERT_EQ(response.results(0).spans_size(), 1);
  EXPECT_EQ(response.results(0).spans(0).text(), "b");
  EXPECT_EQ(response.results(0).spans(0).label(), "replaced");
  EXPECT_NEAR(response.results(0).spans(0).score(), 1 / (1 + std::exp(-3.0)),
              1e-6);
}

TEST_F(HeadsTest, FillMaskComputesLogitsOfMasksOnly) {
  batcher_->set_logits([](const Request& request) {
    std::vector<float> logits;
    for (const int position : request.logits_positions) {
      std::vector<float> row(PuppetTokenizer::kVocabulary, -100);
      row[PuppetTokenizer::kFirst + 'x'] = std::log(3.0f);
      row[PuppetTokenizer::kFirst + '0' + position] = 0;
      logits.insert(logits.end(), row.begin(), row.end());
    }
    return logits;
  });
  v1::FillMaskRequest request;
  request.set_model("filler");
  request.set_top(2);
  request.add_inputs()->set_text("a_c_");
  v1::FillMaskResponse response;
  ASSERT_TRUE(stub_->FillMask(Context().get(), request, &response).ok());
  EXPECT_THAT(batcher_->submitted().at(0).logits_positions, ElementsAre(1, 3));
  ASSERT_EQ(response.results(0).masks_size(), 2);
  const v1::FilledMasks::Mask& mask = response.results(0).masks(1);
  EXPECT_EQ(mask.position(), 3);
  ASSERT_EQ(mask.candidates_size(), 2);
  EXPECT_EQ(mask.candidates(0).text(), "x");
  EXPECT_NEAR(mask.candidates(0).score(), 0.75, 1e-6);
  EXPECT_EQ(mask.candidates(1).text(), "3");

  request.mutable_inputs(0)->set_text("abc");
  const grpc::Status status =
      stub_->FillMask(Context().get(), request, &response);
  EXPECT_EQ(BadField(status), "inputs[0]");
  EXPECT_THAT(status.error_message(), ErrorAt("byte95"));
  request.set_top(101);
  EXPECT_EQ(BadField(stub_->FillMask(Context().get(), request, &response)),
            "top");
}

TEST_F(HeadsTest, RefusesModelsWithoutTheHead) {
  v1::ClassifyRequest request;
  request.add_inputs()->set_text("a");
  v1::ClassifyResponse response;
  for (const char* model : {"translator", "encoder", "tagger", "filler"}) {
    request.set_model(model);
    const grpc::Status status =
        stub_->Classify(Context().get(), request, &response);
    EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION) << model;
    EXPECT_THAT(status.error_message(), ErrorAt("Classify"));
  }
  request.set_model("classifier");
  request.clear_inputs();
  EXPECT_EQ(BadField(stub_->Classify(Context().get(), request, &response)),
            "inputs");
  request.add_inputs()->set_text("a");
  request.set_top(0);
  EXPECT_EQ(BadField(stub_->Classify(Context().get(), request, &response)),
            "top");
  v1::ClassifyTokensRequest tag;
  tag.set_model("tagger");
  tag.add_inputs()->mutable_pair();
  v1::ClassifyTokensResponse tagged;
  EXPECT_EQ(BadField(stub_->ClassifyTokens(Context().get(), tag, &tagged)),
            "inputs[0].pair");
  tag.clear_inputs();
  tag.set_aggregation(static_cast<v1::Aggregation>(9));
  EXPECT_EQ(BadField(stub_->ClassifyTokens(Context().get(), tag, &tagged)),
            "aggregation");
}

TEST_F(HeadsTest, ModelsTellCallsAndLabels) {
  v1::GetModelRequest request;
  v1::Model model;
  const auto calls = [&](const char* name) {
    request.set_name(name);
    EXPECT_TRUE(models_->GetModel(Context().get(), request, &model).ok());
    return model.calls();
  };
  EXPECT_THAT(calls("classifier"),
              ElementsAre("Encode", "EncodeStream", "Tokenize", "Detokenize",
                          "Classify", "Similarity"));
  EXPECT_THAT(calls("ranker"), testing::Contains("Rerank"));
  EXPECT_THAT(calls("classifier"), testing::Not(testing::Contains("Rerank")));
  EXPECT_THAT(model.labels(), ElementsAre("no", "maybe", "yes"));
  EXPECT_THAT(calls("tagger"),
              ElementsAre("Encode", "EncodeStream", "Tokenize", "Detokenize",
                          "Similarity", "ClassifyTokens"));
  EXPECT_THAT(calls("filler"),
              ElementsAre("Encode", "EncodeStream", "Tokenize", "Detokenize",
                          "Similarity", "FillMask"));
  EXPECT_THAT(model.labels(), IsEmpty());
}

TEST_F(HeadsTest, EncodeTakesSegmentsAndThePooler) {
  v1::EncodeRequest request;
  request.set_model("classifier");
  v1::InputIds* ids = request.add_inputs()->mutable_ids();
  for (const int id : {7, 8}) ids->add_ids(id);
  for (const int type : {0, 1}) ids->add_type_ids(type);
  request.set_pooling(v1::POOLING_POOLER);
  v1::EncodeResponse response;
  ASSERT_TRUE(stub_->Encode(Context().get(), request, &response).ok());
  EXPECT_THAT(response.results(0).embedding(), ElementsAre(3, 4));
  EXPECT_THAT(batcher_->submitted().at(0).source.type_ids, ElementsAre(0, 1));
  request.set_normalize(true);
  ASSERT_TRUE(stub_->Encode(Context().get(), request, &response).ok());
  EXPECT_NEAR(response.results(0).embedding(1), 0.8, 1e-6);
  request.set_pooling(v1::POOLING_MAX);
  request.set_normalize(false);
  ASSERT_TRUE(stub_->Encode(Context().get(), request, &response).ok());
  EXPECT_THAT(response.results(0).embedding(), ElementsAre(8, 1));

  ids->set_type_ids(1, 2);
  EXPECT_EQ(BadField(stub_->Encode(Context().get(), request, &response)),
            "inputs[0].ids.type_ids[1]");
  ids->mutable_type_ids()->RemoveLast();
  EXPECT_EQ(BadField(stub_->Encode(Context().get(), request, &response)),
            "inputs[0].ids.type_ids");
  request.set_model("encoder");
  ids->add_type_ids(0);
  EXPECT_EQ(BadField(stub_->Encode(Context().get(), request, &response)),
            "inputs[0].ids.type_ids[0]");
  ids->clear_type_ids();
  request.set_pooling(v1::POOLING_POOLER);
  EXPECT_EQ(stub_->Encode(Context().get(), request, &response).error_code(),
            grpc::FAILED_PRECONDITION);
  request.set_pooling(v1::POOLING_MEAN);
  request.set_prompt_name("query");
  EXPECT_EQ(BadField(stub_->Encode(Context().get(), request, &response)),
            "prompt_name");
}

}  // namespace
}  // namespace trivium
