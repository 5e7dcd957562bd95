#ifndef TRIVIUM_SERVER_LIMITS_EARLY_REFUSAL_H_
#define TRIVIUM_SERVER_LIMITS_EARLY_REFUSAL_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/batching/batcher.h"
#include "server/limits/call_context.h"
#include "server/limits/request_limits.h"

namespace trivium {

// Early refusal: a transport that has read only the head of a call asks whether
// the call would be refused whatever it asks for, and so saves the work of
// handling it. Under overload most calls are such.
//
//   status = CheckEarly(...)         // not OK: end the call with it
//   call = TrackCallInTransit(...)   // kept until the call's stream ends
//   call->OnWhole()                  // its request has arrived
//   context.in_transit = call->id()  // its handler submits as this call

// Returns why a call would be refused, as far as its method and context tell:
// its token is not valid, its deadline has passed, or the batcher expects to
// have no room for it or to answer too late, whichever model it names. OK: make
// its handler.
absl::Status CheckEarly(Batcher* batcher, const RequestLimits& limits, Rpc rpc,
                        const CallContext& context, absl::Time now);

// Returns RESOURCE_EXHAUSTED, with RetryInfo, if the batcher would refuse a
// call for lack of room or time (Batcher::CheckAdmission). `model` may be null:
// any.
absl::Status CheckAdmission(Batcher* batcher, const ServedModel* model,
                            Sender sender, CallId call, absl::Time deadline);

// A call whose handler does not exist yet. From OnWhole on the batcher counts
// it as in transit, until the call has been submitted or has ended, or this
// object is destroyed, whichever comes first.
class CallInTransit {
 public:
  // `batcher` outlives it.
  CallInTransit(Batcher* batcher, Sender sender)
      : batcher_(batcher), id_(batcher->NewCall()), sender_(sender) {}
  ~CallInTransit() {
    if (whole_) batcher_->RemoveInTransit(id_);
  }
  CallInTransit(const CallInTransit&) = delete;
  CallInTransit& operator=(const CallInTransit&) = delete;

  // The whole request has arrived: the call no longer waits for its client.
  void OnWhole() {
    if (whole_) return;
    whole_ = true;
    batcher_->AddInTransit(id_, sender_);
  }
  // The id for CallContext::in_transit.
  CallId id() const { return id_; }

 private:
  Batcher* const batcher_;
  const CallId id_;
  const Sender sender_;
  bool whole_ = false;
};

// Tracks a call that CheckEarly let pass; null if it never reaches the batcher.
std::unique_ptr<CallInTransit> TrackCallInTransit(Batcher* batcher, Rpc rpc,
                                                  const CallContext& context);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_LIMITS_EARLY_REFUSAL_H_
