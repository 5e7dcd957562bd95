// Generate: text, piece by piece. When things happen; generation.h has what is
// said.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "server/rpc/call.h"
#include "server/rpc/generation.h"
#include "server/rpc/handlers.h"
#include "server/rpc/unary.h"
#include "server/rpc/wire.h"

namespace trivium {
namespace {

// The batcher's worker only appends new tokens to `pending_`; a thread of the
// delivery pool, or gRPC's after a write, makes text of all that has come
// since and writes it. So a slow client gets fewer, longer pieces, and a
// worker never waits for it.
//
// At most one thread at a time is in Deliver, the one that set `busy_`; it
// owns generation_ and buffer_. A write under way counts as busy. The call
// ends only after the batcher's last word, so nothing refers to it later.
class GenerateCall : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                     public Stream {
 public:
  GenerateCall(const Environment& environment,
               grpc::CallbackServerContext* context)
      : call_(environment, context, Rpc::kGenerate),
        context_(context),
        generation_(&call_) {}

  void Start(const grpc::ByteBuffer& request) {
    if (!call_.admitted().ok()) return End(call_.admitted());
    absl::Status status = generation_.Parse(request);
    if (!status.ok()) return End(status);
    environment().calls->Add(this);
    if (generation_.text_bytes() > kInlineTextBytes) {
      environment().tokenizing->Run([this] { PrepareAndSubmit(); });
    } else {
      PrepareAndSubmit();
    }
  }

  void OnCancel() override { call_.cancellation()->Cancel(); }

  void OnWriteDone(bool ok) override {
    if (!ok) call_.cancellation()->Cancel();
    {
      MutexLock lock(&mutex_);
      if (!ok) broken_ = true;
      write_started_ = absl::InfiniteFuture();
    }
    Deliver();
  }

  void OnDone() override {
    environment().calls->Remove(this);
    delete this;
  }

  void OnTick(absl::Time now) override {
    MutexLock lock(&mutex_);
    if (now - write_started_ < environment().limits.stall_timeout) return;
    stalled_ = true;
    call_.cancellation()->Cancel();
    context_->TryCancel();
  }

  void OnDrain() override {}  // ends by itself

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

  ~GenerateCall() override = default;

  const Environment& environment() const { return call_.environment(); }
  void End(const absl::Status& status) { Finish(call_.Close(status)); }

  void PrepareAndSubmit() {
    if (absl::Status status = call_.Wanted(); !status.ok()) return End(status);
    const absl::Time before = environment().clock->Now();
    absl::StatusOr<Request> request = generation_.Prepare();
    call_.AddTokenizeTime(environment().clock->Now() - before);
    if (!request.ok()) return End(request.status());
    {
      MutexLock lock(&mutex_);
      news_.ids.resize(generation_.hypotheses());
    }
    if (generation_.blank()) return OnResult(RequestResult());

    request->model = call_.model().index;
    request->deadline = call_.deadline();
    request->cancellation = call_.cancellation();
    request->observer = std::make_shared<Sink>(this);
    std::vector<Request> requests;
    requests.push_back(*std::move(request));
    Batcher& batcher = *environment().batcher;
    const absl::Status status =
        batcher.Submit(batcher.NewCall(), std::move(requests));
    // Once the batcher has taken the request, this may be deleted already.
    if (!status.ok()) {
      End(FromBatcher(status, batcher,
                      [](int) { return std::string("input"); }));
    }
  }

  // On a worker.
  void OnTokens(int index, std::span<const int32_t> ids) {
    MutexLock lock(&mutex_);
    std::vector<int32_t>& pending = news_.ids[index];
    pending.insert(pending.end(), ids.begin(), ids.end());
    WakeLocked();
  }

  // On a worker, the last thing it says.
  void OnResult(absl::StatusOr<RequestResult> result) {
    MutexLock lock(&mutex_);
    news_.result = std::move(result);
    WakeLocked();
  }

  void WakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (busy_) return;
    busy_ = true;
    environment().delivery->Run([this] { Deliver(); });
  }

  // Writes the next message, or ends the call, or is busy no more.
  void Deliver() {
    while (true) {
      News news;
      bool lost = false;  // nobody reads: only the batcher's last word matters
      {
        MutexLock lock(&mutex_);
        lost = broken_ || stalled_;
        if (lost) generation_.messages().clear();
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
        return End(Explain(news.result->status()));
      }
      if (lost) return End(Explain(absl::CancelledError("the client went")));
      if (!generation_.messages().empty()) return WriteNext();
      for (size_t i = 0; i < news.ids.size(); ++i) {
        generation_.AddTokens(static_cast<int>(i), news.ids[i]);
      }
      if (news.result) generation_.AddEnd(**std::move(news.result));
    }
  }

  void WriteNext() {
    auto& messages = generation_.messages();
    // Pieces are small by their making.
    SerializeMessage(messages.front(), std::numeric_limits<int64_t>::max(),
                     &buffer_)
        .IgnoreError();
    messages.pop_front();
    {
      MutexLock lock(&mutex_);
      write_started_ = environment().clock->Now();
    }
    if (messages.empty() && generation_.complete()) {
      StartWriteAndFinish(&buffer_, grpc::WriteOptions(),
                          call_.Close(absl::OkStatus()));
    } else {
      StartWrite(&buffer_);
    }
  }

  absl::Status Explain(const absl::Status& status) {
    MutexLock lock(&mutex_);
    if (!stalled_) return status;
    return absl::CancelledError(
        fmt::format("the client took nothing for {}",
                    absl::FormatDuration(environment().limits.stall_timeout)));
  }

  Call call_;
  grpc::CallbackServerContext* const context_;

  // Of whoever is busy.
  Generation generation_;
  grpc::ByteBuffer buffer_;

  Mutex mutex_;
  News news_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;  // writes fail
  bool stalled_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time write_started_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
};

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* HandleGenerate(
    const Environment& environment, grpc::CallbackServerContext* context,
    const grpc::ByteBuffer* request) {
  auto* call = new GenerateCall(environment, context);
  call->Start(*request);
  return call;
}

}  // namespace trivium
