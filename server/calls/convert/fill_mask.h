#ifndef TRIVIUM_SERVER_CALLS_CONVERT_FILL_MASK_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_FILL_MASK_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/calls/convert/input_fields.h"

namespace trivium {

// Returns how many candidates for each mask are wanted.
absl::StatusOr<uint32_t> ReadTop(const v1::FillMaskRequest& in);

// Adds a mask, token `position` of its input, and the candidates for it.
void AddMask(int position, const BestLogits& candidates,
             const Tokenizer& tokenizer, v1::FilledMasks* out);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_FILL_MASK_H_
