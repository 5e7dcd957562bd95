#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_CALL_REACTOR_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_CALL_REACTOR_H_

#include <google/protobuf/message.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <memory>

#include "base/exceptions.h"
#include "base/status.h"
#include "server/calls/transport.h"
#include "server/limits/call_context.h"
#include "server/limits/overload_manager.h"
#include "server/transports/grpc/rpc_environment.h"
#include "server/transports/grpc/wire.h"

namespace trivium {

// Returns what gRPC knows of a call before its request is read.
CallContext ToCallContext(const Environment& environment,
                          const grpc::CallbackServerContext& context);

// Returns the status to finish with, and adds the trailers to `context`.
// `shed`: the call was ended to free its memory. Does not throw: without memory
// the client gets less than all of it.
grpc::Status Close(const Environment& environment, const Ending& ending,
                   bool shed, grpc::CallbackServerContext* context);

// The base of all kinds of calls: owns the handler, and accounts for the memory
// that the call holds. `Reactor` is gRPC's interface, `Side` the handler's.
//
// OnDone is gRPC's last callback, and deletes both sides of the call. The
// handler is destroyed last, because the server may be destroyed once no
// handler is left.
template <typename Reactor, typename Side>
class CallReactor : public Reactor, public Side, public AccountedCall {
 public:
  void OnCancel() override {
    if (handler_ != nullptr) handler_->OnCancel();
  }
  void OnDone() override {
    if (context_->IsCancelled()) environment_->resets.OnDone();
    LeaveAccount();
    held_->Close();
    delete this;
  }

  const CallBytes& held() const override { return *held_; }
  // Cancelling drops its work and unsent responses.
  void Shed() override { context_->TryCancel(); }

 protected:
  CallReactor(RpcEnvironment* environment, grpc::CallbackServerContext* context)
      : environment_(environment),
        context_(context),
        held_(std::make_shared<CallBytes>(environment->overload.account())) {}
  ~CallReactor() override = default;

  // Makes and starts the handler. The last statement of a constructor, because
  // the handler may use the transport at once. Without memory for a handler,
  // the call ends.
  template <typename New>
  void Begin(New* new_handler) {
    CallId call = 0;
    const absl::Status status = CatchExceptions([&] {
      CallContext context = ToCallContext(environment_->handlers, *context_);
      context.held = held_;
      call = context.in_transit;
      handler_ = new_handler(environment_->handlers, std::move(context),
                             static_cast<Side*>(this));
      environment_->overload.Add(this);
    });
    if (status.ok()) {
      handler_->Start();
    } else {
      handler_.reset();
      static_cast<Side*>(this)->Finish({status, ""}, nullptr);
    }
    environment_->turns.Begun(call);
  }
  // Neither Shed nor ResumeReading is called afterwards.
  void LeaveAccount() { environment_->overload.Remove(this); }

  absl::Status Parse(const grpc::ByteBuffer& bytes,
                     google::protobuf::Message* request) {
    TRIVIUM_RETURN_IF_ERROR(environment_->overload.AdmitRequest(
        static_cast<int64_t>(bytes.Length())));
    return ParseMessage(bytes, environment_->handlers.limits.max_request_bytes,
                        request);
  }
  // Parses the only request of a call, which gRPC holds as long as the call.
  absl::Status ParseOnly(const grpc::ByteBuffer& bytes,
                         google::protobuf::Message* request) {
    held_->Set(Held::kRequests, static_cast<int64_t>(bytes.Length()));
    return Parse(bytes, request);
  }
  // Serializes into `bytes`, which must live until gRPC has written it (Free).
  grpc::ByteBuffer* Serialize(const google::protobuf::Message& message,
                              grpc::ByteBuffer* bytes) {
    *bytes = SerializeMessage(message);
    held_->Set(Held::kResponses, static_cast<int64_t>(bytes->Length()));
    return bytes;
  }
  // Frees `bytes`, which gRPC has written.
  void Free(grpc::ByteBuffer* bytes) {
    bytes->Clear();
    held_->Set(Held::kResponses, 0);
  }

  RpcEnvironment* environment() { return environment_; }
  grpc::CallbackServerContext* context() { return context_; }
  Handler* handler() { return handler_.get(); }

 private:
  std::unique_ptr<Handler> handler_;  // first member: destroyed last
  RpcEnvironment* const environment_;
  grpc::CallbackServerContext* const context_;
  const std::shared_ptr<CallBytes> held_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_CALL_REACTOR_H_
