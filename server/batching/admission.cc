#include "server/batching/admission.h"

#include <algorithm>

#include "fmt/format.h"

// Invariant: waiting_tokens_ is the sum over all requests that were added and
// not removed; waiting_of_client_ holds each client's part of it unless that
// part is 0.
//
// Let the limit be L tokens, of which A wait in all and C for this client. The
// client may add t tokens if its part stays within 8 times the rest,
//
//   C + t <= 8 (L - A - t)
//
// or if nothing waits and t <= L. (Choudhury and Hahne, "Dynamic queue length
// thresholds for shared-memory packet switches", 1998.) So a lone client gets
// 8/9 of L, and n greedy clients converge to 8 / (1 + 8 n) of L each. Until the
// earlier clients have shrunk to that, a new one may find little room. So each
// of n clients may also use its share of an eighth beyond the limit:
//
//   C + t <= L / (8 n)
//
// These eighths add up to at most L (1 + ln n) / 8: the waiting tokens stay
// below 2 L for a thousand clients. No waiting request is dropped to make room.
//
// For background requests L is three quarters of the limit, while A and C count
// both priorities. So interactive calls find room however much background work
// waits.

namespace trivium {
namespace {

constexpr int64_t kTimesTheRest = 8;
constexpr int64_t kPartBeyond = 8;
constexpr double kBackgroundPart = 0.75;

}  // namespace

int64_t Admission::MostTokens(int64_t max_waiting_tokens, Priority priority) {
  if (priority == Priority::kInteractive) return max_waiting_tokens;
  return std::max<int64_t>(
      1, static_cast<int64_t>(kBackgroundPart *
                              static_cast<double>(max_waiting_tokens)));
}

Submission Admission::Check(ClientId client, Priority priority,
                            std::span<const int64_t> tokens) const {
  const int64_t most = MostTokens(max_waiting_tokens_, priority);
  int64_t total = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    total += tokens[i];
    if (total > most) {
      return {absl::InvalidArgumentError(fmt::format(
                  "with this request of {} tokens the call has {}, but even an "
                  "empty queue takes only {}{}: split the call, or lower the "
                  "beam size or max_new_tokens",
                  tokens[i], total, most,
                  priority == Priority::kBackground ? " of a batch call" : "")),
              static_cast<int>(i)};
    }
  }
  if (total <= free_tokens(client, priority)) return {};
  return absl::ResourceExhaustedError(fmt::format(
      "the queue is full: {} of {} tokens wait, {} of them this client's, and "
      "the call has {}: try again later",
      waiting_tokens_, max_waiting_tokens_, Waiting(client), total));
}

void Admission::Add(ClientId client, int64_t tokens) {
  waiting_of_client_[client] += tokens;  // first, since it may throw
  waiting_tokens_ += tokens;
}

void Admission::Remove(ClientId client, int64_t tokens) {
  waiting_tokens_ -= tokens;
  const auto found = waiting_of_client_.find(client);
  found->second -= tokens;
  if (found->second == 0) waiting_of_client_.erase(found);
}

int64_t Admission::free_tokens(ClientId client, Priority priority) const {
  const int64_t most = MostTokens(max_waiting_tokens_, priority);
  const int64_t left = most - waiting_tokens_;
  if (waiting_tokens_ == 0) return left;
  const int64_t own = Waiting(client);
  const auto clients =
      static_cast<int64_t>(waiting_of_client_.size()) + (own == 0);
  return std::max({int64_t{0},
                   (kTimesTheRest * left - own) / (kTimesTheRest + 1),
                   most / (kPartBeyond * clients) - own});
}

int64_t Admission::Waiting(ClientId client) const {
  const auto found = waiting_of_client_.find(client);
  return found == waiting_of_client_.end() ? 0 : found->second;
}

}  // namespace trivium
