#include "model/tokenizer/truncation.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Computes how many tokens of each text stay if both have room for `room`
// tokens: as many as with Hugging Face's "longest_first".
void SharePairRoom(size_t room, size_t* first, size_t* second) {
  if (*first + *second <= room) return;
  size_t* shorter = *first <= *second ? first : second;
  size_t* longer = shorter == first ? second : first;
  *shorter = std::min(*shorter, room / 2);
  *longer = room - *shorter;
}

void KeepPart(size_t count, bool left, std::vector<Token>* tokens) {
  if (count >= tokens->size()) return;
  if (left) {
    tokens->erase(tokens->begin(),
                  tokens->end() - static_cast<ptrdiff_t>(count));
  } else {
    tokens->resize(count);
  }
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
    SharePairRoom(room, &first_count, &second_count);
    KeepPart(second_count, options.truncate_left, &**second);
  } else {
    first_count = std::min(first_count, room);
  }
  KeepPart(first_count, options.truncate_left, first);
  return static_cast<int>(total - first_count - second_count);
}

}  // namespace trivium
