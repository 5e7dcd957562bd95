#ifndef TRIVIUM_SERVER_LIMITS_OPEN_CALLS_H_
#define TRIVIUM_SERVER_LIMITS_OPEN_CALLS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "server/batching/admission.h"
#include "server/observability/log.h"
#include "server/observability/metrics.h"

namespace trivium {

// How many calls are open on all connections together: a call takes memory of
// its transport from its head on, also where no message of it ever comes, or
// no end. A client that has many is refused before one that has few: they are
// shared as the queue's tokens are (Admission). Of one thread.
//
//   auto place = calls.Take(client);   // when the head of a call is there
//   if (!place.ok()) refuse;
//   place->reset();                    // when the call has ended
class OpenCalls {
 public:
  // A call without a message comes to some 11 KB in gRPC.
  static constexpr int64_t kBytesACall = 16 << 10;
  // They take at most this part of the process's memory ...
  static constexpr int64_t kPartOfMemory = 8;
  // ... but so many are open in any case.
  static constexpr int64_t kFewest = 1024;

  // As long as the call is open; goes before what gave it.
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

  // `limit_bytes`: what the process may use.
  OpenCalls(int64_t limit_bytes, Metrics* metrics);

  // RESOURCE_EXHAUSTED with RetryInfo where the client has its share.
  absl::StatusOr<std::unique_ptr<Place>> Take(ClientId client);

 private:
  Admission places_;
  Metrics* const metrics_;
  LogLimit refused_log_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_LIMITS_OPEN_CALLS_H_
