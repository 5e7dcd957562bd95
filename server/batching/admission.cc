#include "server/batching/admission.h"

#include <algorithm>

#include "fmt/format.h"

// waiting_tokens_ is the sum over all requests that were added and not removed,
// and waiting_of_client_ has each client's part of it, as long as that is not
// 0.
//
// Of a limit L, of which A tokens wait, a client that has C of them may add t
// where its part then is at most 8 times what is left,
//   C + t <= 8 (L - A - t)
// or where nothing waits and t <= L. (Choudhury and Hahne, "Dynamic queue
// length thresholds for shared-memory packet switches", 1998.) So a client by
// itself has 8/9 of L, and n clients that want all come to 8 / (1 + 8 n) each.
// Until the first ones have come to that, others may have little room; so with
// n clients, each may have its share of an eighth beyond the limit,
//   C + t <= L / (8 n)
// These eighths sum up to L (1 + ln n) / 8 at most: all that waits is less than
// 2 L for any thousand of clients. Nobody's requests have to go to make room.
//
// For background requests L is three quarters of what it is for interactive
// ones, while A and C are what waits of both. So however much background work
// waits, there is room for interactive calls.

namespace trivium {
namespace {

constexpr int64_t kTimesWhatIsLeft = 8;
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
  waiting_tokens_ += tokens;
  waiting_of_client_[client] += tokens;
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
                   (kTimesWhatIsLeft * left - own) / (kTimesWhatIsLeft + 1),
                   most / (kPartBeyond * clients) - own});
}

int64_t Admission::Waiting(ClientId client) const {
  const auto found = waiting_of_client_.find(client);
  return found == waiting_of_client_.end() ? 0 : found->second;
}

}  // namespace trivium
