#ifndef TRIVIUM_SERVER_ADAPTERS_KSERVE_ADAPTER_H_
#define TRIVIUM_SERVER_ADAPTERS_KSERVE_ADAPTER_H_

#include <google/protobuf/message.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/calls/allowed_models.h"
#include "server/calls/call.h"
#include "server/calls/handlers.h"
#include "server/limits/client_id.h"

namespace trivium {

// The call of ours that answers a foreign one.
struct InnerCall {
  // Exactly one of the two is set.
  NewHandler* unary = nullptr;
  decltype(NewGenerate)* stream = nullptr;
  std::unique_ptr<google::protobuf::Message> request;
};

template <typename Request>
InnerCall Unary(NewHandler* handler, Request request) {
  return {.unary = handler,
          .request = std::make_unique<Request>(std::move(request))};
}

// A foreign call: the handler for its own transport, and at the same time the
// transport of the inner call's handler. Its functions are called one at a
// time.
//
//   Begin(transport)       // parses the foreign request, returns the inner
//   call Hear(response)...      // the responses of an inner call that streams
//   Answer(&status, last)
class Adapter : public Handler, public ResponseStream {
 public:
  // A call whose Begin fails is counted as `rpc`.
  Adapter(const Environment& environment, CallContext context, Rpc rpc,
          Transport* transport)
      : environment_(environment),
        client_(ClientOf(context)),
        context_(std::move(context)),
        models_(environment.models, context_.grant),
        rpc_(rpc),
        transport_(transport) {}

  void Start() final;
  void OnCancel() final;

  absl::Status ParseRequest(google::protobuf::Message* request) final;
  void Write(const google::protobuf::Message& response) final;
  void Finish(const Ending& ending,
              const google::protobuf::Message* last) final;
  // No write takes long, as responses stay in this process.
  void BreakOff() final {}

 protected:
  virtual absl::StatusOr<InnerCall> Begin(Transport* transport) = 0;
  virtual void Hear(const google::protobuf::Message& response) {}
  // Returns the foreign response, which lives as long as the call. `last` is
  // the inner call's response; null if `status` is an error. `status` may be
  // replaced.
  virtual const google::protobuf::Message* Answer(
      absl::Status* status, const google::protobuf::Message* last) = 0;

  const Environment& environment() const { return environment_; }
  // The models that the call's token allows.
  const AllowedModels& models() const { return models_; }

 private:
  // Makes inner_, or ends the call.
  void MakeInner();

  const Environment& environment_;
  const ClientId client_;
  CallContext context_;  // moved to failed_ or inner_
  const AllowedModels models_;
  const Rpc rpc_;
  Transport* const transport_;
  std::unique_ptr<google::protobuf::Message> request_;  // the inner call's
  std::optional<Call> failed_;
  std::unique_ptr<Handler> inner_;
  // OnCancel may come while the call begins.
  std::atomic<Handler*> cancellable_ = nullptr;
  std::atomic<bool> cancelled_ = false;
};

// Makes the handler of a foreign call, an Adapter of class Call.
template <typename Call>
std::unique_ptr<Handler> NewAdapter(const Environment& environment,
                                    CallContext context, Transport* transport) {
  return std::make_unique<Call>(environment, std::move(context), transport);
}

// The only version of each model.
inline constexpr char kKserveVersion[] = "1";
// NOT_FOUND for another version; OK if it is empty.
absl::Status CheckKserveVersion(const std::string& version);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_KSERVE_ADAPTER_H_
