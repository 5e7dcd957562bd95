// Parts say what they have from any thread; the transport gets one response at
// a time. `writing_` is set from its Write to OnWritten, and whoever finds it
// not set writes the next. The whole ends once nothing runs and nothing waits
// to be written; it may be deleted then, so who could be the last to do so
// touches nothing afterwards.
#include "server/adapters/completions.h"

#include <fmt/format.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "internal/completions.pb.h"
#include "server/calls/call.h"

namespace trivium {
namespace {

using google::protobuf::Message;

// Of a prompt among several.
absl::Status AtPrompt(int number, const absl::Status& status) {
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
        transport_(transport) {
    environment_.calls->Add(this);
  }
  ~CompletionsCall() override { environment_.calls->Remove(this); }

  void Start() override;
  void OnCancel() override;
  void OnWritten(bool ok) override;
  void OnTick(absl::Time now) override;

 private:
  // A prompt's call, of whose handler it is the transport.
  class Part final : public ResponseStream {
   public:
    Part(CompletionsCall* whole, int number, v1::GenerateRequest request)
        : whole_(whole),
          number_(number),
          first_(static_cast<uint32_t>(number) *
                 request.decoding().num_hypotheses()),
          request_(std::move(request)) {}

    absl::Status Take(Message* request) override {
      *static_cast<v1::GenerateRequest*>(request) = std::move(request_);
      return absl::OkStatus();
    }
    void Write(const Message& response) override {
      whole_->Add(this, OfWhole(response));
    }
    void Finish(const Ending& ending, const Message* last) override {
      if (last != nullptr) whole_->Add(nullptr, OfWhole(*last));
      whole_->End(number_, ending);
    }
    // The client is the whole's, and so is the time that it takes.
    void BreakOff() override {}
    bool notices_stalls() const override { return true; }

    std::unique_ptr<Handler> handler;

   private:
    v1::GenerateResponse OfWhole(const Message& response) const {
      auto out = static_cast<const v1::GenerateResponse&>(response);
      out.set_index(first_ + out.index());
      return out;
    }

    CompletionsCall* const whole_;
    const int number_;
    const uint32_t first_;  // index of its first hypothesis
    v1::GenerateRequest request_;
  };

  struct Piece {
    Part* part;  // that waits until it is written; null: none does
    v1::GenerateResponse response;
  };

  // Null where no more are wanted.
  Part* Begin(int number, v1::GenerateRequest request);
  void Add(Part* part, v1::GenerateResponse response);
  // A part has nothing more to say.
  void End(int number, const Ending& ending);
  void CancelLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LeaveOne();
  // Writes what is next, or ends the whole.
  void Advance();

  const Environment& environment_;
  const CallContext context_;
  ResponseStream* const transport_;
  bool several_ = false;  // before the first part begins

  Mutex mutex_;
  std::vector<std::unique_ptr<Part>> parts_ ABSL_GUARDED_BY(mutex_);
  int running_ ABSL_GUARDED_BY(mutex_) = 1;  // parts; and Start, while it runs
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Piece> waiting_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time write_started_ ABSL_GUARDED_BY(mutex_);  // while writing_
  Part* written_for_ ABSL_GUARDED_BY(mutex_) = nullptr;
  Ending ending_ ABSL_GUARDED_BY(mutex_);  // the first error's, or the last
};

void CompletionsCall::Start() {
  internal::Completions all;
  if (const absl::Status status = transport_->Take(&all); !status.ok()) {
    return transport_->Finish(
        EndEarly(environment_, Rpc::kGenerate, context_, status), nullptr);
  }
  several_ = all.requests_size() > 1;
  for (int i = 0; i < all.requests_size(); ++i) {
    Part* const part = Begin(i, std::move(*all.mutable_requests(i)));
    if (part == nullptr) break;
    part->handler->Start();
  }
  LeaveOne();
}

CompletionsCall::Part* CompletionsCall::Begin(int number,
                                              v1::GenerateRequest request) {
  {
    MutexLock lock(&mutex_);
    // The first one begins in any case, and tells how the call ends.
    if (cancelled_ && number > 0) return nullptr;
    ++running_;
  }
  auto part = std::make_unique<Part>(this, number, std::move(request));
  part->handler = NewGenerate(environment_, context_, part.get());
  MutexLock lock(&mutex_);
  if (cancelled_) part->handler->OnCancel();
  return parts_.emplace_back(std::move(part)).get();
}

void CompletionsCall::OnCancel() {
  MutexLock lock(&mutex_);
  CancelLocked();
}

// That of a Generate call only leaves a mark.
void CompletionsCall::CancelLocked() {
  cancelled_ = true;
  for (const auto& part : parts_) part->handler->OnCancel();
}

void CompletionsCall::Add(Part* part, v1::GenerateResponse response) {
  {
    MutexLock lock(&mutex_);
    waiting_.push_back({part, std::move(response)});
  }
  Advance();
}

void CompletionsCall::OnWritten(bool ok) {
  Part* part = nullptr;
  {
    MutexLock lock(&mutex_);
    writing_ = false;
    part = std::exchange(written_for_, nullptr);
  }
  Advance();
  // It runs until it hears of it, and so does the whole.
  if (part != nullptr) part->handler->OnWritten(ok);
}

void CompletionsCall::OnTick(absl::Time now) {
  const absl::Duration stall = environment_.limits.stall_timeout;
  {
    MutexLock lock(&mutex_);
    if (!writing_ || now - write_started_ < stall) return;
    if (ending_.status.ok()) {
      ending_.status = absl::CancelledError(fmt::format(
          "the client took nothing for {}", absl::FormatDuration(stall)));
    }
    CancelLocked();
  }
  // Without the lock: the transport has locks of its own, under which it may
  // call OnCancel.
  transport_->BreakOff();
}

void CompletionsCall::End(int number, const Ending& ending) {
  {
    MutexLock lock(&mutex_);
    if (ending_.status.ok()) {
      ending_ = ending;
      if (!ending.status.ok()) CancelLocked();
      if (several_ && absl::IsInvalidArgument(ending.status)) {
        ending_.status = AtPrompt(number, ending.status);
      }
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
  Piece piece;
  Ending ending;
  bool ends = false;
  {
    MutexLock lock(&mutex_);
    if (writing_) return;
    writing_ = true;
    write_started_ = environment_.clock->Now();
    if (!waiting_.empty()) {
      piece = std::move(waiting_.front());
      waiting_.pop_front();
      written_for_ = piece.part;
    } else if (running_ == 0) {
      ends = true;  // nothing is written any more
      ending = ending_;
    } else {
      writing_ = false;
      return;
    }
  }
  if (ends) return transport_->Finish(ending, nullptr);
  transport_->Write(piece.response);
}

}  // namespace

std::unique_ptr<Handler> NewCompletions(const Environment& environment,
                                        CallContext context,
                                        ResponseStream* transport) {
  return std::make_unique<CompletionsCall>(environment, std::move(context),
                                           transport);
}

}  // namespace trivium
