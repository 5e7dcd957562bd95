// Classify: finds the labels of texts. With labels of the request, a text and
// each label's hypothesis are a pair, and a request.
#include "server/calls/convert/classify.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "server/calls/convert/zero_shot.h"
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
    const std::string path = InputsCall::FieldOf(part);
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
    return InputsCall::FieldOf(
        zero_shot_ ? request / static_cast<int>(zero_shot_->labels.size())
                   : request);
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
      AddLabel(head.labels[index], index, scores[index], logits[index], out);
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
    const size_t top = top_ ? *top_ : scores.size();
    // Logits order what rounds to the same score.
    for (const int index :
         LargestFirst(job.apart ? scores : entailments, top)) {
      AddLabel(*job.labels[index], index, scores[index], entailments[index],
               out);
    }
  }

  std::optional<uint32_t> top_;            // labels to return; unset: all
  std::optional<ZeroShotJob> zero_shot_;   // with labels of the request
  std::vector<int> pair_tokens_;           // [inputs] of all their pairs
  std::vector<std::vector<float>> pairs_;  // logits of the current input's
};

}  // namespace

std::unique_ptr<Handler> NewClassify(const Environment& environment,
                                     CallContext context,
                                     Transport* transport) {
  return std::make_unique<ClassifyCall>(environment, std::move(context),
                                        Rpc::kClassify, transport);
}

}  // namespace trivium
