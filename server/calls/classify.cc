// Classify: finds the labels of texts. With labels of the request, a text and
// each label's hypothesis are a pair, and a request. Rerank: sorts documents by
// the score of their label, or by the products of embeddings.
#include "server/calls/convert/classify.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "server/calls/convert/model_calls.h"
#include "server/calls/convert/zero_shot.h"
#include "server/calls/embedding_ranker.h"
#include "server/calls/handlers.h"
#include "server/calls/heads.h"
#include "server/calls/inputs_call.h"

namespace trivium {
namespace {

// About how many bytes a label takes on the wire besides its name.
constexpr int64_t kLabelBytes = 20;

class ClassifyCall final
    : public InputsCall<v1::ClassifyRequest, v1::ClassifyResponse> {
 public:
  using InputsCall::InputsCall;

 private:
  absl::Status Open() override {
    TRIVIUM_RETURN_IF_ERROR(OpenRequest());
    TRIVIUM_RETURN_IF_ERROR(
        CheckHead(call().model(), "Classify", {HeadKind::kClassify}));
    TRIVIUM_ASSIGN_OR_RETURN(top_, ReadTop(request()));
    TRIVIUM_RETURN_IF_ERROR(OpenInputs());
    TRIVIUM_ASSIGN_OR_RETURN(zero_shot_, ReadZeroShot(request(), call().model(),
                                                      environment().limits));
    return absl::OkStatus();
  }

  int64_t TextBytes(int part) const override {
    return InputsCall::TextBytes(part) +
           (zero_shot_ ? zero_shot_->hypothesis_bytes : 0);
  }

  absl::Status Prepare(int part, std::vector<Request>* requests) override {
    if (!zero_shot_) return InputsCall::Prepare(part, requests);
    const std::string path = FieldOfInput(part);
    TRIVIUM_ASSIGN_OR_RETURN(
        const FirstOfPairs text,
        ConvertFirst(message(part).text(), path + ".text", options()));
    PreparedInput all;  // of which only the cut tokens are read
    int tokens = 0;
    int64_t bytes = 0;
    for (size_t i = 0; i < zero_shot_->hypotheses.size(); ++i) {
      TRIVIUM_ASSIGN_OR_RETURN(
          PreparedInput pair,
          ConvertSecond(text, zero_shot_->hypotheses[i], path, options()));
      all.truncated = std::max(all.truncated, pair.truncated);
      tokens += static_cast<int>(pair.source.ids.size());
      Request& request = requests->emplace_back();
      request.source = std::move(pair.source);
      request.logits = true;
      bytes +=
          kLabelBytes + static_cast<int64_t>(zero_shot_->labels[i]->size());
    }
    ExpectResponseBytes(bytes);
    AddInput(std::move(all));
    pair_tokens_.push_back(tokens);
    return absl::OkStatus();
  }

  std::string FieldOf(int request) const override {
    return FieldOfInput(
        zero_shot_ ? request / static_cast<int>(zero_shot_->labels.size())
                   : request);
  }
  static std::string FieldOfInput(int input) {
    return fmt::format("inputs[{}]", input);
  }

  absl::Status Want(int, const PreparedInput&, Request* request) override {
    request->logits = true;
    ExpectResponseBytes(LabelsBytes());
    return absl::OkStatus();
  }

  // About how many bytes the labels of one input take.
  int64_t LabelsBytes() const {
    const std::vector<std::string>& labels = model().info().head->labels;
    int64_t bytes = 0;
    for (const std::string& label : labels) {
      bytes += kLabelBytes + static_cast<int64_t>(label.size());
    }
    const auto all = static_cast<int64_t>(labels.size());
    const int64_t top = top_ ? *top_ : all;
    return top >= all ? bytes : bytes / all * top;
  }

  absl::Status HandleResult(int i, RequestResult result) override {
    if (zero_shot_) {
      pairs_.push_back(std::move(result.logits));
      if (pairs_.size() < zero_shot_->labels.size()) return absl::OkStatus();
      const int input = i / static_cast<int>(zero_shot_->labels.size());
      v1::Classification* out = AddResultOf(input);
      SetPairTokens(pair_tokens_[input], out);
      AddZeroShotLabels(std::exchange(pairs_, {}), out);
      return absl::OkStatus();
    }
    v1::Classification* out = AddResultOf(i);
    const HeadInfo& head = *model().info().head;
    const std::vector<float>& logits = result.logits;
    const std::vector<float> scores = ToScores(logits, head.scores);
    const size_t top = top_ ? *top_ : logits.size();
    for (const int index : LargestFirst(logits, top)) {
      AddLabel(head, index, scores[index], logits[index], out);
    }
    return absl::OkStatus();
  }

  // Adds the labels of one text. `logits` [labels, outputs] are the head's.
  void AddZeroShotLabels(const std::vector<std::vector<float>>& logits,
                         v1::Classification* out) const {
    const ZeroShotJob& job = *zero_shot_;
    std::vector<float> entailments, scores;
    for (const std::vector<float>& of_label : logits) {
      const float entailment = of_label[job.entailment];
      entailments.push_back(entailment);
      if (!job.apart) continue;
      const float both[] = {of_label[job.contradiction], entailment};
      scores.push_back(ToScores(both, HeadInfo::Scores::kSoftmax).back());
    }
    if (!job.apart) scores = ToScores(entailments, HeadInfo::Scores::kSoftmax);
    const size_t top = job.top ? *job.top : scores.size();
    // Logits order what rounds to the same score.
    for (const int index :
         LargestFirst(job.apart ? scores : entailments, top)) {
      AddZeroShotLabel(job, index, scores[index], entailments[index], out);
    }
  }

  std::optional<uint32_t> top_;            // labels to return; unset: all
  std::optional<ZeroShotJob> zero_shot_;   // with labels of the request
  std::vector<int> pair_tokens_;           // [inputs] of all their pairs
  std::vector<std::vector<float>> pairs_;  // logits of the current input's
};

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

std::unique_ptr<Handler> NewClassify(const Environment& environment,
                                     CallContext context,
                                     Transport* transport) {
  return std::make_unique<ClassifyCall>(environment, std::move(context),
                                        Rpc::kClassify, transport);
}

std::unique_ptr<Handler> NewRerank(const Environment& environment,
                                   CallContext context, Transport* transport) {
  return std::make_unique<RerankCall>(environment, std::move(context),
                                      Rpc::kRerank, transport);
}

}  // namespace trivium
