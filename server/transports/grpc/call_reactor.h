#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_CALL_REACTOR_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_CALL_REACTOR_H_

#include <google/protobuf/message.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <memory>

#include "base/status.h"
#include "server/calls/transport.h"
#include "server/limits/call_context.h"
#include "server/limits/overload_manager.h"
#include "server/transports/grpc/rpc_environment.h"
#include "server/transports/grpc/wire.h"

namespace trivium {

// What is known of a call as it comes.
CallContext ToCallContext(const Environment& environment,
                          const grpc::CallbackServerContext& context);

// The status to finish with, and the trailers. `shed`: the call was ended for
// its memory.
grpc::Status Close(const Environment& environment, const Ending& ending,
                   bool shed, grpc::CallbackServerContext* context);

// What the kinds of calls share: the handler, and the account of what the call
// holds. `Reactor` is gRPC's side, `Side` the handler's.
//
// OnDone is the last thing that gRPC says, and both sides of the call go then:
// the handler last, because the server may go once no handler is left.
template <typename Reactor, typename Side>
class CallReactor : public Reactor, public Side, public AccountedCall {
 public:
  void OnCancel() override { handler_->OnCancel(); }
  void OnDone() override {
    if (context_->IsCancelled()) environment_->resets.OnDone();
    LeaveAccount();
    held_->Close();
    delete this;
  }

  const CallBytes& held() const override { return *held_; }
  // What it does, and what it has said, goes with the stream.
  void Shed() override { context_->TryCancel(); }

 protected:
  CallReactor(RpcEnvironment* environment, grpc::CallbackServerContext* context)
      : environment_(environment),
        context_(context),
        held_(std::make_shared<CallBytes>(environment->overload.account())) {}
  ~CallReactor() override = default;

  // The last of a constructor: the handler may ask for anything at once.
  template <typename New>
  void Begin(New* new_handler) {
    CallContext context = ToCallContext(environment_->handlers, *context_);
    context.held = held_;
    handler_ = new_handler(environment_->handlers, std::move(context),
                           static_cast<Side*>(this));
    environment_->overload.Add(this);
    handler_->Start();
  }
  // Neither Shed nor ResumeReading come from now on.
  void LeaveAccount() { environment_->overload.Remove(this); }

  absl::Status Parse(const grpc::ByteBuffer& bytes,
                     google::protobuf::Message* request) {
    TRIVIUM_RETURN_IF_ERROR(environment_->overload.AdmitRequest(
        static_cast<int64_t>(bytes.Length())));
    return ParseMessage(bytes, environment_->handlers.limits.max_request_bytes,
                        request);
  }
  // The one request of a call, which is held as long as that.
  absl::Status ParseOnly(const grpc::ByteBuffer& bytes,
                         google::protobuf::Message* request) {
    held_->Set(Held::kRequests, static_cast<int64_t>(bytes.Length()));
    return Parse(bytes, request);
  }
  // Into `bytes`, which gRPC takes.
  grpc::ByteBuffer* Serialize(const google::protobuf::Message& message,
                              grpc::ByteBuffer* bytes) {
    *bytes = SerializeMessage(message);
    held_->Set(Held::kResponses, static_cast<int64_t>(bytes->Length()));
    return bytes;
  }
  // gRPC has written `bytes`.
  void Free(grpc::ByteBuffer* bytes) {
    bytes->Clear();
    held_->Set(Held::kResponses, 0);
  }

  RpcEnvironment* environment() { return environment_; }
  grpc::CallbackServerContext* context() { return context_; }
  Handler* handler() { return handler_.get(); }

 private:
  std::unique_ptr<Handler> handler_;  // the first: it goes last
  RpcEnvironment* const environment_;
  grpc::CallbackServerContext* const context_;
  const std::shared_ptr<CallBytes> held_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_CALL_REACTOR_H_
