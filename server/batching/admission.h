#ifndef TRIVIUM_SERVER_BATCHING_ADMISSION_H_
#define TRIVIUM_SERVER_BATCHING_ADMISSION_H_

#include <cstdint>
#include <span>

#include "absl/container/flat_hash_map.h"
#include "server/batching/request.h"
#include "server/batching/submission.h"

namespace trivium {

// Bounds what waits, in tokens (TokensOf): a call enters as a whole or not at
// all, and a client that has much waiting is refused before one that has
// little, and background requests before interactive ones (admission.cc says
// how it is shared). Keeps nothing of clients of which nothing waits. Not
// thread-safe, owns no requests.
class Admission {
 public:
  explicit Admission(int64_t max_waiting_tokens)
      : max_waiting_tokens_(max_waiting_tokens) {}

  // Of a limit, what an empty queue takes of this priority; at least 1.
  static int64_t MostTokens(int64_t max_waiting_tokens, Priority priority);

  // `tokens`: [requests of the call]. OK where they may wait, or
  // - INVALID_ARGUMENT and the request with which the call outgrows even an
  //   empty queue;
  // - RESOURCE_EXHAUSTED: full now, for this client.
  Submission Check(ClientId client, Priority priority,
                   std::span<const int64_t> tokens) const;

  // A request that was checked waits.
  void Add(ClientId client, int64_t tokens);
  // It began to run, or was dropped.
  void Remove(ClientId client, int64_t tokens);

  // Tokens of this priority that the client may still add.
  int64_t free_tokens(ClientId client, Priority priority) const;

 private:
  int64_t Waiting(ClientId client) const;

  const int64_t max_waiting_tokens_;
  int64_t waiting_tokens_ = 0;
  absl::flat_hash_map<ClientId, int64_t> waiting_of_client_;  // none is 0
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_ADMISSION_H_
