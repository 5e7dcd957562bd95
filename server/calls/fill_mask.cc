// FillMask: finds words that fit a text's masks.
#include "server/calls/convert/fill_mask.h"

#include <fmt/format.h>

#include <utility>

#include "base/status.h"
#include "server/calls/handlers.h"
#include "server/calls/heads.h"
#include "server/calls/inputs_call.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

// About how many bytes a candidate takes on the wire.
constexpr int64_t kCandidateBytes = 32;

class FillMaskCall final
    : public InputsCall<v1::FillMaskRequest, v1::FillMaskResponse> {
 public:
  using InputsCall::InputsCall;

 private:
  absl::Status Open() override {
    TRIVIUM_RETURN_IF_ERROR(OpenRequest());
    TRIVIUM_RETURN_IF_ERROR(
        CheckHead(call().model(), "FillMask", {HeadKind::kFillMask}));
    if (!model().info().mask_id) {
      return absl::FailedPreconditionError(
          "the model's folder has no tokenizer that knows a mask");
    }
    TRIVIUM_ASSIGN_OR_RETURN(top_, ReadTop(request()));
    return OpenInputs();
  }

  absl::Status Want(int i, const PreparedInput& input,
                    Request* request) override {
    const int32_t mask = *model().info().mask_id;
    const std::vector<int32_t>& ids = input.source.ids;
    for (size_t position = 0; position < ids.size(); ++position) {
      if (ids[position] != mask) continue;
      request->logits_positions.push_back(static_cast<int>(position));
    }
    if (request->logits_positions.empty()) {
      return InvalidField(
          FieldOf(i),
          fmt::format("has no mask; put {} where a word is missing",
                      model().tokenizer()->IdToPiece(mask, TextSide::kSource)));
    }
    request->logits = true;
    request->logits_best = static_cast<int>(top_);
    positions_.push_back(request->logits_positions);
    ExpectResponseBytes(static_cast<int64_t>(positions_.back().size()) * top_ *
                        kCandidateBytes);
    return absl::OkStatus();
  }

  absl::Status HandleResult(int i, RequestResult result) override {
    v1::FilledMasks* out = AddResultOf(i);
    for (size_t m = 0; m < positions_[i].size(); ++m) {
      AddMask(positions_[i][m], result.best_logits[m], *model().tokenizer(),
              out);
    }
    return absl::OkStatus();
  }

  uint32_t top_ = 0;                         // candidates of each mask
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
