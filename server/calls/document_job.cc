#include "server/calls/document_job.h"

#include <algorithm>
#include <utility>

#include "base/exceptions.h"
#include "server/calls/handlers.h"
#include "server/limits/client_id.h"
#include "server/limits/work_pool.h"

namespace trivium {
namespace {

absl::Status NoMemoryForDocument() {
  return AsShed(absl::CancelledError(
      "the server needed the memory of this document; send it again later"));
}

absl::Status NoTimeForDocument() {
  return absl::DeadlineExceededError(
      "the document was not translated in time; split it, or give the server "
      "a longer --default-stream-deadline");
}

}  // namespace

DocumentJob::DocumentJob(const Environment& environment,
                         OverloadManager* overload, Order order)
    : environment_(environment),
      overload_(overload),
      call_held_(std::make_shared<CallBytes>(overload->account())),
      held_(overload->account()),
      file_name_(std::move(order.file_name)),
      began_(environment.clock->Now()),
      client_(ClientOf(order.context)),
      context_(std::move(order.context)),
      bytes_(static_cast<int64_t>(order.data.size())) {
  *start_.mutable_start() = std::move(order.start);
  data_.set_data(std::move(order.data));
  call_held_->Set(Held::kRequests, bytes_);
  overload_->Add(this);
}

DocumentJob::~DocumentJob() {
  overload_->Remove(this);
  call_held_->Close();
  held_.Close();
}

void DocumentJob::Start() {
  const auto bytes = static_cast<int64_t>(data_.data().size());
  context_.held = call_held_;
  const std::shared_ptr<Handler> handler =
      NewTranslateDocument(environment_, std::move(context_), this);
  {
    MutexLock lock(&mutex_);
    handler_ = handler;
  }
  environment_.tokenizing->Run({client_, this}, bytes,
                               [handler] { handler->Start(); });
}

std::shared_ptr<Handler> DocumentJob::handler() const {
  MutexLock lock(&mutex_);
  return handler_;
}

void DocumentJob::DropHandler() {
  std::shared_ptr<Handler> handler;
  {
    MutexLock lock(&mutex_);
    handler = std::move(handler_);
  }
  handler.reset();
  call_held_->Close();
}

void DocumentJob::Cancel() {
  if (ended()) return DropHandler();
  if (const auto running = handler()) running->OnCancel();
}

DocumentJob::Progress DocumentJob::progress() const {
  using State = Progress::State;
  MutexLock lock(&mutex_);
  Progress now;
  now.state = total_ == 0 ? State::kQueued : State::kTranslating;
  if (ended_) {
    now.state = status_.ok() ? State::kDone : State::kFailed;
    now.status = status_;
    now.untranslated = result_.untranslated_count();
  } else if (done_ > 0) {
    const absl::Duration passed = environment_.clock->Now() - began_;
    now.left = passed / done_ * (total_ - done_);
  }
  return now;
}

int64_t DocumentJob::bytes() const {
  MutexLock lock(&mutex_);
  return bytes_;
}

std::optional<absl::Time> DocumentJob::ended() const {
  MutexLock lock(&mutex_);
  return ended_;
}

absl::StatusOr<DocumentJob::Translation> DocumentJob::Take() {
  MutexLock lock(&mutex_);
  if (!ended_) {
    return absl::UnavailableError(
        "the document is not translated yet; ask for its status, and fetch it "
        "once that is 'done'");
  }
  if (!status_.ok()) return status_;
  return Translation{.file_name = file_name_,
                     .type = result_.media_type(),
                     .data = std::move(translation_)};
}

void DocumentJob::Read() {
  // The start, the data, and the end of both.
  const bool more = read_ < 2;
  // Without memory the call ends at its deadline.
  CatchExceptions([&] {
    environment_.tokenizing->Run(
        {client_, this}, 0,
        [handler = handler(), more] { handler->OnRead(more); });
  }).IgnoreError();
}

absl::Status DocumentJob::ParseRequest(google::protobuf::Message* request) {
  auto* const message = static_cast<v1::TranslateDocumentRequest*>(request);
  *message = std::move(read_++ == 0 ? start_ : data_);
  if (read_ == 2) {  // the handler counts it from here on
    call_held_->Add(Held::kRequests,
                    -static_cast<int64_t>(message->data().size()));
  }
  return absl::OkStatus();
}

void DocumentJob::Write(const google::protobuf::Message& response) {
  const auto& message =
      static_cast<const v1::TranslateDocumentResponse&>(response);
  std::shared_ptr<Handler> handler;
  {
    MutexLock lock(&mutex_);
    if (message.has_progress()) {
      // Texts end side by side, so that counts may come out of order.
      done_ = std::max(done_, message.progress().done());
      total_ = message.progress().total();
    } else if (message.has_result()) {
      result_ = message.result();
    } else {
      translation_ += message.data();
      call_held_->Set(Held::kResponses,
                      static_cast<int64_t>(translation_.size()));
    }
    handler = handler_;
  }
  environment_.delivery->Run({client_, this}, 0,
                             [handler] { handler->OnWritten(true); });
}

void DocumentJob::Finish(const Ending& ending,
                         const google::protobuf::Message*) {
  MutexLock lock(&mutex_);
  ended_ = environment_.clock->Now();
  status_ = ending.status;
  CatchExceptions([&] {
    mutex_.AssertHeld();
    if (shed_) {
      status_ = NoMemoryForDocument();
    } else if (absl::IsDeadlineExceeded(status_)) {
      status_ = NoTimeForDocument();
    }
  }).IgnoreError();
  if (!status_.ok()) translation_ = std::string();
  bytes_ = static_cast<int64_t>(translation_.size());
  held_.Set(Held::kResponses, bytes_);
  // The handler is still at work, and the registry of calls may be waiting for
  // it. Without memory it is destroyed with this.
  CatchExceptions([this] {
    environment_.delivery->Run({client_, this}, 0, [self = shared_from_this()] {
      self->DropHandler();
    });
  }).IgnoreError();
}

const CallBytes& DocumentJob::held() const {
  MutexLock lock(&mutex_);
  return ended_ ? held_ : *call_held_;
}

void DocumentJob::Shed() {
  {
    MutexLock lock(&mutex_);
    shed_ = true;
    if (ended_ && status_.ok()) {
      status_ = NoMemoryForDocument();
      translation_ = std::string();
      bytes_ = 0;
      held_.Set(Held::kResponses, 0);
    }
    if (ended_ || handler_ == nullptr) return;
  }
  // The manager is locked now. Destroying the handler locks the registry of
  // calls, which may be waiting for the manager, so that happens elsewhere.
  CatchExceptions([this] {
    environment_.delivery->Run({client_, this}, 0,
                               [self = shared_from_this()] { self->Cancel(); });
  }).IgnoreError();
}

}  // namespace trivium
