// Rerank: sorts documents by the score of their label, which a model gives to a
// query and a document together, or by the products of embeddings.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "server/calls/convert/classify.h"
#include "server/calls/convert/model_calls.h"
#include "server/calls/embedding_ranker.h"
#include "server/calls/handlers.h"
#include "server/calls/heads.h"
#include "server/calls/unary.h"

namespace trivium {
namespace {

class RerankCall final : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Open() override {
    TRIVIUM_RETURN_IF_ERROR(call().Open(transport(), &request_));
    if (RanksByEmbeddings(model())) return OpenRanker();
    TRIVIUM_RETURN_IF_ERROR(
        CheckHead(call().model(), "Rerank", {HeadKind::kClassify}));
    if (model().tokenizer() != nullptr && !ServesCall(model(), Rpc::kRerank)) {
      return absl::FailedPreconditionError(fmt::format(
          "the model '{}' tells {} classes apart, which do not rank documents; "
          "use Classify, or a model with one label",
          call().model().name, model().info().head->labels.size()));
    }
    TRIVIUM_RETURN_IF_ERROR(RefuseEmbeddingWeights(request_));
    return OpenJob();
  }

  // Reads the request, for either way.
  absl::Status OpenJob() {
    options_.model = &model();
    options_.limits = &environment().limits;
    options_.check_alive = call().alive_check();
    TRIVIUM_ASSIGN_OR_RETURN(
        job_, ReadRerank(request_, environment(), call().model(), &options_));
    return absl::OkStatus();
  }

  absl::Status OpenRanker() {
    TRIVIUM_RETURN_IF_ERROR(OpenJob());
    TRIVIUM_ASSIGN_OR_RETURN(
        ranker_, EmbeddingRanker::Create(environment(), call().model(),
                                         request_, call().alive_check()));
    return absl::OkStatus();
  }

  // A ranker's query is the first request, and a part of its own.
  int first_document() const { return ranker_ ? 1 : 0; }
  int parts() const override {
    return first_document() + static_cast<int>(job_.documents.size());
  }
  int64_t TextBytes(int part) const override {
    if (ranker_) {
      return trivium::TextBytes(part == 0 ? *job_.query
                                          : *job_.documents[part - 1]);
    }
    // A template reads both texts and the prompt for each document.
    const bool all = model().pair_template() != nullptr;
    return (all || part == 0 ? trivium::TextBytes(*job_.query) : 0) +
           (all ? trivium::TextBytes(options_.prompt) : 0) +
           trivium::TextBytes(*job_.documents[part]);
  }

  absl::Status PrepareToCompare(int part, std::vector<Request>* requests) {
    TRIVIUM_ASSIGN_OR_RETURN(
        EncodeWork::Item item,
        part == 0 ? ranker_->PrepareQuery(*job_.query)
                  : ranker_->PrepareDocument(*job_.documents[part - 1],
                                             FieldOf(part)));
    requests->push_back(std::move(item.request));
    if (part == 0) {
      compared_query_ = std::move(item.input);
    } else {
      documents_.push_back(std::move(item.input));
    }
    return absl::OkStatus();
  }

  absl::Status Prepare(int part, std::vector<Request>* requests) override {
    if (ranker_) return PrepareToCompare(part, requests);
    if (part == 0) {
      TRIVIUM_ASSIGN_OR_RETURN(query_,
                               ConvertFirst(*job_.query, "query", options_));
    }
    TRIVIUM_ASSIGN_OR_RETURN(
        PreparedInput document,
        ConvertSecond(query_, *job_.documents[part], FieldOf(part), options_));
    Request& request = requests->emplace_back();
    request.source = document.source;
    request.logits = true;
    documents_.push_back(std::move(document));
    return absl::OkStatus();
  }

  std::string FieldOf(int request) const override {
    const int document = request - first_document();
    return document < 0 ? "query" : fmt::format("documents[{}]", document);
  }

  absl::Status HandleResult(int i, RequestResult result) override {
    if (ranker_ && i == 0) {
      return ranker_->SetQuery(compared_query_, std::move(result));
    }
    if (ranker_) {
      TRIVIUM_ASSIGN_OR_RETURN(
          products_.emplace_back(),
          ranker_->Compare(documents_[i - 1], std::move(result)));
      scores_.push_back(products_.back().score);
      return absl::OkStatus();
    }
    outputs_ = result.logits.size();
    logits_.push_back(result.logits.back());
    scores_.push_back(
        ToScores(result.logits, model().info().head->scores).back());
    return absl::OkStatus();
  }

  const google::protobuf::Message& Response() override {
    if (ranker_) {
      const size_t top = job_.top ? *job_.top : scores_.size();
      for (const int index : LargestFirst(scores_, top)) {
        AddCompared(job_, index, products_[index], documents_[index],
                    &response_);
      }
      return WithTimings(&response_);
    }
    // Scores near a sigmoid's ends round to the same number; logits do not.
    const std::vector<float>& order = outputs_ == 1 ? logits_ : scores_;
    const size_t top = job_.top ? *job_.top : order.size();
    for (const int index : LargestFirst(order, top)) {
      AddDocument(job_, index, scores_[index], logits_[index],
                  documents_[index], &response_);
    }
    return WithTimings(&response_);
  }

  v1::RerankRequest request_;
  v1::RerankResponse response_;
  RerankJob job_;
  InputOptions options_;
  FirstOfPairs query_;
  std::vector<PreparedInput> documents_;
  std::vector<float> logits_, scores_;  // [documents], of the last label
  size_t outputs_ = 0;                  // labels
  // Set for models that make embeddings.
  std::optional<EmbeddingRanker> ranker_;
  PreparedInput compared_query_;
  std::vector<EmbeddingProducts> products_;  // [documents]
};

}  // namespace

std::unique_ptr<Handler> NewRerank(const Environment& environment,
                                   CallContext context, Transport* transport) {
  return std::make_unique<RerankCall>(environment, std::move(context),
                                      Rpc::kRerank, transport);
}

}  // namespace trivium
