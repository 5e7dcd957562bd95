// Let n = 3. After token p of a history h, a match m > 0 means that h[m] is the
// guess for the next token:
//
//   after a hit (h[m] = h[p])   m <- m + 1
//   otherwise                   m <- the position after the latest earlier
//                                    occurrence of h[p - n + 1 .. p], or 0
//   if there was a match        hit rate <- (1 - f) x hit rate
//                                           + f x (1 for a hit, else 0)
//
// The table maps the hash of an n-gram to the position after the latest n-gram
// with that hash. The tokens there are compared, so a collision only loses a
// guess.
#include "server/batching/prompt_lookup.h"

#include <algorithm>
#include <bit>

namespace trivium {
namespace {

// n: shorter sequences recur by chance too often.
constexpr size_t kTokens = 3;
// f: about the last four guesses count.
constexpr double kForgotten = 0.25;
constexpr size_t kMostSlots = 1 << 18;

}  // namespace

PromptLookup::PromptLookup(size_t most_tokens)
    : after_(std::min(std::bit_ceil(2 * most_tokens + 1), kMostSlots), 0) {}

size_t PromptLookup::SlotOf(std::span<const int32_t> last) const {
  uint64_t hash = 0;
  for (const int32_t token : last) {
    hash = (hash ^ static_cast<uint32_t>(token)) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 29;
  }
  return hash & (after_.size() - 1);
}

void PromptLookup::Update(std::span<const int32_t> history) {
  for (; seen_ < history.size(); ++seen_) {
    if (match_ > 0) {
      const bool hit = history[match_] == history[seen_];
      hit_rate_ += kForgotten * ((hit ? 1 : 0) - hit_rate_);
      match_ = hit ? match_ + 1 : 0;
    }
    if (seen_ + 1 < kTokens) continue;
    const auto last = history.subspan(seen_ + 1 - kTokens, kTokens);
    uint32_t& after = after_[SlotOf(last)];
    if (match_ == 0 && after > 0 &&
        std::ranges::equal(history.subspan(after - kTokens, kTokens), last)) {
      match_ = after;
    }
    after = static_cast<uint32_t>(seen_ + 1);
  }
}

}  // namespace trivium
