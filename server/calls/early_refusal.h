#ifndef TRIVIUM_SERVER_CALLS_EARLY_REFUSAL_H_
#define TRIVIUM_SERVER_CALLS_EARLY_REFUSAL_H_

#include <memory>
#include <optional>

#include "server/calls/environment.h"
#include "server/calls/transport.h"
#include "server/limits/call_context.h"

namespace trivium {

// A call whose handler has not been made yet. From OnWhole on the batcher
// counts it as in transit, until it arrives there, or has ended, or this is
// destroyed.
class ExpectedCall {
 public:
  ExpectedCall(Batcher* batcher, Sender sender)
      : batcher_(batcher), id_(batcher->NewCall()), sender_(sender) {}
  ~ExpectedCall() {
    if (whole_) batcher_->Forget(id_);
  }
  ExpectedCall(const ExpectedCall&) = delete;
  ExpectedCall& operator=(const ExpectedCall&) = delete;

  // The call's request has come, so only the server holds it up.
  void OnWhole() {
    if (whole_) return;
    whole_ = true;
    batcher_->Expect(id_, sender_);
  }
  // For its handler's CallContext::expected.
  CallId id() const { return id_; }

 private:
  Batcher* const batcher_;
  const CallId id_;
  const Sender sender_;
  bool whole_ = false;
};

// Returns the ending of a call that would be refused whatever it asks: its
// token is not valid, its deadline has passed, or the batcher expects that no
// model could answer it in time or that it has no room. Only its method and
// context are known, so a transport saves the work of handling it; it is
// counted and logged like any other. Nothing: the transport makes the call's
// handler.
std::optional<Ending> RefuseEarly(const Environment& environment, Rpc rpc,
                                  CallContext context);

// Returns the ending of a call that is refused with `status` for another
// reason, counted and logged likewise.
Ending EndEarly(const Environment& environment, Rpc rpc, CallContext context,
                const absl::Status& status);

// Tracks an admitted call; null if it never reaches the batcher.
std::unique_ptr<ExpectedCall> ExpectCall(const Environment& environment,
                                         Rpc rpc, const CallContext& context);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_EARLY_REFUSAL_H_
