// TranslateStream: any number of texts to texts; results as they finish.
#include <fmt/format.h>

#include <deque>
#include <optional>
#include <utility>

#include "base/status.h"
#include "server/rpc/call.h"
#include "server/rpc/handlers.h"
#include "server/rpc/status.h"
#include "server/rpc/translation.h"
#include "server/rpc/unary.h"
#include "server/rpc/wire.h"

namespace trivium {
namespace {

using v1::TranslateStreamRequest;

// Items that were read and whose results wait to be written: with so many the
// stream reads no further. Enough to fill many workers' iterations.
constexpr size_t kMaxUnanswered = 1024;

grpc::ByteBuffer ResultMessage(uint64_t id, int64_t max_bytes,
                               absl::StatusOr<v1::TranslateResult> result) {
  v1::TranslateStreamResponse message;
  grpc::ByteBuffer bytes;
  message.set_id(id);
  absl::Status status = result.status();
  if (status.ok()) {
    *message.mutable_result() = *std::move(result);
    status = SerializeMessage(message, max_bytes, &bytes);
    if (status.ok()) return bytes;
  }
  message.mutable_error()->set_code(static_cast<int>(status.code()));
  message.mutable_error()->set_message(
      Shorten(std::string(status.message()), 1500));
  SerializeMessage(message, INT64_MAX, &bytes).IgnoreError();
  return bytes;
}

// Reads items one by one, submits each as a request of its own, and writes
// results as they come. It is never refused for fullness: while the queue is
// short of room it holds one item and reads no further, which the client feels
// as HTTP/2's flow control.
//
// Every event changes the state under the lock and asks NextLocked what to do
// now. One event is told to finish the call, after all else is over; the
// others do not touch the call after they have unlocked.
class TranslateStreamCall
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
      public Stream {
 public:
  TranslateStreamCall(const Environment& environment,
                      grpc::CallbackServerContext* context)
      : call_(environment, context, Rpc::kTranslateStream),
        context_(context),
        call_id_(environment.batcher->NewCall()) {}

  void Start() {
    if (!call_.admitted().ok()) return Finish(call_.Close(call_.admitted()));
    environment().calls->Add(this);
    Next next;
    {
      MutexLock lock(&mutex_);
      next = NextLocked();
    }
    Do(std::move(next));
  }

  void OnReadDone(bool ok) override {
    Next next;
    {
      MutexLock lock(&mutex_);
      reading_ = false;
      read_closed_ = !ok;
      processing_ = ok && end_.ok();
      if (!processing_) next = NextLocked();
      if (processing_) next.kind = Next::kProcess;
    }
    Do(std::move(next));
  }

  void OnWriteDone(bool ok) override {
    Next next;
    {
      MutexLock lock(&mutex_);
      writing_ = false;
      if (!ok) AbandonLocked(absl::CancelledError("the client went away"));
      next = NextLocked();
    }
    Do(std::move(next));
  }

  void OnCancel() override {
    Next next;
    {
      MutexLock lock(&mutex_);
      AbandonLocked(absl::CancelledError("the client cancelled the call"));
      next = NextLocked();
    }
    Do(std::move(next));
  }

  void OnTick(absl::Time now) override {
    Next next;
    {
      MutexLock lock(&mutex_);
      retry_ = true;
      const absl::Duration stall = environment().limits.stall_timeout;
      if (now >= call_.deadline()) {
        AbandonLocked(absl::DeadlineExceededError(
            "the stream's time is over; open another one for the rest"));
      } else if (writing_ && now - write_started_ >= stall) {
        AbandonLocked(absl::CancelledError(fmt::format(
            "the client took nothing for {}", absl::FormatDuration(stall))));
        context_->TryCancel();
      }
      next = NextLocked();
    }
    Do(std::move(next));
  }

  // What was read is answered, the rest is the client's to send elsewhere.
  void OnDrain() override {
    Next next;
    {
      MutexLock lock(&mutex_);
      if (end_.ok()) {
        end_ = absl::UnavailableError(
            "the server is stopping; send the items without a result to "
            "another one");
      }
      held_.reset();
      next = NextLocked();
    }
    Do(std::move(next));
  }

  void OnDone() override {
    environment().calls->Remove(this);
    delete this;
  }

 private:
  // An item on its way to the batcher.
  struct Held {
    uint64_t id = 0;
    Translation::Item item;
  };

  struct Next {
    enum Kind { kNothing, kProcess, kSubmit, kFinish };
    Kind kind = kNothing;
    Held held;            // to submit
    absl::Status status;  // to finish with
  };

  // Hears of one item, and passes it to the delivery pool.
  class Sink : public RequestObserver {
   public:
    Sink(TranslateStreamCall* call, uint64_t id, PreparedInput input)
        : call_(call), id_(id), input_(std::move(input)) {}
    void OnDone(absl::StatusOr<RequestResult> result) override {
      auto shared =
          std::make_shared<absl::StatusOr<RequestResult>>(std::move(result));
      call_->environment().delivery->Run(
          [call = call_, id = id_, input = std::move(input_), shared] {
            call->OnResult(id, input, std::move(*shared));
          });
    }

   private:
    TranslateStreamCall* const call_;
    const uint64_t id_;
    PreparedInput input_;
  };

  ~TranslateStreamCall() override = default;

  const Environment& environment() const { return call_.environment(); }

  // Ends the call without waiting for what it has not said yet.
  void AbandonLocked(const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    call_.cancellation()->Cancel();
    abandoned_ = true;
    if (end_.ok()) end_ = why;
    held_.reset();
    outbox_.clear();
  }

  // Room for so many tokens, and a quarter of the queue left for calls that
  // are refused where it is full. An item too big for that is the batcher's
  // to judge.
  bool HasRoom(int64_t tokens) const {
    const int64_t all = environment().max_waiting_tokens;
    const int64_t needed = tokens + all / 4;
    return needed > all ||
           environment().batcher->free_waiting_tokens() >= needed;
  }

  static int64_t Tokens(const Request& request) {
    return static_cast<int64_t>(request.source.ids.size()) +
           int64_t{request.decoding->beam_size} *
               request.decoding->max_new_tokens;
  }

  // Starts what gRPC can do now; tells what the caller must do unlocked.
  Next NextLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Next next;
    if (finished_) return next;
    if (!writing_ && !outbox_.empty()) {
      outgoing_ = std::move(outbox_.front());
      outbox_.pop_front();
      writing_ = true;
      write_started_ = environment().clock->Now();
      StartWrite(&outgoing_);
    }
    if (held_ && retry_ && HasRoom(Tokens(held_->item.request))) {
      next.kind = Next::kSubmit;
      next.held = *std::move(held_);
      held_.reset();
      processing_ = true;
      ++in_flight_;
      return next;
    }
    const bool over = read_closed_ || !end_.ok();
    if (!over && !reading_ && !processing_ && !held_ &&
        in_flight_ + outbox_.size() < kMaxUnanswered && HasRoom(0)) {
      reading_ = true;
      StartRead(&incoming_);
    }
    if (over && !processing_ && !held_ && in_flight_ == 0 && !writing_) {
      finished_ = true;
      next.kind = Next::kFinish;
      next.status = end_;
    }
    return next;
  }

