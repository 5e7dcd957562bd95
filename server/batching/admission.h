#ifndef TRIVIUM_SERVER_BATCHING_ADMISSION_H_
#define TRIVIUM_SERVER_BATCHING_ADMISSION_H_

#include <cstdint>
#include <span>

#include "absl/container/flat_hash_map.h"
#include "server/batching/request.h"
#include "server/batching/submission.h"

namespace trivium {

// Bounds the waiting requests, in tokens (TokensOf):
// - a call enters the queue as a whole or not at all;
// - a client with many waiting tokens is refused before one with few;
// - background requests are refused before interactive ones.
//
// admission.cc has the formula. A client without waiting requests takes no
// memory here. Not thread-safe; owns no requests.
class Admission {
 public:
  explicit Admission(int64_t max_waiting_tokens)
      : max_waiting_tokens_(max_waiting_tokens) {}

  // Tokens of this priority that an empty queue accepts under a limit; at
  // least 1.
  static int64_t MostTokens(int64_t max_waiting_tokens, Priority priority);

  // `tokens`: [requests of the call]. Returns OK if all of them may wait, or
  // - INVALID_ARGUMENT and the first request with which the call exceeds even
  //   an empty queue;
  // - RESOURCE_EXHAUSTED: the queue is full now for this client.
  Submission Check(ClientId client, Priority priority,
                   std::span<const int64_t> tokens) const;

  // A request that passed Check starts to wait.
  void Add(ClientId client, int64_t tokens);
  // The request stops waiting: it started to run, or was dropped.
  void Remove(ClientId client, int64_t tokens);

  // Further tokens of this priority that Check would accept from the client.
  int64_t free_tokens(ClientId client, Priority priority) const;

 private:
  int64_t Waiting(ClientId client) const;

  const int64_t max_waiting_tokens_;
  int64_t waiting_tokens_ = 0;
  absl::flat_hash_map<ClientId, int64_t> waiting_of_client_;  // never 0
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_ADMISSION_H_
