#include "model/tokenizer/truncation.h"

#include <algorithm>

#include "base/status.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// How many tokens of each text stay when `room` are left for both.
absl::Status PairRoom(size_t room, PairTruncation truncation, size_t* first,
                      size_t* second) {
  if (*first + *second <= room) return absl::OkStatus();
  if (truncation == PairTruncation::kLongestFirst) {
    size_t shorter = std::min(*first, *second);
    size_t longer = room;
    if (shorter <= room / 2) {
      longer = room - shorter;
    } else {
      shorter = room / 2;
      longer = shorter + room % 2;
    }
    const bool swapped = *first > *second;
    *first = swapped ? longer : shorter;
    *second = swapped ? shorter : longer;
    return absl::OkStatus();
  }
  const bool cuts_first = truncation == PairTruncation::kOnlyFirst;
  size_t* cut = cuts_first ? first : second;
  const size_t other = cuts_first ? *second : *first;
  if (other >= room) {
    return absl::InvalidArgumentError(fmt::format(
        "the {} text of the pair has {} tokens, which leaves nothing of the "
        "limit of {} for the {} one; shorten it",
        cuts_first ? "second" : "first", other, room,
        cuts_first ? "first" : "second"));
  }
  *cut = room - other;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> Truncate(const EncodeOptions& options, size_t added,
                             std::vector<Token>* first,
                             std::optional<std::vector<Token>>* second) {
  if (options.max_tokens == 0) return 0;
  if (options.max_tokens < 0 ||
      static_cast<size_t>(options.max_tokens) < added) {
    return absl::InvalidArgumentError(fmt::format(
        "a limit of {} tokens leaves no room for the {} tokens that every text "
        "gets, raise it",
        options.max_tokens, added));
  }
  const bool pair = second->has_value();
  const size_t room = options.max_tokens - added;
  size_t first_count = first->size();
  size_t second_count = pair ? (*second)->size() : 0;
  const size_t total = first_count + second_count;
  if (pair) {
    TRIVIUM_RETURN_IF_ERROR(
        PairRoom(room, options.pair_truncation, &first_count, &second_count));
    (*second)->resize(second_count);
  } else {
    first_count = std::min(first_count, room);
  }
  first->resize(first_count);
  return static_cast<int>(total - first_count - second_count);
}

}  // namespace trivium
