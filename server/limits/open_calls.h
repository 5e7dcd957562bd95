#ifndef TRIVIUM_SERVER_LIMITS_OPEN_CALLS_H_
#define TRIVIUM_SERVER_LIMITS_OPEN_CALLS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "server/batching/admission.h"
#include "server/observability/log.h"
#include "server/observability/metrics.h"

namespace trivium {

// Bounds the open calls on all connections together. A call takes memory of its
// transport from its head on, even if none of its messages ever arrives. A
// client with many open calls is refused before one with few: calls are shared
// like the queue's tokens (Admission). Used by one thread.
//
//   auto place = calls.Admit(client);   // when the head of a call has arrived
//   if (!place.ok()) refuse;
//   place->reset();                    // when the call has ended
class OpenCalls {
 public:
  // Memory of a call. One without a message takes about 11 KB in gRPC.
  static constexpr int64_t kBytesACall = 16 << 10;
  // Open calls take at most one such part of the process's memory.
  static constexpr int64_t kPartOfMemory = 8;
  // At least this many calls may be open, however little memory there is.
  static constexpr int64_t kFewest = 1024;

  // A call's place while it is open. Must not outlive its OpenCalls.
  class Place {
   public:
    Place(OpenCalls* owner, ClientId client) : owner_(owner), client_(client) {}
    ~Place() { owner_->places_.Remove(client_, 1); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    OpenCalls* const owner_;
    const ClientId client_;
  };

  // `limit_bytes`: the memory that the process may use.
  OpenCalls(int64_t limit_bytes, Metrics* metrics);

  // Returns RESOURCE_EXHAUSTED with RetryInfo if the client has its share.
  absl::StatusOr<std::unique_ptr<Place>> Admit(ClientId client);

 private:
  Admission places_;
  Metrics* const metrics_;
  LogLimit refused_log_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_LIMITS_OPEN_CALLS_H_
