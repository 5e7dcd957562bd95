#include "model/search/stop_strings.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"

namespace trivium {

absl::Status ValidateStopStrings(std::span<const std::string> stops,
                                 const StopLimits& limits) {
  if (stops.size() > limits.strings) {
    return absl::InvalidArgumentError(
        fmt::format("stop: {} strings are too many, give at most {}",
                    stops.size(), limits.strings));
  }
  for (size_t i = 0; i < stops.size(); ++i) {
    if (stops[i].empty() || stops[i].size() > limits.bytes) {
      return absl::InvalidArgumentError(fmt::format(
          "stop[{}]: a length of {} bytes is out of range, give 1 to {}", i,
          stops[i].size(), limits.bytes));
    }
  }
  return absl::OkStatus();
}

size_t FindStop(std::string_view text, std::span<const std::string> stops,
                size_t* found) {
  size_t first = std::string_view::npos;
  for (size_t i = 0; i < stops.size(); ++i) {
    const size_t place = text.find(stops[i]);
    if (place >= first) continue;
    first = place;
    if (found != nullptr) *found = i;
  }
  return first;
}

StopStringMatcher::StopStringMatcher(std::vector<std::string> stops,
                                     DecodeFunction decode)
    : stops_(std::move(stops)), decode_(std::move(decode)) {
  for (const std::string& stop : stops_) {
    longest_ = std::max(longest_, stop.size());
  }
}

bool StopStringMatcher::Matches(std::span<const int32_t> ids) const {
  if (stops_.empty() || ids.empty()) return false;
  // Only a match that the last token completes is new. Decode the shortest
  // tail whose text without that token is longer than any stop string, and
  // longer still by what decoding a tail may change at its start (white space
  // dropped, a character cut) and what the last token may change before itself
  // (a character completed).
  constexpr size_t kMargin = 64;
  // Bounds the search for tokens with text. A stop string hidden by more tokens
  // without text is found when the text is cut.
  constexpr size_t kMostTokens = 1024;
  size_t tail = 16;
  while (tail < ids.size() && tail < kMostTokens &&
         decode_(ids.last(tail).first(tail - 1)).size() < longest_ + kMargin) {
    tail *= 2;
  }
  if (tail >= ids.size()) {
    return FindStop(decode_(ids), stops_) != std::string::npos;
  }
  // A new match does not begin at the tail's start, which may not be decoded as
  // in the whole text.
  const std::string text = decode_(ids.last(tail));
  const size_t changed = std::min(text.size(), kMargin / 2);
  return FindStop(std::string_view(text).substr(changed), stops_) !=
             std::string::npos &&
         FindStop(decode_(ids), stops_) != std::string::npos;
}

StopStringFilter::StopStringFilter(std::vector<std::string> stops,
                                   bool keep_stop)
    : stops_(std::move(stops)), keep_stop_(keep_stop) {}

std::string StopStringFilter::Push(std::string_view text) {
  if (stopped_by_) return "";
  held_ += text;
  size_t which = 0;
  const size_t found = FindStop(held_, stops_, &which);
  if (found != std::string::npos) {
    stopped_by_ = which;
    held_.resize(found + (keep_stop_ ? stops_[which].size() : 0));
    return std::exchange(held_, "");
  }
  size_t keep = 0;
  for (const std::string& stop : stops_) {
    for (size_t n = std::min(stop.size() - 1, held_.size()); n > keep; --n) {
      if (held_.ends_with(std::string_view(stop).substr(0, n))) keep = n;
    }
  }
  std::string certain = held_.substr(0, held_.size() - keep);
  held_.erase(0, certain.size());
  return certain;
}

std::string StopStringFilter::Finish() { return std::exchange(held_, ""); }

}  // namespace trivium
