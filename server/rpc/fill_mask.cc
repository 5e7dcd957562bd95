// FillMask: the words that fit a text's masks.
#include <fmt/format.h>

#include <utility>

#include "base/status.h"
#include "server/rpc/handlers.h"
#include "server/rpc/head_call.h"
#include "server/rpc/status.h"
#include "server/rpc/wire.h"

namespace trivium {
namespace {

constexpr uint32_t kDefaultTop = 5;
constexpr uint32_t kMaxTop = 100;

class FillMaskCall : public HeadCall {
 public:
  using HeadCall::HeadCall;

 private:
  absl::Status Parse(const grpc::ByteBuffer& request) override {
    const RequestLimits& limits = environment().limits;
    TRIVIUM_RETURN_IF_ERROR(
        ParseMessage(request, limits.max_request_bytes, &request_));
    TRIVIUM_RETURN_IF_ERROR(
        FindHead(request_.model(), "FillMask", {HeadKind::kFillMask}));
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
    int64_t bytes = 0;
    for (const v1::Input& input : request_.inputs()) {
      bytes += trivium::TextBytes(input);
    }
    return bytes;
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

  std::string FieldOf(int request) const override {
    return fmt::format("inputs[{}]", request);
  }

  absl::Status Respond(std::vector<RequestResult> results,
                       grpc::ByteBuffer* response) override {
    const Tokenizer& tokenizer = *model().tokenizer();
    const size_t top = request_.has_top() ? request_.top() : kDefaultTop;
    v1::FillMaskResponse message;
    for (size_t i = 0; i < results.size(); ++i) {
      v1::FilledMasks* out = message.add_results();
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
    return Send(&message, response);
  }

  v1::FillMaskRequest request_;
  std::vector<std::vector<int>> positions_;  // [inputs] of the masks
};

}  // namespace

grpc::ServerUnaryReactor* HandleFillMask(const Environment& environment,
                                         grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) {
  auto* call =
      new FillMaskCall(environment, context, Rpc::kFillMask, request, response);
  call->Start();
  return call;
}

}  // namespace trivium