  void Do(Next next) {
    switch (next.kind) {
      case Next::kNothing:
        return;
      case Next::kProcess:
        return Process();
      case Next::kSubmit:
        return Submit(std::move(next.held));
      case Next::kFinish:
        return Finish(call_.Close(next.status));
    }
  }

  // The end of Process: an item held for its turn, a message to write, or an
  // error that ends the stream.
  void Processed(std::optional<Held> held,
                 std::optional<grpc::ByteBuffer> message,
                 const absl::Status& end = absl::OkStatus()) {
    Next next;
    {
      MutexLock lock(&mutex_);
      processing_ = false;
      if (end_.ok()) {
        end_ = end;
        held_ = std::move(held);
        retry_ = true;
      }
      if (message && !abandoned_) outbox_.push_back(*std::move(message));
      next = NextLocked();
    }
    Do(std::move(next));
  }

  void Process() {
    TranslateStreamRequest message;
    const absl::Status status = ParseMessage(
        incoming_, environment().limits.max_request_bytes, &message);
    if (!status.ok()) {
      const std::optional<uint64_t> id = FindItemId(incoming_);
      if (!id || !translation_) return Processed({}, {}, status);
      return Processed({}, ErrorMessage(*id, status));
    }
    if (!translation_) {
      return Processed({}, {}, ReadStart(message));
    }
    if (!message.has_item()) {
      return Processed({}, {},
                       InvalidField(message.has_start() ? "start" : "message",
                                    "every message after the first must be "
                                    "an item"));
    }
    if (TextBytes(message.item().input()) > kInlineTextBytes) {
      environment().tokenizing->Run(
          [this, item = std::move(*message.mutable_item())] {
            ProcessItem(item);
          });
    } else {
      ProcessItem(message.item());
    }
  }

