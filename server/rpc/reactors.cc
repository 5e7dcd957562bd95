// gRPC calls a reactor on one of its few callback threads, which must never
// wait, and never from inside StartRead, StartWrite or Finish. OnDone is the
// last thing that it says, and both sides of the call go then: the handler
// last, because the server may go once no handler is left.
#include "server/rpc/reactors.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/status.h"
#include "server/handlers/status.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/relay.h"
#include "server/rpc/wire.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using Bytes = grpc::ByteBuffer;
using Context = grpc::CallbackServerContext;

std::string Metadata(const Context& context, const char* key) {
  const auto& metadata = context.client_metadata();
  const auto entry = metadata.find(key);
  if (entry == metadata.end()) return "";
  return {entry->second.data(), entry->second.size()};
}

CallContext ToCallContext(const Environment& environment,
                          const Context& context) {
  CallContext out;
  out.request_id = Metadata(context, "x-request-id");
  out.traceparent = Metadata(context, "traceparent");
  out.peer = PeerOfRelayed(context.peer());
  const std::string& client_key = environment.limits.client_key_header;
  if (!client_key.empty()) {
    out.client_key = Metadata(context, client_key.c_str());
  }
  const auto deadline = context.deadline();
  if (deadline != std::chrono::system_clock::time_point::max()) {
    out.deadline = absl::FromChrono(deadline);
  }
  return out;
}

// The status to finish with, and the trailers.
grpc::Status Close(const Ending& ending, Context* context) {
  context->AddTrailingMetadata("x-request-id", ending.request_id);
  if (const auto delay = RetryDelay(ending.status)) {
    context->AddTrailingMetadata(
        "grpc-retry-pushback-ms",
        fmt::format("{}",
                    std::max<int64_t>(1, absl::ToInt64Milliseconds(*delay))));
  }
  return ToGrpcStatus(ending.status, ending.request_id);
}

// The bytes of a call in the account, until it goes.
class HeldBytes {
 public:
  explicit HeldBytes(OverloadManager* overload) : overload_(overload) {}
  ~HeldBytes() {
    overload_->ReleaseRequest(request_);
    overload_->ReleaseResponse(response_);
  }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  // Each takes the place of the one before.
  absl::Status SetRequest(int64_t bytes) {
    overload_->ReleaseRequest(std::exchange(request_, 0));
    const absl::Status status = overload_->AdmitRequest(bytes);
    if (status.ok()) request_ = bytes;
    return status;
  }
  void SetResponse(int64_t bytes) {
    overload_->ReleaseResponse(std::exchange(response_, bytes));
    overload_->AddResponse(bytes);
  }

 private:
  OverloadManager* const overload_;
  int64_t request_ = 0;
  int64_t response_ = 0;
};

// Cancels a call whose client does not take its answer in time: ticked from the
// answer on.
class UnreadAnswer : public Handler {
 public:
  UnreadAnswer(const Environment& environment, Context* context)
      : environment_(environment), context_(context) {}
  ~UnreadAnswer() override {
    if (answered_) environment_.calls->Remove(this);
  }

  void Start() override {
    answered_ = true;
    give_up_ = environment_.clock->Now() + environment_.limits.stall_timeout;
    environment_.calls->Add(this);
  }
  void OnCancel() override {}
  void OnTick(absl::Time now) override {
    if (now >= give_up_) context_->TryCancel();
  }

 private:
  const Environment& environment_;
  Context* const context_;
  bool answered_ = false;
  absl::Time give_up_;
};

class UnaryReactor : public grpc::ServerUnaryReactor, public Transport {
 public:
  UnaryReactor(NewHandler* new_handler, RpcEnvironment* environment,
               Context* context, const Bytes* request, Bytes* response)
      : handler_(new_handler(environment->handlers,
                             ToCallContext(environment->handlers, *context),
                             this)),
        environment_(environment),
        context_(context),
        max_request_bytes_(environment->handlers.limits.max_request_bytes),
        held_(&environment->overload),
        unread_(environment->handlers, context),
        request_(request),
        response_(response) {
    handler_->Start();
  }

  absl::Status Take(Message* request) override {
    TRIVIUM_RETURN_IF_ERROR(
        held_.SetRequest(static_cast<int64_t>(request_->Length())));
    return ParseMessage(*request_, max_request_bytes_, request);
  }
  void Finish(const Ending& ending, const Message* last) override {
    if (last != nullptr) {
      *response_ = SerializeMessage(*last);
      held_.SetResponse(static_cast<int64_t>(response_->Length()));
    }
    unread_.Start();
    grpc::ServerUnaryReactor::Finish(Close(ending, context_));
  }

  void OnCancel() override { handler_->OnCancel(); }
  void OnDone() override {
    if (context_->IsCancelled()) environment_->resets.OnDone();
    delete this;
  }

