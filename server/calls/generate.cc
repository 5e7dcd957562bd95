// Generate: text, piece by piece. Here is when things happen; generation.h has
// what is said.
//
// A worker only appends new tokens to `news_`. A thread of the delivery pool,
// or the transport's after a write, makes text of all that has come since, and
// writes it. So a slow client gets fewer, longer pieces, and a worker never
// waits for it.
//
// At most one thread at a time is in Deliver: the one that set `busy_`, which
// stays set while a write is under way. Only that thread uses generation_. From
// before Submit until the client knows that it is admitted, `busy_` is set,
// too, so the answer does not end meanwhile. The call ends only after the
// batcher's last word, so nothing refers to it later.
#include <algorithm>
#include <utility>

#include "server/calls/generation.h"
#include "server/calls/handlers.h"
#include "server/calls/outbox.h"
#include "server/calls/prepared_call.h"

namespace trivium {
namespace {

class GenerateCall final : public PreparedCall {
 public:
  GenerateCall(const Environment& environment, CallContext context,
               ResponseStream* transport, absl::Duration stall_timeout)
      : PreparedCall(environment, std::move(context), Rpc::kGenerate,
                     transport),
        stream_(transport),
        generation_(&call()),
        outbox_(call().held(), stall_timeout) {}
  ~GenerateCall() override { environment().calls->Remove(this); }

  void OnWritten(bool ok) override {
    {
      MutexLock lock(&mutex_);
      outbox_.EndWrite();
      if (!ok) LoseClientLocked(absl::CancelledError("the client went"));
    }
    Deliver();
  }

  void OnTick(absl::Time now) override {
    MutexLock lock(&mutex_);
    const absl::Status stall = outbox_.CheckStall(now);
    if (stall.ok()) {
      // Without memory, the next tick tries again.
      if (answering_) {
        CatchExceptions([&] { stream_->KeepAlive(now); }).IgnoreError();
      }
      return;
    }
    LoseClientLocked(stall);
    stream_->BreakOff();
  }

 private:
  class Sink : public RequestObserver {
   public:
    explicit Sink(GenerateCall* call) : call_(call) {}
    void OnTokens(int index, std::span<const int32_t> ids,
                  std::span<const float> logprobs,
                  std::span<const TopLogprobs> top_logprobs) override {
      call_->OnTokens(index, {ids, logprobs, top_logprobs});
    }
    void OnDone(absl::StatusOr<RequestResult> result) override {
      call_->OnResult(std::move(result));
    }

   private:
    GenerateCall* const call_;
  };

  // New tokens of a hypothesis, as TokenRun has them.
  struct NewTokens {
    std::vector<int32_t> ids;
    std::vector<float> logprobs;
    std::vector<std::vector<TokenLogprob>> top_logprobs;

    void Append(const TokenRun& run) {
      ids.insert(ids.end(), run.ids.begin(), run.ids.end());
      logprobs.insert(logprobs.end(), run.logprobs.begin(), run.logprobs.end());
      top_logprobs.insert(top_logprobs.end(), run.top_logprobs.begin(),
                          run.top_logprobs.end());
    }
    TokenRun run() const { return {ids, logprobs, top_logprobs}; }
  };

  // Tokens and result from the worker that are not made into messages yet.
  struct News {
    std::vector<NewTokens> tokens;  // [hypotheses]
    std::optional<absl::StatusOr<RequestResult>> result;

    bool empty() const {
      return !result &&
             std::all_of(tokens.begin(), tokens.end(),
                         [](const auto& one) { return one.ids.empty(); });
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
      news_.tokens.resize(generation_.hypotheses());
    }
    if (!generation_.blank()) requests->push_back(std::move(request));
    return absl::OkStatus();
  }

  std::string FieldOf(int) const override { return generation_.field(); }

  void Observe(std::vector<Request>* requests) override {
    requests->front().observer = std::make_shared<Sink>(this);
    MutexLock lock(&mutex_);
    busy_ = true;  // until OnAdmitted
  }

  bool awaits_admission() const override { return true; }
  void OnAdmitted() override {
    const absl::Status begun =
        CatchExceptions([this] { stream_->BeginAnswer(); });
    {
      MutexLock lock(&mutex_);
      answering_ = true;
      busy_ = false;
      if (!begun.ok()) LoseClientLocked(begun);
      if ((news_.empty() && begun.ok()) || WakeLocked()) return;
    }
    Deliver();
  }

  void AnswerAtOnce() override { OnResult(RequestResult()); }

