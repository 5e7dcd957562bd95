#ifndef TRIVIUM_SERVER_CALLS_EARLY_REFUSAL_H_
#define TRIVIUM_SERVER_CALLS_EARLY_REFUSAL_H_

#include <memory>
#include <optional>

#include "server/calls/environment.h"
#include "server/calls/transport.h"
#include "server/limits/call_context.h"

namespace trivium {

// A call whose handler has not been made yet. From OnWhole on it counts as one
// that is on its way to the batcher, until it has got there, or has ended, or
// this goes: whichever is first.
class CallInTransit {
 public:
  CallInTransit(Batcher* batcher, Sender sender)
      : batcher_(batcher), id_(batcher->NewCall()), sender_(sender) {}
  ~CallInTransit() {
    if (whole_) batcher_->RemoveInTransit(id_);
  }
  CallInTransit(const CallInTransit&) = delete;
  CallInTransit& operator=(const CallInTransit&) = delete;

  // Its request has come, so that it waits for nobody but the server.
  void OnWhole() {
    if (whole_) return;
    whole_ = true;
    batcher_->AddInTransit(id_, sender_);
  }
  // For its handler's context.
  CallId id() const { return id_; }

 private:
  Batcher* const batcher_;
  const CallId id_;
  const Sender sender_;
  bool whole_ = false;
};

// How a call ends of which no more is known than its method and its context,
// where it would be refused whatever it asks: its token is none, its time is
// over, no model could answer it in time, or there is no room, as far as the
// batcher foresees. So a transport may save the work of handling it; it is
// counted and logged as any other. Nothing: make its handler.
std::optional<Ending> RefuseEarly(const Environment& environment, Rpc rpc,
                                  CallContext context);

// How a call ends that is refused with `status` for another reason, counted and
// logged likewise.
Ending EndEarly(const Environment& environment, Rpc rpc, CallContext context,
                const absl::Status& status);

// Of a call that is not refused: null where it is none for the batcher.
std::unique_ptr<CallInTransit> TrackCallInTransit(
    const Environment& environment, Rpc rpc, const CallContext& context);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_EARLY_REFUSAL_H_
