// gRPC calls a reactor on one of its few callback threads, which must never
// wait. It never calls back from inside StartRead, StartWrite or Finish.
#include "server/transports/grpc/reactors.h"

#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "base/exceptions.h"
#include "server/transports/grpc/call_reactor.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using Bytes = grpc::ByteBuffer;
using Context = grpc::CallbackServerContext;

// Cancels a call whose client does not read its answer in time. CallRegistry
// ticks it from Start on, when the answer is given to gRPC.
class ResponseTimeout : public Handler {
 public:
  ResponseTimeout(const Environment& environment, Context* context)
      : environment_(environment), context_(context) {}
  ~ResponseTimeout() override {
    if (answered_) environment_.calls->Remove(this);
  }

  void Start() override {
    give_up_ = environment_.clock->Now() + environment_.limits.stall_timeout;
    // Without memory for it, the client's connection bounds the time.
    answered_ = CatchExceptions([this] { environment_.calls->Add(this); }).ok();
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

class UnaryReactor : public CallReactor<grpc::ServerUnaryReactor, Transport> {
 public:
  UnaryReactor(NewHandler* new_handler, RpcEnvironment* environment,
               Context* context, const Bytes* request, Bytes* response)
      : CallReactor(environment, context),
        timeout_(environment->handlers, context),
        request_(request),
        response_(response) {
    Begin(new_handler);
  }

  absl::Status ParseRequest(Message* request) override {
    return ParseOnly(*request_, request);
  }
  void Finish(const Ending& ending, const Message* last) override {
    const absl::Status serialized = CatchExceptions([&] {
      if (last != nullptr) Serialize(*last, response_);
    });
    const Ending failed = {serialized, ""};
    finished_ = true;
    timeout_.Start();
    grpc::ServerUnaryReactor::Finish(Close(environment()->handlers,
                                           serialized.ok() ? ending : failed,
                                           shed_, context()));
  }
  // Tells the client why, unless the call has been answered.
  void Shed() override {
    if (finished_) return context()->TryCancel();
    shed_ = true;
    handler()->OnCancel();
  }

 private:
  ResponseTimeout timeout_;
  std::atomic<bool> finished_ = false;
  std::atomic<bool> shed_ = false;
  const Bytes* const request_;
  Bytes* const response_;
};

class GenerateReactor
    : public CallReactor<grpc::ServerWriteReactor<Bytes>, ResponseStream> {
 public:
  GenerateReactor(RpcEnvironment* environment, Context* context,
                  const Bytes* request)
      : CallReactor(environment, context), request_(request) {
    Begin(NewGenerate);
  }

  absl::Status ParseRequest(Message* request) override {
    return ParseOnly(*request_, request);
  }
  void Write(const Message& response) override {
    StartWrite(Serialize(response, &outgoing_));
  }
  void BreakOff() override { context()->TryCancel(); }
  void Finish(const Ending& ending, const Message* last) override {
    const absl::Status serialized = CatchExceptions([&] {
      if (last != nullptr) Serialize(*last, &outgoing_);
    });
    const Ending failed = {serialized, ""};
    const grpc::Status status =
        Close(environment()->handlers, serialized.ok() ? ending : failed,
              /*shed=*/false, context());
    if (last == nullptr || !serialized.ok()) {
      return grpc::ServerWriteReactor<Bytes>::Finish(status);
    }
    StartWriteAndFinish(&outgoing_, grpc::WriteOptions(), status);
  }

  void OnWriteDone(bool ok) override {
    Free(&outgoing_);
    handler()->OnWritten(ok);
  }

 private:
  const Bytes* const request_;
  Bytes outgoing_;  // the current write's
};

template <typename RequestMessage>
void SetItemId(std::string id, RequestMessage* message) {
  message->mutable_item()->set_id(std::move(id));
}
// A document has no items.
void SetItemId(const std::string&, v1::TranslateDocumentRequest*) {}

// RequestMessage: the stream's request. One kind of it may be an `item` with an
// id.
template <typename RequestMessage>
class ItemStreamReactor
    : public CallReactor<grpc::ServerBidiReactor<Bytes, Bytes>, RequestStream> {
 public:
  ItemStreamReactor(NewStreamHandler* new_handler, RpcEnvironment* environment,
                    Context* context)
      : CallReactor(environment, context) {
    Begin(new_handler);
  }

  void Read() override {
    bool may_read = true;
    CatchExceptions([&] {
      may_read = environment()->overload.MayRead(this);
    }).IgnoreError();
    if (may_read) StartRead(&incoming_);
  }
  void ResumeReading() override { StartRead(&incoming_); }
  absl::Status ParseRequest(Message* request) override {
    // The handler accounts for what it keeps.
    const absl::Status status = Parse(incoming_, request);
    if (!status.ok()) {
      request->Clear();
      if (std::optional<std::string> id = FindItemId(incoming_)) {
        // All requests of the stream have this type.
        SetItemId(*std::move(id), static_cast<RequestMessage*>(request));
      }
    }
    incoming_.Clear();
    return status;
  }
  void Write(const Message& response) override {
    StartWrite(Serialize(response, &outgoing_));
  }
  void BreakOff() override { context()->TryCancel(); }
  void Finish(const Ending& ending, const Message*) override {
    LeaveAccount();  // nothing may be read from now on
    grpc::ServerBidiReactor<Bytes, Bytes>::Finish(
        Close(environment()->handlers, ending, /*shed=*/false, context()));
  }

  void OnReadDone(bool ok) override { handler()->OnRead(ok); }
  void OnWriteDone(bool ok) override {
    Free(&outgoing_);
    handler()->OnWritten(ok);
  }

 private:
  Bytes incoming_;  // the last read's
  Bytes outgoing_;  // the current write's
};

// Ends a call for which there was no memory.
template <typename Base>
class NoMemoryReactor final : public Base {
 public:
  NoMemoryReactor() {
    this->Finish({grpc::StatusCode::RESOURCE_EXHAUSTED,
                  std::string(NoMemoryStatus().message())});
  }
  void OnDone() override { delete this; }
  void OnCancel() override {}
};

// Makes a call's reactor. What this throws, gRPC turns into UNIMPLEMENTED.
template <typename Base, typename Make>
Base* NewReactor(Make&& make) {
  Base* reactor = nullptr;
  if (CatchExceptions([&] { reactor = make(); }).ok()) return reactor;
  return new NoMemoryReactor<Base>();
}

}  // namespace

grpc::ServerUnaryReactor* StartUnary(NewHandler* new_handler,
                                     RpcEnvironment* environment,
                                     grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) {
  return NewReactor<grpc::ServerUnaryReactor>([&] {
    return new UnaryReactor(new_handler, environment, context, request,
                            response);
  });
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* StartGenerate(
    RpcEnvironment* environment, grpc::CallbackServerContext* context,
    const grpc::ByteBuffer* request) {
  return NewReactor<grpc::ServerWriteReactor<Bytes>>(
      [&] { return new GenerateReactor(environment, context, request); });
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>*
StartTranslateStream(RpcEnvironment* environment,
                     grpc::CallbackServerContext* context) {
  return NewReactor<grpc::ServerBidiReactor<Bytes, Bytes>>([&] {
    return new ItemStreamReactor<v1::TranslateStreamRequest>(
        NewTranslateStream, environment, context);
  });
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>*
StartTranslateDocument(RpcEnvironment* environment,
                       grpc::CallbackServerContext* context) {
  return NewReactor<grpc::ServerBidiReactor<Bytes, Bytes>>([&] {
    return new ItemStreamReactor<v1::TranslateDocumentRequest>(
        NewTranslateDocument, environment, context);
  });
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartEncodeStream(
    RpcEnvironment* environment, grpc::CallbackServerContext* context) {
  return NewReactor<grpc::ServerBidiReactor<Bytes, Bytes>>([&] {
    return new ItemStreamReactor<v1::EncodeStreamRequest>(NewEncodeStream,
                                                          environment, context);
  });
}

}  // namespace trivium
