// Parts add responses from any thread; the transport gets one at a time. From
// its Write to OnWritten the outbox is writing, and a thread that finds it not
// writing begins the next write. The whole ends once no part runs and nothing
// waits to be written. It may be deleted then, so a thread whose Advance could
// have ended it touches nothing afterwards.
#include "server/adapters/completions.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/exceptions.h"
#include "base/mutex.h"
#include "internal/completions.pb.h"
#include "server/adapters/http_status.h"
#include "server/calls/call.h"
#include "server/calls/outbox.h"

namespace trivium {
namespace {

using google::protobuf::Message;

// `status` of one prompt among several, which its message names. One about an
// option that all share stays as it is.
absl::Status AtPrompt(int number, const absl::Status& status) {
  if (FieldOf(status).starts_with("decoding.")) return status;
  absl::Status out(status.code(), fmt::format("prompt[{}]: {}", number,
                                              std::string(status.message())));
  status.ForEachPayload(
      [&out](absl::string_view url, const absl::Cord& payload) {
        out.SetPayload(url, payload);
      });
  return out;
}

class CompletionsCall final : public Handler {
 public:
  CompletionsCall(const Environment& environment, CallContext context,
                  ResponseStream* transport)
      : environment_(environment),
        context_(std::move(context)),
        transport_(transport),
        outbox_(context_.held.get(), environment.limits.stall_timeout) {
    environment_.calls->Add(this);
  }
  ~CompletionsCall() override { environment_.calls->Remove(this); }

  void Start() override;
  void OnCancel() override;
  void OnWritten(bool ok) override;
  void OnTick(absl::Time now) override;

 private:
  // The call of one prompt: its handler and, as this, the handler's transport.
  class Part final : public ResponseStream {
   public:
    Part(CompletionsCall* whole, int number, v1::GenerateRequest request)
        : whole_(whole),
          number_(number),
          first_(static_cast<uint32_t>(number) *
                 request.decoding().num_hypotheses()),
          request_(std::move(request)) {}

    absl::Status ParseRequest(Message* request) override {
      *static_cast<v1::GenerateRequest*>(request) = std::move(request_);
      return absl::OkStatus();
    }
    void Write(const Message& response) override {
      whole_->Add(OfWhole(response), handler.get());
    }
    void Finish(const Ending& ending, const Message* last) override {
      const absl::Status added = CatchExceptions([&] {
        if (last != nullptr) whole_->Add(OfWhole(*last), nullptr);
      });
      const Ending failed = {added, ""};
      whole_->End(number_, added.ok() ? ending : failed);
    }
    // Only the whole breaks off (NewGeneratePart), and keeps alive.
    void BreakOff() override {}
    void BeginAnswer() override { whole_->OnAdmitted(); }

    std::unique_ptr<Handler> handler;

   private:
    std::unique_ptr<Message> OfWhole(const Message& response) const {
      auto out = std::make_unique<v1::GenerateResponse>(
          static_cast<const v1::GenerateResponse&>(response));
      out->set_index(first_ + out->index());
      return out;
    }

    CompletionsCall* const whole_;
    const int number_;
    const uint32_t first_;  // index of its first hypothesis
    v1::GenerateRequest request_;
  };