  // On a worker.
  void OnTokens(int index, const TokenRun& tokens) {
    MutexLock lock(&mutex_);
    const absl::Status status = CatchExceptions([&] {
      mutex_.AssertHeld();
      news_.tokens[index].Append(tokens);
    });
    if (!status.ok()) LoseClientLocked(status);
    // If nobody is woken, OnResult does what is left.
    WakeLocked();
  }

  // On a worker, which says nothing after it.
  void OnResult(absl::StatusOr<RequestResult> result) {
    if (result.ok()) call().Hold(Held::kResults, MessageBytes(*result));
    {
      MutexLock lock(&mutex_);
      news_.result = std::move(result);
      answered_ = true;
      if (WakeLocked()) return;
    }
    Deliver();
  }

  // Sees to it that a thread delivers. False if there is no memory for that:
  // the client is lost, and once the batcher has answered, the caller must call
  // Deliver itself, without the lock, which ends the call.
  bool WakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (busy_) return true;
    const absl::Status status = CatchExceptions(
        [this] { call().RunDelivery(0, [this] { Deliver(); }); });
    busy_ = status.ok() || answered_;
    if (!status.ok()) LoseClientLocked(status);
    return status.ok() || !answered_;
  }

  // Nobody reads the answer any more. The first reason is the call's status.
  void LoseClientLocked(const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    call().cancellation()->Cancel();
    if (lost_.ok()) lost_ = why;
  }

  // Writes the next message, or ends the call, or stops being busy.
  void Deliver() {
    absl::Status status = CatchExceptions([this] { DeliverNext(); });
    if (status.ok()) return;
    {
      MutexLock lock(&mutex_);
      outbox_.EndWrite();  // it did not begin
      LoseClientLocked(status);
      status = lost_;
      if (!answered_) {
        busy_ = false;
        return;
      }
    }
    End(status);
  }

  void DeliverNext() {
    while (true) {
      News news;
      std::unique_ptr<Outbox::Message> message;
      bool last = false;
      absl::Status lost;
      {
        MutexLock lock(&mutex_);
        lost = lost_;
        if (!lost.ok()) outbox_.Clear();
        message = outbox_.BeginWrite(environment().clock->Now());
        last = outbox_.empty() && generation_.complete();
        if (message == nullptr && !generation_.complete()) {
          // Once the client is lost, only the batcher's last word matters.
          if (lost.ok() ? news_.empty() : !answered_) {
            busy_ = false;
            return;
          }
          news.tokens.resize(news_.tokens.size());
          std::swap(news, news_);
        }
      }
      if (!lost.ok()) return End(lost);
      // Once the message is written, another thread may be in Deliver.
      if (message && last) return End(absl::OkStatus(), message.get());
      if (message) return stream_->Write(*message);
      if (news.result && !news.result->ok()) {
        return End(generation_.AboutResult(news.result->status()));
      }
      MakeMessages(std::move(news));
    }
  }

  void End(const absl::Status& status,
           const google::protobuf::Message* last = nullptr) {
    {
      MutexLock lock(&mutex_);
      answering_ = false;
    }
    Finish(status, last);
  }

  void MakeMessages(News news) {
    for (size_t i = 0; i < news.tokens.size(); ++i) {
      generation_.AddTokens(static_cast<int>(i), news.tokens[i].run());
    }
    if (news.result) {
      const int64_t bytes = MessageBytes(**news.result);
      generation_.AddEnd(**std::move(news.result));
      call().Hold(Held::kResults, -bytes);
    }
    MutexLock lock(&mutex_);
    for (auto& message : generation_.TakeMessages()) {
      outbox_.Push(std::move(message));
    }
  }

  ResponseStream* const stream_;
  // Used only by the thread in Deliver; before Submit, by the one that
  // prepares.
  Generation generation_;

  Mutex mutex_;
  Outbox outbox_ ABSL_GUARDED_BY(mutex_);
  News news_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  bool answered_ ABSL_GUARDED_BY(mutex_) = false;  // by the batcher
  // True from OnAdmitted until the transport has the end.
  bool answering_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status lost_ ABSL_GUARDED_BY(mutex_);  // not OK: why nobody reads
};

}  // namespace

std::unique_ptr<Handler> NewGenerate(const Environment& environment,
                                     CallContext context,
                                     ResponseStream* transport) {
  return std::make_unique<GenerateCall>(environment, std::move(context),
                                        transport,
                                        environment.limits.stall_timeout);
}

std::unique_ptr<Handler> NewGeneratePart(const Environment& environment,
                                         CallContext context,
                                         ResponseStream* transport) {
  return std::make_unique<GenerateCall>(environment, std::move(context),
                                        transport, absl::InfiniteDuration());
}

}  // namespace trivium
