#ifndef TRIVIUM_MODEL_SEARCH_LENGTH_PENALTY_H_
#define TRIVIUM_MODEL_SEARCH_LENGTH_PENALTY_H_

namespace trivium {

// Bound of |DecodingOptions::length_penalty|: length ^ 10 is still finite for
// the longest texts.
inline constexpr float kMaxLengthPenalty = 10;

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_LENGTH_PENALTY_H_
