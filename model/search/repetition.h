#ifndef TRIVIUM_MODEL_SEARCH_REPETITION_H_
#define TRIVIUM_MODEL_SEARCH_REPETITION_H_

#include <array>
#include <cstdint>
#include <span>

namespace trivium {

// Notices a text that only repeats itself: its end is one sequence of up to
// kLongest tokens, kTimes times or more and over at least kTokens tokens.
class RepetitionDetector {
 public:
  static constexpr int kLongest = 256;
  static constexpr int kTimes = 6;
  static constexpr int kTokens = 128;

  // Looks at the last of the tokens; the others were seen before. Returns true
  // once the text repeats itself. O(kLongest).
  bool Add(std::span<const int32_t> tokens);

 private:
  // [period - 1] how many of the last tokens equal the token that stands
  // `period` before them.
  std::array<int32_t, kLongest> equal_ = {};
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_REPETITION_H_
