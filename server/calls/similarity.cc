// Similarity: compares the texts of two lists by their embeddings. The texts of
// both lists are encoded in one round. Then each text is compared, as soon as
// its embeddings are made, with those of the other list before it.
#include "server/calls/convert/similarity.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "server/calls/compare_embeddings.h"
#include "server/calls/encode_work.h"
#include "server/calls/handlers.h"
#include "server/calls/unary.h"

namespace trivium {
namespace {

class SimilarityCall final : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Open() override {
    TRIVIUM_RETURN_IF_ERROR(call().Open(transport(), &request_));
    TRIVIUM_ASSIGN_OR_RETURN(
        job_, ReadSimilarity(request_, environment(), call().model()));
    comparison_ = ComparisonOf(job_.weights, model(), call().alive_check());
    comparison_.dense = job_.function;
    ExpectResponseBytes(SimilarityBytes(job_));
    TRIVIUM_ASSIGN_OR_RETURN(first_work_, WorkOf(job_.first));
    if (job_.second) {
      TRIVIUM_ASSIGN_OR_RETURN(second_work_, WorkOf(*job_.second));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<EncodeWork> WorkOf(const SimilarityJob::List& list) {
    return EncodeWork::Create(environment(), call().model(), list.encode,
                              list.path, call().alive_check());
  }

  // The parts are the texts of the first list, and then those of the second.
  bool InFirst(int part) const { return part < job_.rows(); }
  const EncodeWork& WorkFor(int part) const {
    return InFirst(part) ? *first_work_ : *second_work_;
  }
  const v1::Input& InputOf(int part) const {
    return InFirst(part) ? *job_.first.inputs[part]
                         : *job_.second->inputs[part - job_.rows()];
  }
  std::string FieldOf(int part) const override {
    return InFirst(part) ? fmt::format("first.inputs[{}]", part)
                         : fmt::format("second.inputs[{}]", part - job_.rows());
  }

  int parts() const override {
    return job_.rows() + (job_.second ? job_.columns() : 0);
  }
  int64_t TextBytes(int part) const override {
    return WorkFor(part).TextBytes(InputOf(part));
  }

  absl::Status Prepare(int part, std::vector<Request>* requests) override {
    TRIVIUM_ASSIGN_OR_RETURN(
        EncodeWork::Item item,
        WorkFor(part).Prepare(InputOf(part), FieldOf(part)));
    ComparedTexts& texts = InFirst(part) ? first_texts_ : second_texts_;
    texts.texts += 1;
    texts.tokens += static_cast<double>(item.input.source.ids.size());
    AddComparedText(item.input, InFirst(part), &response_);
    requests->push_back(std::move(item.request));
    inputs_.push_back(std::move(item.input));
    if (part + 1 < parts()) return absl::OkStatus();
    TRIVIUM_ASSIGN_OR_RETURN(
        comparisons_,
        CountComparisons(job_, model(), first_texts_,
                         job_.second ? second_texts_ : first_texts_));
    return absl::OkStatus();
  }

  // Counts the comparisons, too: a short text may be compared with thousands.
  int64_t HandledBytes(int i, const RequestResult& result) const override {
    // So many take as long as a byte of a message.
    constexpr int64_t kMultiplicationsOfByte = 4;
    const bool compares = !job_.second || !InFirst(i);
    return UnaryCall::HandledBytes(i, result) +
           (compares ? comparisons_ / job_.columns() / kMultiplicationsOfByte
                     : 0);
  }

  absl::Status HandleResult(int i, RequestResult result) override {
    if (i == 0) AddPairs(job_, &response_);
    TRIVIUM_ASSIGN_OR_RETURN(TextEmbeddings made,
                             WorkFor(i).Embed(inputs_[i], &result));
    if (InFirst(i)) {
      firsts_.emplace_back(std::move(made));
      return job_.second ? absl::OkStatus() : CompareWithin(i);
    }
    const int column = i - job_.rows();
    for (int row = 0; row < job_.rows(); ++row) {
      TRIVIUM_RETURN_IF_ERROR(Compare(row, column, firsts_[row], made));
    }
    return absl::OkStatus();
  }

  // Compares a text of the only list with itself and those before it, both
  // ways: MaxSim is not symmetric.
  absl::Status CompareWithin(int i) {
    const QueryEmbeddings& made = firsts_[i];
    for (int j = 0; j < i; ++j) {
      const QueryEmbeddings& other = firsts_[j];
      TRIVIUM_RETURN_IF_ERROR(Compare(i, j, made, other.embeddings));
      TRIVIUM_RETURN_IF_ERROR(Compare(j, i, other, made.embeddings));
    }
    return Compare(i, i, made, made.embeddings);
  }

  absl::Status Compare(int row, int column, const QueryEmbeddings& first,
                       const TextEmbeddings& second) {
    TRIVIUM_ASSIGN_OR_RETURN(const EmbeddingProducts products,
                             CompareEmbeddings(comparison_, first, second));
    SetPair(job_, row, column, products, &response_);
    return absl::OkStatus();
  }

  const google::protobuf::Message& Response() override {
    FinishTexts(job_, &response_);
    return WithTimings(&response_);
  }

  v1::SimilarityRequest request_;
  v1::SimilarityResponse response_;
  SimilarityJob job_;
  EmbeddingComparison comparison_;
  std::optional<EncodeWork> first_work_;
  std::optional<EncodeWork> second_work_;  // unset without a second list
  ComparedTexts first_texts_, second_texts_;
  int64_t comparisons_ = 0;              // CountComparisons
  std::vector<PreparedInput> inputs_;    // [parts]
  std::vector<QueryEmbeddings> firsts_;  // of the first list
};

}  // namespace

std::unique_ptr<Handler> NewSimilarity(const Environment& environment,
                                       CallContext context,
                                       Transport* transport) {
  return std::make_unique<SimilarityCall>(environment, std::move(context),
                                          Rpc::kSimilarity, transport);
}

}  // namespace trivium