 private:
  const std::unique_ptr<Handler> handler_;
  RpcEnvironment* const environment_;
  Context* const context_;
  const int64_t max_request_bytes_;
  HeldBytes held_;
  UnreadAnswer unread_;
  const Bytes* const request_;
  Bytes* const response_;
};

class GenerateReactor : public grpc::ServerWriteReactor<Bytes>,
                        public ResponseStream {
 public:
  GenerateReactor(RpcEnvironment* environment, Context* context,
                  const Bytes* request)
      : handler_(NewGenerate(environment->handlers,
                             ToCallContext(environment->handlers, *context),
                             this)),
        environment_(environment),
        context_(context),
        max_request_bytes_(environment->handlers.limits.max_request_bytes),
        held_(&environment->overload),
        request_(request) {
    handler_->Start();
  }

  absl::Status Take(Message* request) override {
    TRIVIUM_RETURN_IF_ERROR(
        held_.SetRequest(static_cast<int64_t>(request_->Length())));
    return ParseMessage(*request_, max_request_bytes_, request);
  }
  void Write(const Message& response) override {
    outgoing_ = SerializeMessage(response);
    held_.SetResponse(static_cast<int64_t>(outgoing_.Length()));
    StartWrite(&outgoing_);
  }
  void BreakOff() override { context_->TryCancel(); }
  void Finish(const Ending& ending, const Message* last) override {
    const grpc::Status status = Close(ending, context_);
    if (last == nullptr) {
      return grpc::ServerWriteReactor<Bytes>::Finish(status);
    }
    outgoing_ = SerializeMessage(*last);
    held_.SetResponse(static_cast<int64_t>(outgoing_.Length()));
    StartWriteAndFinish(&outgoing_, grpc::WriteOptions(), status);
  }

  void OnWriteDone(bool ok) override { handler_->OnWritten(ok); }
  void OnCancel() override { handler_->OnCancel(); }
  void OnDone() override {
    if (context_->IsCancelled()) environment_->resets.OnDone();
    delete this;
  }

 private:
  const std::unique_ptr<Handler> handler_;
  RpcEnvironment* const environment_;
  Context* const context_;
  const int64_t max_request_bytes_;
  HeldBytes held_;
  const Bytes* const request_;
  Bytes outgoing_;  // of the write under way
};

class TranslateStreamReactor : public grpc::ServerBidiReactor<Bytes, Bytes>,
                               public RequestStream {
 public:
  TranslateStreamReactor(RpcEnvironment* environment, Context* context)
      : handler_(NewTranslateStream(
            environment->handlers,
            ToCallContext(environment->handlers, *context), this)),
        environment_(environment),
        context_(context),
        max_request_bytes_(environment->handlers.limits.max_request_bytes),
        held_(&environment->overload) {
    handler_->Start();
  }

  void Read() override { StartRead(&incoming_); }
  absl::Status Take(Message* request) override {
    TRIVIUM_RETURN_IF_ERROR(
        held_.SetRequest(static_cast<int64_t>(incoming_.Length())));
    const absl::Status status =
        ParseMessage(incoming_, max_request_bytes_, request);
    if (!status.ok()) {
      request->Clear();
      if (const std::optional<uint64_t> id = FindItemId(incoming_)) {
        // The one message that comes in streams.
        auto* message = static_cast<v1::TranslateStreamRequest*>(request);
        message->mutable_item()->set_id(*id);
      }
    }
    return status;
  }
  void Write(const Message& response) override {
    outgoing_ = SerializeMessage(response);
    held_.SetResponse(static_cast<int64_t>(outgoing_.Length()));
    StartWrite(&outgoing_);
  }
  void BreakOff() override { context_->TryCancel(); }
  void Finish(const Ending& ending, const Message*) override {
    grpc::ServerBidiReactor<Bytes, Bytes>::Finish(Close(ending, context_));
  }

  void OnReadDone(bool ok) override { handler_->OnRead(ok); }
  void OnWriteDone(bool ok) override { handler_->OnWritten(ok); }
  void OnCancel() override { handler_->OnCancel(); }
  void OnDone() override {
    if (context_->IsCancelled()) environment_->resets.OnDone();
    delete this;
  }

 private:
  const std::unique_ptr<Handler> handler_;
  RpcEnvironment* const environment_;
  Context* const context_;
  const int64_t max_request_bytes_;
  HeldBytes held_;
  Bytes incoming_;  // of the read that has ended
  Bytes outgoing_;  // of the write under way
};

}  // namespace

grpc::ServerUnaryReactor* StartUnary(NewHandler* new_handler,
                                     RpcEnvironment* environment,
                                     grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) {
  return new UnaryReactor(new_handler, environment, context, request, response);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* StartGenerate(
    RpcEnvironment* environment, grpc::CallbackServerContext* context,
    const grpc::ByteBuffer* request) {
  return new GenerateReactor(environment, context, request);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>*
StartTranslateStream(RpcEnvironment* environment,
                     grpc::CallbackServerContext* context) {
  return new TranslateStreamReactor(environment, context);
}

}  // namespace trivium
