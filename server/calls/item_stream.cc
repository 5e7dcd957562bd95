// TranslateStream and EncodeStream: any number of texts; results as they
// finish. TranslateDocument: the texts of one document, which come once it has
// been read. Here is when things happen; stream_items.h has what is said.
//
// The call reads items one by one, submits the requests of each together, and
// writes results as they come. It is never refused because the queue is full:
// while the queue is short of room, the call holds one item and reads no
// further, which the client feels as its transport's flow control.
//
// Every event, on any thread, changes the state under the lock and asks
// NextLocked what to do now; Do then does it without the lock. Exactly one
// event is told to finish the call, when nothing is being processed, at the
// batcher, or being written. So a thread that was told to process, submit or
// write may use the call until it has changed the state once more; all others
// do not touch the call after they unlock.
#include <deque>
#include <optional>
#include <utility>

#include "base/exceptions.h"
#include "server/batching/request_cost.h"
#include "server/calls/call.h"
#include "server/calls/convert/convert.h"
#include "server/calls/handlers.h"
#include "server/calls/outbox.h"
#include "server/calls/result_collector.h"
#include "server/calls/stream_items.h"

namespace trivium {
namespace {

// The stream reads no further while it has
// - so many items that were read and whose results are not written yet: enough
//   to fill many iterations of the workers,
constexpr size_t kMaxUnanswered = 1024;
// - so many bytes of such items, which keep their texts until then,
constexpr int64_t kMaxItemBytes = 4 << 20;
// - or so many bytes of results that wait to be written or are expected.
constexpr int64_t kMaxOutboxBytes = 1 << 20;

class ItemStreamCall final : public Handler {
 public:
  using Message = google::protobuf::Message;

  ItemStreamCall(const Environment& environment, CallContext context, Rpc rpc,
                 std::unique_ptr<StreamItems> (*new_items)(Call*),
                 RequestStream* transport)
      : call_(environment, std::move(context), rpc),
        transport_(transport),
        items_(new_items(&call_)),
        outbox_(call_.held(), environment.limits.stall_timeout) {}
  ~ItemStreamCall() override { environment().calls->Remove(this); }

  void Start() override {
    if (!call_.admitted().ok()) return Finish(call_.admitted());
    const absl::Status added =
        CatchExceptions([this] { environment().calls->Add(this); });
    if (!added.ok()) return Finish(added);
    Change([] {});
  }

  void OnRead(bool ok) override {
    Next next;
    {
      MutexLock lock(&mutex_);
      reading_ = false;
      read_closed_ = !ok;
      if (ok && end_.ok()) {
        processing_ = true;
        next.kind = Next::kProcess;
      } else {
        next = NextLocked();
      }
    }
    Do(this, std::move(next));
  }

  void OnWritten(bool ok) override {
    Change([&] {
      mutex_.AssertHeld();
      outbox_.EndWrite();
      if (!ok) AbandonLocked(absl::CancelledError("the client went away"));
    });
  }

  void OnCancel() override {
    Change([this] {
      mutex_.AssertHeld();
      AbandonLocked(absl::CancelledError("the client cancelled the call"));
    });
  }

  void OnTick(absl::Time now) override {
    Change([&] {
      mutex_.AssertHeld();
      retry_ = true;
      const absl::Status stall = outbox_.CheckStall(now);
      if (now >= call_.deadline()) {
        AbandonLocked(absl::DeadlineExceededError(
            "the stream's time is over; open another one for the rest"));
      } else if (!stall.ok()) {
        AbandonLocked(stall);
        transport_->BreakOff();
      }
    });
  }

  // The stream answers what it has read; the client sends the rest elsewhere.
  void OnDrain() override {
    Change([this] {
      mutex_.AssertHeld();
      // A document that is there is translated to its end.
      const bool whole = read_closed_ && items_->HasNext(/*answered=*/true);
      if (whole) return;
      if (end_.ok()) {
        end_ = absl::UnavailableError(
            "the server is stopping; send the items without a result to "
            "another one");
      }
      DropHeldLocked();
    });
  }

 private:
  // Work to do without the lock: perhaps a write, and at most one more thing.
  struct Next {
    std::unique_ptr<Message> write;
    enum Kind { kNothing, kProcess, kAdvance, kSubmit, kFinish };
    Kind kind = kNothing;
    StreamItems::Work work;  // to submit
    absl::Status status;     // to finish with
  };