  absl::Status ReadStart(const TranslateStreamRequest& message) {
    if (!message.has_start()) {
      return InvalidField("start", "the first message must be the start");
    }
    TRIVIUM_ASSIGN_OR_RETURN(const ServedModel* model,
                             FindModel(environment(), message.start().model()));
    call_.set_model(model);
    TRIVIUM_ASSIGN_OR_RETURN(
        translation_,
        Translation::Create(environment(), *model, message.start().options(),
                            "start.options"));
    return absl::OkStatus();
  }

  void ProcessItem(const TranslateStreamRequest::Item& in) {
    const absl::Time before = environment().clock->Now();
    absl::StatusOr<Translation::Item> item =
        translation_->Prepare(in.input(), "item.input");
    call_.AddTokenizeTime(environment().clock->Now() - before);
    absl::Status status = item.status();
    if (status.ok()) {
      status = CheckResponseBytes(item->response_bytes, environment().limits);
    }
    if (!status.ok()) return Processed({}, ErrorMessage(in.id(), status));
    if (item->input.blank) {
      return Processed(
          {}, ResultMessage(in.id(), INT64_MAX, translation_->BlankResult()));
    }
    Processed(Held{in.id(), *std::move(item)}, {});
  }

  // Counted in in_flight_ and processing_ already.
  void Submit(Held held) {
    std::vector<Request> requests = {held.item.request};
    Request& request = requests.front();
    request.model = call_.model().index;
    request.deadline = call_.deadline();
    request.cancellation = call_.cancellation();
    request.observer = std::make_shared<Sink>(this, held.id, held.item.input);
    Batcher& batcher = *environment().batcher;
    const absl::Status status = batcher.Submit(call_id_, std::move(requests));
    Next next;
    {
      MutexLock lock(&mutex_);
      processing_ = false;
      if (!status.ok()) --in_flight_;
      if (absl::IsResourceExhausted(status)) {
        // Others were faster: once more at the next tick.
        retry_ = false;
        if (end_.ok()) held_ = std::move(held);
      } else if (!status.ok() && !abandoned_) {
        outbox_.push_back(
            ErrorMessage(held.id, FromBatcher(status, batcher, [](int) {
                           return std::string("item.input");
                         })));
      }
      next = NextLocked();
    }
    Do(std::move(next));
  }

  // On the delivery pool.
  void OnResult(uint64_t id, const PreparedInput& input,
                absl::StatusOr<RequestResult> result) {
    grpc::ByteBuffer message;
    if (result.ok()) {
      {
        MutexLock lock(&mutex_);
        call_.AddResult(*result);
      }
      message = ResultMessage(id, environment().limits.max_response_bytes,
                              translation_->Result(input, *std::move(result)));
    } else {
      message = ErrorMessage(id, result.status());
    }
    Next next;
    {
      MutexLock lock(&mutex_);
      --in_flight_;
      if (!abandoned_) outbox_.push_back(std::move(message));
      next = NextLocked();
    }
    Do(std::move(next));
  }

  static grpc::ByteBuffer ErrorMessage(uint64_t id,
                                       const absl::Status& status) {
    return ResultMessage(id, INT64_MAX, status);
  }

  Call call_;
  grpc::CallbackServerContext* const context_;
  const CallId call_id_;

  // Of the one item in Process; translation_ is constant after the first.
  grpc::ByteBuffer incoming_;
  std::optional<Translation> translation_;
  // Of the write under way.
  grpc::ByteBuffer outgoing_;

  Mutex mutex_;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool processing_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool read_closed_ ABSL_GUARDED_BY(mutex_) = false;  // half-closed, or lost
  bool abandoned_ ABSL_GUARDED_BY(mutex_) = false;    // nobody reads results
  bool retry_ ABSL_GUARDED_BY(mutex_) = true;         // held_ may be submitted
  absl::Status end_ ABSL_GUARDED_BY(mutex_);          // not OK: read no more
  std::optional<Held> held_ ABSL_GUARDED_BY(mutex_);
  size_t in_flight_ ABSL_GUARDED_BY(mutex_) = 0;  // at the batcher
  std::deque<grpc::ByteBuffer> outbox_ ABSL_GUARDED_BY(mutex_);
  absl::Time write_started_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>*
HandleTranslateStream(const Environment& environment,
                      grpc::CallbackServerContext* context) {
  auto* call = new TranslateStreamCall(environment, context);
  call->Start();
  return call;
}

}  // namespace trivium
