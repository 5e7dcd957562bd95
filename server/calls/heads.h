#ifndef TRIVIUM_SERVER_CALLS_HEADS_H_
#define TRIVIUM_SERVER_CALLS_HEADS_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "server/batching/served_model.h"

namespace trivium {

// Functions that the calls to encoders' heads share (Classify, Rerank,
// ClassifyTokens, FillMask, Answer).

// FAILED_PRECONDITION unless the model has a head of one of `kinds`; the error
// names the call, `rpc`.
absl::Status CheckHead(const ServedModel& model, std::string_view rpc,
                       std::initializer_list<HeadKind> kinds);

// Returns the scores of logits.
std::vector<float> ToScores(std::span<const float> logits,
                            HeadInfo::Scores scores);

// Returns the indices of the `count` largest values, largest first; of equal
// values the earlier one comes first.
std::vector<int> LargestFirst(std::span<const float> values, size_t count);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_HEADS_H_
