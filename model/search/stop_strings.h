#ifndef TRIVIUM_MODEL_SEARCH_STOP_STRINGS_H_
#define TRIVIUM_MODEL_SEARCH_STOP_STRINGS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/search/decoding.h"

namespace trivium {

// Returns the text of new tokens; a tokenizer's Decode.
using DecodeFunction = std::function<std::string(std::span<const int32_t>)>;

struct StopLimits {
  size_t strings = 16;
  size_t bytes = 256;  // bytes of each string
};

// INVALID_ARGUMENT names "stop" or "stop[i]".
absl::Status ValidateStopStrings(std::span<const std::string> stops,
                                 const StopLimits& limits = {});

// Returns the byte offset of the first of `stops` in `text`, where the text
// must be cut; npos if none appears. `found`, unless null, becomes the index of
// that string: the first in the list, of several at one place.
size_t FindStop(std::string_view text, std::span<const std::string> stops,
                size_t* found = nullptr);

// Ends a hypothesis as soon as its text contains one of some strings, however
// tokens split it. Each check decodes the last few tokens.
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

// Cuts a streamed text at the first stop string and holds back what may be the
// beginning of one. Push the text of each token separately: the results,
// joined, are text.substr(0, FindStop(text, stops)). `keep_stop`: with the stop
// string after it.
class StopStringFilter {
 public:
  StopStringFilter(std::vector<std::string> stops, bool keep_stop);

  // Returns the text that is certain now; nothing after a stop string.
  std::string Push(std::string_view text);
  // Returns the text that is still held back.
  std::string Finish();
  // The stop string that was found; null if there is none.
  const std::string* stopped_by() const {
    return stopped_by_ ? &stops_[*stopped_by_] : nullptr;
  }

 private:
  const std::vector<std::string> stops_;
  const bool keep_stop_;
  std::string held_;
  std::optional<size_t> stopped_by_;  // index in stops_
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_SEARCH_STOP_STRINGS_H_
