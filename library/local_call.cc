#include "library/local_call.h"

#include <utility>

namespace trivium {

using google::protobuf::Message;

absl::Status LocalCall::ParseRequest(Message* request) {
  request->CopyFrom(request_);
  return absl::OkStatus();
}

void LocalCall::Write(const Message& response) {
  std::unique_ptr<Message> copy(response.New());
  copy->CopyFrom(response);
  MutexLock lock(&state_->mutex);
  state_->written = std::move(copy);
  state_->changed.SignalAll();
}

void LocalCall::Finish(const Ending& ending, const Message* last) {
  const std::shared_ptr<State> state = state_;
  MutexLock lock(&state->mutex);
  state->has_last = last != nullptr;
  if (last != nullptr) response_->CopyFrom(*last);
  state->status = ending.status;
  state->finished = true;
  state->changed.SignalAll();
}

absl::Status LocalCall::Run(Handler* handler, std::stop_token stop) {
  const std::stop_callback stopping(stop, [state = state_] {
    MutexLock lock(&state->mutex);
    state->stopped = true;
    state->changed.SignalAll();
  });
  handler->Start();
  absl::Status refused;  // the error that on_event returned
  bool cancelled = false;
  const auto take = [&](const Message& message) {
    if (on_event_ != nullptr && refused.ok()) refused = on_event_(message);
  };
  for (;;) {
    std::unique_ptr<const Message> written;
    bool stopped = false;
    {
      MutexLock lock(&state_->mutex);
      while (!state_->finished && state_->written == nullptr &&
             (cancelled || !state_->stopped)) {
        state_->changed.Wait(&state_->mutex);
      }
      if (state_->finished) break;
      written = std::move(state_->written);
      stopped = state_->stopped;
    }
    if (written != nullptr && !cancelled) take(*written);
    if (!cancelled && (stopped || !refused.ok())) {
      cancelled = true;
      handler->OnCancel();
    }
    if (written != nullptr) handler->OnWritten(!cancelled);
  }
  MutexLock lock(&state_->mutex);
  if (state_->has_last) take(*response_);
  return refused.ok() ? state_->status : refused;
}

}  // namespace trivium
