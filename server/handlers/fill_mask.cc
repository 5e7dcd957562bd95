// FillMask: the words that fit a text's masks.
#include <fmt/format.h>

#include <utility>

#include "base/status.h"
#include "server/handlers/handlers.h"
#include "server/handlers/head_call.h"
#include "server/handlers/status.h"

namespace trivium {
namespace {

constexpr uint32_t kDefaultTop = 5;
constexpr uint32_t kMaxTop = 100;

class FillMaskCall : public HeadCall {
 public:
  using HeadCall::HeadCall;

 private:
  absl::Status Open() override {
    const RequestLimits& limits = environment().limits;
    TRIVIUM_RETURN_IF_ERROR(
        OpenHead(&request_, "FillMask", {HeadKind::kFillMask}));
    if (!model().info().mask_id) {
      return absl::FailedPreconditionError(
          "the model's folder has no tokenizer that knows a mask");
    }
    set_truncate(request_.has_truncate(), request_.truncate());
    if (request_.has_top() &&
        (request_.top() == 0 || request_.top() > kMaxTop)) {
      return InvalidField(
          "top", fmt::format("is {}; give 1 .. {}", request_.top(), kMaxTop));
    }
    return CheckInputCount(request_.inputs_size(), "inputs", limits);
  }

  int64_t TextBytes() const override {
    return trivium::TextBytes(request_.inputs());
  }

  absl::StatusOr<std::vector<Request>> Prepare() override {
    const int32_t mask = *model().info().mask_id;
    std::vector<Request> requests;
    for (int i = 0; i < request_.inputs_size(); ++i) {
      TRIVIUM_RETURN_IF_ERROR(
          AddInput(request_.inputs(i), FieldOf(i), &requests));
      Request& request = requests.back();
      const std::vector<int32_t>& ids = request.source.ids;
      for (size_t position = 0; position < ids.size(); ++position) {
        if (ids[position] != mask) continue;
        request.logits_positions.push_back(static_cast<int>(position));
      }
      if (request.logits_positions.empty()) {
        return InvalidField(
            FieldOf(i),
            fmt::format(
                "has no mask; put {} where a word is missing",
                model().tokenizer()->IdToPiece(mask, TextSide::kSource)));
      }
      positions_.push_back(request.logits_positions);
    }
    return requests;
  }

  const google::protobuf::Message& Respond(
      std::vector<RequestResult> results) override {
    const Tokenizer& tokenizer = *model().tokenizer();
    const size_t top = request_.has_top() ? request_.top() : kDefaultTop;
    for (size_t i = 0; i < results.size(); ++i) {
      v1::FilledMasks* out = response_.add_results();
      const std::span<const float> logits(results[i].logits);
      const size_t outputs = logits.size() / positions_[i].size();
      for (size_t m = 0; m < positions_[i].size(); ++m) {
        v1::FilledMasks::Mask* filled = out->add_masks();
        filled->set_position(static_cast<uint32_t>(positions_[i][m]));
        const auto of_mask = logits.subspan(m * outputs, outputs);
        const std::vector<float> scores =
            ToScores(of_mask, HeadInfo::Scores::kSoftmax);
        for (const int32_t id : LargestFirst(of_mask, top)) {
          v1::FilledMasks::Candidate* candidate = filled->add_candidates();
          candidate->set_id(static_cast<uint32_t>(id));
          candidate->set_piece(tokenizer.IdToPiece(id, TextSide::kSource));
          candidate->set_text(tokenizer.Decode(std::span(&id, 1)));
          candidate->set_score(scores[id]);
        }
      }
      out->set_token_count(token_count(i));
      out->set_truncated_tokens(inputs()[i].truncated);
    }
    return WithTimings(&response_);
  }

  v1::FillMaskRequest request_;
  v1::FillMaskResponse response_;
  std::vector<std::vector<int>> positions_;  // [inputs] of the masks
};

}  // namespace

std::unique_ptr<Handler> NewFillMask(const Environment& environment,
                                     CallContext context,
                                     Transport* transport) {
  return std::make_unique<FillMaskCall>(environment, std::move(context),
                                        Rpc::kFillMask, transport);
}

}  // namespace trivium
