// Classify: finds the labels of texts. Rerank: sorts documents by the score of
// their label.
#include "server/calls/convert/classify.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/status.h"
#include "server/calls/convert/model_calls.h"
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
    return OpenInputs();
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

  std::optional<uint32_t> top_;  // labels to return; unset: all
};

class RerankCall final : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Open() override {
    TRIVIUM_RETURN_IF_ERROR(call().Open(transport(), &request_));
    TRIVIUM_RETURN_IF_ERROR(
        CheckHead(call().model(), "Rerank", {HeadKind::kClassify}));
    if (model().tokenizer() != nullptr && !ServesCall(model(), Rpc::kRerank)) {
      return absl::FailedPreconditionError(fmt::format(
          "the model '{}' tells {} classes apart, which do not rank documents; "
          "use Classify, or a model with one label",
          call().model().name, model().info().head->labels.size()));
    }
    options_.model = &model();
    options_.limits = &environment().limits;
    options_.check_alive = call().alive_check();
    TRIVIUM_ASSIGN_OR_RETURN(
        job_, ReadRerank(request_, environment(), call().model(), &options_));
    return absl::OkStatus();
  }

  int parts() const override { return static_cast<int>(job_.documents.size()); }
  int64_t TextBytes(int part) const override {
    // A template reads both texts and the prompt for each document.
    const bool all = model().pair_template() != nullptr;
    return (all || part == 0 ? trivium::TextBytes(*job_.query) : 0) +
           (all ? trivium::TextBytes(options_.prompt) : 0) +
           trivium::TextBytes(*job_.documents[part]);
  }

  absl::Status Prepare(int part, std::vector<Request>* requests) override {
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
    return fmt::format("documents[{}]", request);
  }

  absl::Status HandleResult(int, RequestResult result) override {
    outputs_ = result.logits.size();
    logits_.push_back(result.logits.back());
    scores_.push_back(
        ToScores(result.logits, model().info().head->scores).back());
    return absl::OkStatus();
  }

  const google::protobuf::Message& Response() override {
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