  // Returns null once the call is cancelled. A part that it cannot make counts
  // as running.
  Part* Begin(int number, v1::GenerateRequest request);
  // `writer` waits until the response is written; null: nobody does.
  void Add(std::unique_ptr<Message> response, Handler* writer);
  // A part is admitted.
  void OnAdmitted();
  // A part has ended; its last response was added before.
  void End(int number, const Ending& ending);
  // The whole ends with `status`, unless it ends with another one already.
  void FailLocked(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CancelLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LeaveOne();
  // Writes the next response, or ends the whole. Does not throw.
  void Advance();

  const Environment& environment_;
  const CallContext context_;
  ResponseStream* const transport_;
  int prompts_ = 0;  // written before the first part begins

  Mutex mutex_;
  std::vector<std::unique_ptr<Part>> parts_ ABSL_GUARDED_BY(mutex_);
  int running_ ABSL_GUARDED_BY(mutex_) =
      1;  // parts, and Start as long as it runs
  int admitted_ ABSL_GUARDED_BY(mutex_) = 0;        // parts
  bool answering_ ABSL_GUARDED_BY(mutex_) = false;  // all are admitted
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  Outbox outbox_ ABSL_GUARDED_BY(mutex_);
  Ending ending_ ABSL_GUARDED_BY(mutex_);  // the first error's, or the last
  // The transport has the end, and times how long the client takes for it.
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

void CompletionsCall::Start() {
  internal::Completions all;
  if (const absl::Status status =
          CatchExceptions([&] { return transport_->ParseRequest(&all); });
      !status.ok()) {
    return transport_->Finish(
        EndEarly(environment_, Rpc::kGenerate, context_, status), nullptr);
  }
  prompts_ = all.requests_size();
  for (int i = 0; i < all.requests_size(); ++i) {
    Part* part = nullptr;
    const absl::Status status = CatchExceptions(
        [&] { part = Begin(i, std::move(*all.mutable_requests(i))); });
    if (!status.ok()) {
      MutexLock lock(&mutex_);
      --running_;
      FailLocked(status);
    }
    if (part == nullptr) break;
    part->handler->Start();
  }
  LeaveOne();
}

void CompletionsCall::FailLocked(const absl::Status& status) {
  if (ending_.status.ok()) ending_ = {status, ""};
  CancelLocked();
}

CompletionsCall::Part* CompletionsCall::Begin(int number,
                                              v1::GenerateRequest request) {
  {
    MutexLock lock(&mutex_);
    // The first one always begins, and says how the call ends.
    if (cancelled_ && number > 0) return nullptr;
    ++running_;
  }
  auto part = std::make_unique<Part>(this, number, std::move(request));
  part->handler = NewGeneratePart(environment_, context_, part.get());
  MutexLock lock(&mutex_);
  if (cancelled_) part->handler->OnCancel();
  return parts_.emplace_back(std::move(part)).get();
}

void CompletionsCall::OnCancel() {
  MutexLock lock(&mutex_);
  CancelLocked();
}

// OnCancel of a Generate call only sets a flag, so it may be called with the
// lock.
void CompletionsCall::CancelLocked() {
  cancelled_ = true;
  for (const auto& part : parts_) part->handler->OnCancel();
}

void CompletionsCall::Add(std::unique_ptr<Message> response, Handler* writer) {
  {
    MutexLock lock(&mutex_);
    outbox_.Push(std::move(response), writer);
  }
  Advance();
}

void CompletionsCall::OnWritten(bool ok) {
  Handler* writer = nullptr;
  {
    MutexLock lock(&mutex_);
    writer = outbox_.EndWrite();
  }
  Advance();
  // The writer does not end before it hears of this, so the whole lives.
  if (writer != nullptr) writer->OnWritten(ok);
}

// The client hears of it once all parts are admitted, since a part that is
// refused makes the whole a refusal.
void CompletionsCall::OnAdmitted() {
  {
    MutexLock lock(&mutex_);
    if (++admitted_ < prompts_ || cancelled_) return;
    answering_ = true;
  }
  // The part that calls this has not ended, so the whole lives.
  transport_->BeginAnswer();
}

void CompletionsCall::OnTick(absl::Time now) {
  {
    MutexLock lock(&mutex_);
    const absl::Status stall = outbox_.CheckStall(now);
    if (stall.ok()) {
      if (answering_ && !ended_) {
        CatchExceptions([&] { transport_->KeepAlive(now); }).IgnoreError();
      }
      return;
    }
    if (ending_.status.ok()) ending_.status = stall;
    CancelLocked();
  }
  // Without the lock, since the transport may call OnCancel under a lock of its
  // own.
  transport_->BreakOff();
}

void CompletionsCall::End(int number, const Ending& ending) {
  {
    MutexLock lock(&mutex_);
    if (ending_.status.ok()) {
      ending_.status = ending.status;
      if (!ending.status.ok()) CancelLocked();
      // Without memory the client learns less.
      CatchExceptions([&] {
        mutex_.AssertHeld();
        ending_.request_id = ending.request_id;
        if (prompts_ > 1 && absl::IsInvalidArgument(ending.status)) {
          ending_.status = AtPrompt(number, ending.status);
        }
      }).IgnoreError();
    }
  }
  LeaveOne();
}

void CompletionsCall::LeaveOne() {
  {
    MutexLock lock(&mutex_);
    --running_;
  }
  Advance();
}

void CompletionsCall::Advance() {
  std::unique_ptr<Message> response;
  Ending ending;
  {
    MutexLock lock(&mutex_);
    if (outbox_.writing() || ended_) return;
    response = outbox_.BeginWrite(environment_.clock->Now());
    if (response == nullptr) {
      if (running_ > 0) return;
      ended_ = true;
      ending = std::move(ending_);
    }
  }
  if (response == nullptr) return transport_->Finish(ending, nullptr);
  const absl::Status status =
      CatchExceptions([&] { transport_->Write(*response); });
  if (status.ok()) return;
  {
    MutexLock lock(&mutex_);
    FailLocked(status);
  }
  OnWritten(false);
}

}  // namespace

std::unique_ptr<Handler> NewCompletions(const Environment& environment,
                                        CallContext context,
                                        ResponseStream* transport) {
  return std::make_unique<CompletionsCall>(environment, std::move(context),
                                           transport);
}

}  // namespace trivium
