#ifndef TRIVIUM_LIBRARY_LOCAL_CALL_H_
#define TRIVIUM_LIBRARY_LOCAL_CALL_H_

#include <google/protobuf/message.h>

#include <functional>
#include <memory>
#include <stop_token>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "server/calls/handlers.h"

namespace trivium {

// Transport of one call in this process. Its client is the thread that calls
// Run.
//
//   LocalCall call(request, &response, nullptr);
//   handler = NewTranslate(environment, context, &call);
//   status = call.Run(handler.get(), stop);
class LocalCall : public ResponseStream {
 public:
  using OnEvent = std::function<absl::Status(const google::protobuf::Message&)>;

  // `response` receives the last message. In a stream, `on_event` receives
  // every message, the last one included. All arguments must outlive the call.
  LocalCall(const google::protobuf::Message& request,
            google::protobuf::Message* response, OnEvent on_event)
      : request_(request),
        response_(response),
        on_event_(std::move(on_event)) {}

  // Runs the call to its end and returns its status.
  absl::Status Run(Handler* handler, std::stop_token stop);

  absl::Status ParseRequest(google::protobuf::Message* request) override;
  void Write(const google::protobuf::Message& response) override;
  void Finish(const Ending& ending,
              const google::protobuf::Message* last) override;
  void BreakOff() override {}

 private:
  // Shared by the handler's threads and the caller's, since the handler's
  // thread may still be returning from Finish when the caller has left Run.
  struct State {
    Mutex mutex;
    CondVar changed;
    std::unique_ptr<google::protobuf::Message> written ABSL_GUARDED_BY(mutex);
    bool stopped ABSL_GUARDED_BY(mutex) = false;
    bool finished ABSL_GUARDED_BY(mutex) = false;
    bool has_last ABSL_GUARDED_BY(mutex) = false;
    absl::Status status ABSL_GUARDED_BY(mutex);
  };

  const google::protobuf::Message& request_;
  google::protobuf::Message* const response_;
  const OnEvent on_event_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace trivium

#endif  // TRIVIUM_LIBRARY_LOCAL_CALL_H_