  const Environment& environment() const { return call_.environment(); }
  void Finish(const absl::Status& status) {
    transport_->Finish(call_.Close(status), nullptr);
  }

  // An event: `change` changes the state, and this thread does what follows.
  // What it throws, for lack of memory, ends the stream.
  template <typename Event>
  void Change(Event&& change) {
    Next next;
    {
      MutexLock lock(&mutex_);
      const absl::Status status = CatchExceptions(change);
      if (!status.ok()) AbandonLocked(status);
      next = NextLocked();
    }
    Do(this, std::move(next));
  }

  // Runs `step` of the thread that has set processing_, which ends with
  // Processed or leaves it to the pool. What it throws ends the stream.
  template <typename Step>
  void Process(Step&& step) {
    const absl::Status status = CatchExceptions(step);
    if (status.ok()) return;
    Change([&] {
      mutex_.AssertHeld();
      processing_ = false;
      AbandonLocked(status);
    });
  }

  // Drops all that is not written yet; the call ends once the batcher is done.
  void AbandonLocked(const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    call_.cancellation()->Cancel();
    abandoned_ = true;
    if (end_.ok()) end_ = why;
    DropHeldLocked();
    in_flight_ -= again_.size();
    for (const StreamItems::Work& work : again_) {
      CountItemsLocked(-work.message_bytes);
    }
    again_.clear();
    outbox_.Clear();
  }

  static int64_t TokensOf(const std::vector<Request>& requests) {
    int64_t tokens = 0;
    for (const Request& request : requests) {
      tokens += trivium::TokensOf(request);
    }
    return tokens;
  }

  // True if the queue has room for so many tokens and still leaves a quarter of
  // it to calls that are refused when it is full. Items too large for that are
  // left to the batcher.
  bool HasRoom(int64_t tokens) const {
    const int64_t all = call_.max_waiting_tokens();
    const int64_t needed = tokens + all / 4;
    return needed > all || call_.free_waiting_tokens() >= needed;
  }

  void CountItemsLocked(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    item_bytes_ += bytes;
    call_.Hold(Held::kRequests, bytes);
  }
  void DropHeldLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (held_) CountItemsLocked(-held_->message_bytes);
    held_.reset();
  }

