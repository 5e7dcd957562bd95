// Generate: text, piece by piece. When things happen; generation.h has what is
// said.
//
// A worker only appends new tokens to `news_`. A thread of the delivery pool,
// or the transport's after a write, makes text of all that has come since and
// writes it. So a slow client gets fewer, longer pieces, and a worker never
// waits for it.
//
// At most one thread at a time is in Deliver: the one that set `busy_`. It
// alone touches generation_ then. While a write is under way busy_ stays set.
// The call ends only after the batcher's last word, so nothing refers to it
// later.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/calls/generation.h"
#include "server/calls/handlers.h"
#include "server/calls/prepared_call.h"

namespace trivium {
namespace {

class GenerateCall final : public PreparedCall {
 public:
  GenerateCall(const Environment& environment, CallContext context,
               ResponseStream* transport)
      : PreparedCall(environment, std::move(context), Rpc::kGenerate,
                     transport),
        stream_(transport),
        generation_(&call()) {}
  ~GenerateCall() override { environment().calls->Remove(this); }

  void OnWritten(bool ok) override {
    if (!ok) call().cancellation()->Cancel();
    {
      MutexLock lock(&mutex_);
      if (!ok) broken_ = true;
      write_started_ = absl::InfiniteFuture();
    }
    Deliver();
  }

  void OnTick(absl::Time now) override {
    if (stream_->notices_stalls()) return;
    MutexLock lock(&mutex_);
    if (now - write_started_ < environment().limits.stall_timeout) return;
    stalled_ = true;
    call().cancellation()->Cancel();
    stream_->BreakOff();
  }

 private:
  class Sink : public RequestObserver {
   public:
    explicit Sink(GenerateCall* call) : call_(call) {}
    void OnTokens(int index, std::span<const int32_t> ids,
                  std::span<const float> logprobs) override {
      call_->OnTokens(index, ids);
    }
    void OnDone(absl::StatusOr<RequestResult> result) override {
      call_->OnResult(std::move(result));
    }

   private:
    GenerateCall* const call_;
  };

  // What came from the worker since the last look.
  struct News {
    std::vector<std::vector<int32_t>> ids;  // [hypotheses]
    std::optional<absl::StatusOr<RequestResult>> result;

    bool empty() const {
      return !result &&
             std::all_of(ids.begin(), ids.end(),
                         [](const auto& one) { return one.empty(); });
    }
  };

  absl::Status Open() override {
    const absl::Status status = generation_.Open(stream_);
    if (status.ok()) environment().calls->Add(this);
    return status;
  }

  int64_t TextBytes(int) const override { return generation_.text_bytes(); }

  absl::Status Prepare(int, std::vector<Request>* requests) override {
    TRIVIUM_ASSIGN_OR_RETURN(Request request, generation_.Prepare());
    ExpectResponseBytes(generation_.response_bytes());
    {
      MutexLock lock(&mutex_);
      news_.ids.resize(generation_.hypotheses());
    }
    if (!generation_.blank()) requests->push_back(std::move(request));
    return absl::OkStatus();
  }

  std::string FieldOf(int) const override { return generation_.field(); }

  void Observe(std::vector<Request>* requests) override {
    requests->front().observer = std::make_shared<Sink>(this);
  }

  void AnswerAtOnce() override { OnResult(RequestResult()); }

  // On a worker.
  void OnTokens(int index, std::span<const int32_t> ids) {
    MutexLock lock(&mutex_);
    std::vector<int32_t>& pending = news_.ids[index];
    pending.insert(pending.end(), ids.begin(), ids.end());
    WakeLocked();
  }

  // On a worker, the last thing it says.
  void OnResult(absl::StatusOr<RequestResult> result) {
    if (result.ok()) call().Hold(Held::kResults, MessageBytes(*result));
    MutexLock lock(&mutex_);
    news_.result = std::move(result);
    WakeLocked();
  }

  void WakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (busy_) return;
    busy_ = true;
    call().RunDelivery(0, [this] { Deliver(); });
  }

  // Writes the next message, or ends the call, or is busy no more.
  void Deliver() {
    while (true) {
      News news;
      bool lost = false;  // nobody reads: only the batcher's last word matters
      {
        MutexLock lock(&mutex_);
        lost = broken_ || stalled_;
        if (lost) DropMessages();
        if (generation_.messages().empty() && !generation_.complete()) {
          if (lost ? !news_.result.has_value() : news_.empty()) {
            busy_ = false;
            return;
          }
          news.ids.resize(news_.ids.size());
          std::swap(news, news_);
        }
      }
      if (news.result && !news.result->ok()) {
        return Finish(Explain(news.result->status()));
      }
      if (lost) return Finish(Explain(absl::CancelledError("the client went")));
      if (!generation_.messages().empty()) return WriteNext();
      for (size_t i = 0; i < news.ids.size(); ++i) {
        generation_.AddTokens(static_cast<int>(i), news.ids[i]);
      }
      if (news.result) {
        const int64_t bytes = MessageBytes(**news.result);
        generation_.AddEnd(**std::move(news.result));
        call().Hold(Held::kResults, -bytes);
      }
      HoldMessages();
    }
  }

  // Messages are made when there are none, and all of a result at once.
  void HoldMessages() {
    for (const v1::GenerateResponse& message : generation_.messages()) {
      outbox_bytes_ += static_cast<int64_t>(message.ByteSizeLong());
    }
    call().Hold(Held::kOutbox, outbox_bytes_);
  }
  void DropMessages() {
    generation_.messages().clear();
    call().Hold(Held::kOutbox, -std::exchange(outbox_bytes_, 0));
  }

  void WriteNext() {
    auto& messages = generation_.messages();
    const v1::GenerateResponse message = std::move(messages.front());
    messages.pop_front();
    const auto bytes = static_cast<int64_t>(message.ByteSizeLong());
    outbox_bytes_ -= bytes;
    call().Hold(Held::kOutbox, -bytes);
    const bool last = messages.empty() && generation_.complete();
    {
      MutexLock lock(&mutex_);
      write_started_ = environment().clock->Now();
    }
    // Another thread may be in Deliver as soon as it is written.
    if (last) return Finish(absl::OkStatus(), &message);
    stream_->Write(message);
  }

  absl::Status Explain(const absl::Status& status) {
    MutexLock lock(&mutex_);
    if (!stalled_) return status;
    return absl::CancelledError(
        fmt::format("the client took nothing for {}",
                    absl::FormatDuration(environment().limits.stall_timeout)));
  }

  ResponseStream* const stream_;
  // Of the thread that is in Deliver; before Submit, of the one that prepares.
  Generation generation_;
  int64_t outbox_bytes_ = 0;  // of its messages

  Mutex mutex_;
  News news_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;  // writes fail
  bool stalled_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time write_started_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
};

}  // namespace

std::unique_ptr<Handler> NewGenerate(const Environment& environment,
                                     CallContext context,
                                     ResponseStream* transport) {
  return std::make_unique<GenerateCall>(environment, std::move(context),
                                        transport);
}

}  // namespace trivium
