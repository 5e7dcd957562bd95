#include "server/calls/convert/fill_mask.h"

#include <span>

#include "base/status.h"

namespace trivium {
namespace {

constexpr uint32_t kDefaultTop = 5;
constexpr uint32_t kMaxTop = 100;

}  // namespace

absl::StatusOr<uint32_t> ReadTop(const v1::FillMaskRequest& in) {
  TRIVIUM_RETURN_IF_ERROR(CheckRange("top", TopOf(in), kMaxTop));
  return TopOf(in).value_or(kDefaultTop);
}

void AddMask(int position, const BestLogits& candidates,
             const Tokenizer& tokenizer, v1::FilledMasks* out) {
  v1::FilledMasks::Mask* mask = out->add_masks();
  mask->set_position(static_cast<uint32_t>(position));
  for (const Candidate& best : candidates.best) {
    v1::FilledMasks::Candidate* candidate = mask->add_candidates();
    candidate->set_id(static_cast<uint32_t>(best.token));
    candidate->set_piece(tokenizer.IdToPiece(best.token, TextSide::kSource));
    candidate->set_text(tokenizer.Decode(std::span(&best.token, 1)));
    candidate->set_score(candidates.Probability(best));
  }
}

}  // namespace trivium
