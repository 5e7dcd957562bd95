#ifndef TRIVIUM_MODEL_SEARCH_LENGTH_PENALTY_H_
#define TRIVIUM_MODEL_SEARCH_LENGTH_PENALTY_H_

namespace trivium {

// Of DecodingOptions::length_penalty, either way: length ^ 10 of the longest
// texts is still a number.
inline constexpr float kMaxLengthPenalty = 10;

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_LENGTH_PENALTY_H_
