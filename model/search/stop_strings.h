#ifndef TRIVIUM_MODEL_SEARCH_STOP_STRINGS_H_
#define TRIVIUM_MODEL_SEARCH_STOP_STRINGS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/search/decoding.h"

namespace trivium {

// The text of new tokens; a tokenizer's Decode.
using DecodeFunction = std::function<std::string(std::span<const int32_t>)>;

struct StopLimits {
  size_t strings = 16;
  size_t bytes = 256;  // of each
};

// INVALID_ARGUMENT names "stop" or "stop[i]".
absl::Status ValidateStopStrings(std::span<const std::string> stops,
                                 const StopLimits& limits = {});

// The byte offset of the first of `stops` that appears in `text`: where the
// text must be cut. npos when there is none.
size_t FindStop(std::string_view text, std::span<const std::string> stops);

// Ends a hypothesis as soon as its text contains one of some strings, whatever
// tokens it came in. Costs a decode of the last few tokens each time.
class StopStringMatcher : public StopMatcher {
 public:
  // `stops` are valid. `decode` must be safe to call from any thread.
  StopStringMatcher(std::vector<std::string> stops, DecodeFunction decode);

  bool Matches(std::span<const int32_t> ids) const override;

 private:
  const std::vector<std::string> stops_;
  const DecodeFunction decode_;
  size_t longest_ = 0;
};

// Cuts a streamed text at the first stop string and keeps back what may turn
// out to be the beginning of one. Push the text of each token apart: joined,
// the results are text.substr(0, FindStop(text, stops)).
class StopStringFilter {
 public:
  explicit StopStringFilter(std::vector<std::string> stops);

  // The text that is certain now; nothing after a stop string appeared.
  std::string Push(std::string_view text);
  // The rest.
  std::string Finish();
  bool stopped() const { return stopped_; }

 private:
  const std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_STOP_STRINGS_H_