  bool HasCapacityLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return in_flight_ + outbox_.size() < kMaxUnanswered &&
           item_bytes_ < kMaxItemBytes &&
           outbox_.bytes() + in_flight_bytes_ < kMaxOutboxBytes;
  }
  void PushLocked(std::unique_ptr<Message> response)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (response && !abandoned_) outbox_.Push(std::move(response));
  }

  // Starts to read if it may; returns what else to do without the lock.
  Next NextLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Next next;
    if (finished_) return next;
    next.write = outbox_.BeginWrite(environment().clock->Now());
    if (!again_.empty() && !submitting_again_ && retry_ &&
        HasRoom(TokensOf(again_.front().requests))) {
      next.kind = Next::kSubmit;
      next.work = std::move(again_.front());
      again_.pop_front();
      submitting_again_ = true;
      return next;
    }
    if (held_ && retry_ && HasRoom(TokensOf(held_->requests))) {
      next.kind = Next::kSubmit;
      next.work = *std::move(held_);
      held_.reset();
      processing_ = true;
      ++in_flight_;
      in_flight_bytes_ += next.work.response_bytes;
      return next;
    }
    const bool over = read_closed_ || !end_.ok();
    if (!over && !reading_ && !processing_ && !held_ && HasCapacityLocked() &&
        HasRoom(0)) {
      reading_ = true;
      transport_->Read();
    }
    const bool idle = !processing_ && !submitting_again_ && !held_;
    if (read_closed_ && end_.ok() && idle && HasCapacityLocked() &&
        items_->HasNext(in_flight_ == 0)) {
      processing_ = true;
      next.kind = Next::kAdvance;
      return next;
    }
    const bool more = end_.ok() && items_->HasNext(/*answered=*/true);
    if (over && !more && idle && in_flight_ == 0 && !outbox_.writing()) {
      finished_ = true;
      next.kind = Next::kFinish;
      next.status = end_;
    }
    return next;
  }

  // Static, because `call` may be deleted already if there is nothing to do.
  static void Do(ItemStreamCall* call, Next next) {
    if (next.write) {
      const absl::Status status =
          CatchExceptions([&] { call->transport_->Write(*next.write); });
      if (!status.ok()) call->OnNotWritten(status, &next);
    }
    switch (next.kind) {
      case Next::kNothing:
        return;
      case Next::kProcess:
        return call->Process(
            [call] { call->OnMessage(call->items_->Read(call->transport_)); });
      case Next::kAdvance:
        return call->Process([call] { call->Advance(); });
      case Next::kSubmit:
        return call->Submit(std::move(next.work));
      case Next::kFinish:
        return call->Finish(next.status);
    }
  }

  // A write did not begin. `next` is what this thread does now.
  void OnNotWritten(const absl::Status& status, Next* next) {
    MutexLock lock(&mutex_);
    outbox_.EndWrite();
    AbandonLocked(status);
    if (next->kind == Next::kNothing) *next = NextLocked();
  }

  // Takes the next step of a document. A document may have 500,000 texts that
  // are done at once, so the pool takes each step: its turn is fair, and no
  // step runs within the one before.
  void Advance() {
    auto outcome = std::make_shared<StreamItems::Outcome>(items_->Next());
    call_.RunOnPool(outcome->text_bytes, [this, outcome] {
      Process([&] {
        Processed(outcome->prepare ? outcome->prepare() : std::move(*outcome),
                  /*message_bytes=*/0);
      });
    });
  }

  // A message was read. Long texts are tokenized on the pool.
  void OnMessage(StreamItems::Outcome outcome) {
    const int64_t bytes = outcome.message_bytes;
    {
      MutexLock lock(&mutex_);
      CountItemsLocked(bytes);
    }
    if (!outcome.prepare) return Processed(std::move(outcome), bytes);
    call_.RunTokenizing(outcome.text_bytes,
                        [this, bytes, prepare = std::move(outcome.prepare)] {
                          Process([&] { Processed(prepare(), bytes); });
                        });
  }

  // Does not throw.
  void Processed(StreamItems::Outcome outcome, int64_t message_bytes) {
    Change([&] {
      mutex_.AssertHeld();
      processing_ = false;
      if (end_.ok()) {
        end_ = outcome.end;
        held_ = std::move(outcome.work);
        retry_ = true;
      }
      if (held_) {
        held_->message_bytes = message_bytes;
      } else {
        CountItemsLocked(-message_bytes);
        // A start's options live as long as the stream.
        const bool start = end_.ok() && !outcome.response;
        if (start) call_.Hold(Held::kRequests, message_bytes);
      }
      PushLocked(std::move(outcome.response));
    });
  }

  // The work is already counted in in_flight_, and processing_ or
  // submitting_again_ is set.
  void Submit(StreamItems::Work work) {
    const absl::Status status = CatchExceptions([&] {
      std::vector<Request> requests = work.requests;
      auto submitted = std::make_shared<StreamItems::Work>();
      submitted->id = work.id;
      submitted->state = work.state;
      submitted->message_bytes = work.message_bytes;
      submitted->response_bytes = work.response_bytes;
      CollectResults(
          &call_, OnFailure::kFinishOthers, &requests,
          [this, submitted](absl::StatusOr<CollectedResults> results) {
            Deliver(submitted, std::move(results));
          });
      return call_.Submit(std::move(requests),
                          [&](int) { return items_->FieldOf(work); });
    });
    Change([&] {
      mutex_.AssertHeld();
      (work.again ? submitting_again_ : processing_) = false;
      if (!status.ok()) NotTakenLocked(std::move(work), status);
    });
  }

  // The batcher has refused the work.
  void NotTakenLocked(StreamItems::Work work, const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const bool full = absl::IsResourceExhausted(status);
    // Other calls took the room; retry at the next tick.
    if (full) retry_ = false;
    --in_flight_;
    in_flight_bytes_ -= work.response_bytes;
    if (full && work.again && !abandoned_) {
      const int64_t bytes = work.response_bytes;
      again_.push_front(std::move(work));
      ++in_flight_;
      in_flight_bytes_ += bytes;
      return;
    }
    if (full && end_.ok()) {
      held_ = std::move(work);
      return;
    }
    CountItemsLocked(-work.message_bytes);
    if (!full) PushLocked(items_->Error(work.id, status));
  }

  // An item's results are there; on a worker. Without memory to hand them to
  // the pool, the worker itself answers the item with an error.
  void Deliver(const std::shared_ptr<StreamItems::Work>& work,
               absl::StatusOr<CollectedResults> results) {
    const int64_t bytes = results.ok() ? results->bytes : 0;
    const absl::Status status = CatchExceptions([&] {
      auto shared = std::make_shared<decltype(results)>(std::move(results));
      call_.RunDelivery(bytes, [this, work, shared, bytes] {
        call_.Hold(Held::kResults, -bytes);
        OnResult(std::move(*work), std::move(*shared));
      });
    });
    if (status.ok()) return;
    call_.Hold(Held::kResults, -bytes);
    OnResult(std::move(*work), status);
  }

  // On the delivery pool.
  void OnResult(StreamItems::Work work,
                absl::StatusOr<CollectedResults> results) {
    const int64_t expected_bytes = work.response_bytes;
    const int64_t message_bytes = work.message_bytes;
    StreamItems::Outcome outcome;
    const absl::Status status = CatchExceptions([&] {
      if (!results.ok()) {
        outcome.response = items_->Error(work.id, results.status());
        return;
      }
      {
        MutexLock lock(&mutex_);
        for (size_t i = 0; i < results->results.size(); ++i) {
          call_.AddResult(results->results[i], results->models[i].get());
        }
      }
      outcome =
          items_->HandleResults(std::move(work), std::move(results->results));
    });
    Change([&] {
      mutex_.AssertHeld();
      if (!status.ok()) AbandonLocked(status);
      if (outcome.work && !abandoned_) {
        // Counted below if there is no memory for its place.
        const absl::Status again = CatchExceptions([&] {
          mutex_.AssertHeld();
          again_.push_back(*std::move(outcome.work));
        });
        if (again.ok()) return;
        AbandonLocked(again);
      }
      --in_flight_;
      in_flight_bytes_ -= expected_bytes;
      CountItemsLocked(-message_bytes);
      PushLocked(std::move(outcome.response));
    });
  }

  Call call_;
  RequestStream* const transport_;
  // Read and Prepare are called only by the thread that set processing_.
  const std::unique_ptr<StreamItems> items_;

  Mutex mutex_;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool processing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool read_closed_ ABSL_GUARDED_BY(mutex_) = false;  // half-closed, or lost
  bool abandoned_ ABSL_GUARDED_BY(mutex_) = false;    // nobody reads results
  bool retry_ ABSL_GUARDED_BY(mutex_) = true;         // held_ may be submitted
  absl::Status end_ ABSL_GUARDED_BY(mutex_);          // not OK: read no more
  std::optional<StreamItems::Work> held_ ABSL_GUARDED_BY(mutex_);
  // Wait to be submitted once more; counted in in_flight_.
  std::deque<StreamItems::Work> again_ ABSL_GUARDED_BY(mutex_);
  bool submitting_again_ ABSL_GUARDED_BY(mutex_) = false;
  size_t in_flight_ ABSL_GUARDED_BY(mutex_) = 0;         // at the batcher
  int64_t in_flight_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of their responses
  int64_t item_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // read and not answered
  Outbox outbox_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Handler> NewTranslateStream(const Environment& environment,
                                            CallContext context,
                                            RequestStream* transport) {
  return std::make_unique<ItemStreamCall>(environment, std::move(context),
                                          Rpc::kTranslateStream,
                                          NewTranslateItems, transport);
}

std::unique_ptr<Handler> NewTranslateDocument(const Environment& environment,
                                              CallContext context,
                                              RequestStream* transport) {
  return std::make_unique<ItemStreamCall>(environment, std::move(context),
                                          Rpc::kTranslateDocument,
                                          NewDocumentItems, transport);
}

std::unique_ptr<Handler> NewEncodeStream(const Environment& environment,
                                         CallContext context,
                                         RequestStream* transport) {
  return std::make_unique<ItemStreamCall>(environment, std::move(context),
                                          Rpc::kEncodeStream, NewEncodeItems,
                                          transport);
}

}  // namespace trivium
