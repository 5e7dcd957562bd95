// Always:
// - emit_mutex_ is taken before mutex_, never the other way round. mutex_ is
//   not held while `emit` runs, or while the source or the stream blocks.
// - An item counts as owed before it is written, so a result never comes for an
//   item that is not counted.
// - The end of the reader ends the rest: it sets ended_, for which the other
//   two threads look, and interrupts the source. So Fail only cancels the
//   stream.
// - An error of the source does not cancel the stream: items that were sent are
//   still answered.
// - The first error is returned. Those that follow from it are lost.
#include "client/translate_in_order.h"

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/mutex.h"
#include "client/call_status.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Three threads: the caller's reads the source and writes the stream, one
// reads the stream and emits, one watches for a server that stalls.
class OrderedTranslation {
 public:
  OrderedTranslation(
      TranslateStream& stream, InputSource& source,
      const OrderedTranslationOptions& options,
      const std::function<absl::Status(const v1::TranslateStreamResponse&)>&
          emit)
      : stream_(stream), source_(source), options_(options), emit_(emit) {}

  absl::Status Run();

 private:
  void WriteAll();
  void ReadAll();
  void Watch();
  // Waits for a free place in the window. Returns false if the stream has
  // ended.
  bool WaitForPlace() ABSL_LOCKS_EXCLUDED(mutex_);
  void EmitReady() ABSL_LOCKS_EXCLUDED(mutex_);
  // Records `status` if it is the first error, and cancels the stream.
  void Fail(absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_);
  void AddFinished(v1::TranslateStreamResponse response)
      ABSL_LOCKS_EXCLUDED(mutex_);

  TranslateStream& stream_;
  InputSource& source_;
  const OrderedTranslationOptions options_;
  const std::function<absl::Status(const v1::TranslateStreamResponse&)>& emit_;

  // Held while emitting, so that items that failed here (caller's thread) and
  // results (reader's thread) are emitted in one order.
  Mutex emit_mutex_;
  uint64_t next_emitted_ ABSL_GUARDED_BY(emit_mutex_) = 0;

  Mutex mutex_;
  CondVar changed_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;        // the stream
  bool source_done_ ABSL_GUARDED_BY(mutex_) = false;  // every item was sent
  uint64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;        // from the source
  uint64_t emitted_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t owed_ ABSL_GUARDED_BY(mutex_) = 0;  // by the server
  // Time when the server began to owe results without sending any. Infinite
  // while results are being emitted, since nothing is read then.
  absl::Time owed_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  std::map<uint64_t, v1::TranslateStreamResponse> finished_
      ABSL_GUARDED_BY(mutex_);
};

absl::Status OrderedTranslation::Run() {
  std::thread reader([this] { ReadAll(); });
  std::thread watcher([this] { Watch(); });
  WriteAll();
  reader.join();
  watcher.join();
  const absl::Status stream_status = stream_.Finish();
  MutexLock lock(&mutex_);
  if (!status_.ok()) return status_;
  if (!stream_status.ok()) return stream_status;
  if (owed_ > 0 || !source_done_) {
    return absl::DataLossError(fmt::format(
        "the server ended the stream early: {} texts have no answer{}", owed_,
        source_done_ ? "" : " and more were to come"));
  }
  return absl::OkStatus();
}

void OrderedTranslation::WriteAll() {
  while (WaitForPlace()) {
    absl::StatusOr<std::optional<InputSource::Item>> item = source_.Next();
    if (!item.ok()) {
      // Items that were sent before are still answered.
      MutexLock lock(&mutex_);
      if (status_.ok()) status_ = item.status();
      break;
    }
    if (!item->has_value()) {
      // An interrupted source returns the end, too.
      MutexLock lock(&mutex_);
      source_done_ = !ended_;
      break;
    }
    v1::TranslateStreamRequest::Item request;
    {
      MutexLock lock(&mutex_);
      request.set_id(fmt::to_string(taken_++));
      if ((*item)->error.ok() && owed_++ == 0) {
        owed_since_ = absl::Now();
        changed_.SignalAll();  // for Watch
      }
    }
    if (!(*item)->error.ok()) {
      v1::TranslateStreamResponse response;
      response.set_id(request.id());
      *response.mutable_error() = ToRpcStatus((*item)->error);
      AddFinished(std::move(response));
      EmitReady();
      continue;
    }
    *request.mutable_input() = std::move((*item)->input);
    if (!stream_.Write(request)) return;
  }
  stream_.WritesDone();
}

bool OrderedTranslation::WaitForPlace() {
  MutexLock lock(&mutex_);
  while (!ended_ &&
         taken_ - emitted_ >= static_cast<uint64_t>(options_.window)) {
    changed_.Wait(&mutex_);
  }
  return !ended_;
}

void OrderedTranslation::ReadAll() {
  v1::TranslateStreamResponse response;
  while (stream_.Read(&response)) {
    {
      MutexLock lock(&mutex_);
      owed_since_ = absl::InfiniteFuture();
      if (owed_ > 0) --owed_;
    }
    AddFinished(std::move(response));
    EmitReady();
    MutexLock lock(&mutex_);
    if (owed_ > 0) owed_since_ = absl::Now();
  }
  MutexLock lock(&mutex_);
  ended_ = true;
  changed_.SignalAll();
  source_.Interrupt();
}

void OrderedTranslation::AddFinished(v1::TranslateStreamResponse response) {
  uint64_t id;
  if (!absl::SimpleAtoi(response.id(), &id)) {
    return Fail(absl::DataLossError(
        fmt::format("the server sent a result with the id '{}', which no text "
                    "has",
                    response.id())));
  }
  MutexLock lock(&mutex_);
  finished_[id] = std::move(response);
}

void OrderedTranslation::EmitReady() {
  MutexLock emit_lock(&emit_mutex_);
  while (true) {
    v1::TranslateStreamResponse response;
    {
      MutexLock lock(&mutex_);
      const auto found = finished_.find(next_emitted_);
      if (found == finished_.end()) return;
      response = std::move(found->second);
      finished_.erase(found);
    }
    ++next_emitted_;
    absl::Status status = emit_(response);
    if (!status.ok()) return Fail(std::move(status));
    MutexLock lock(&mutex_);
    ++emitted_;
    changed_.SignalAll();
  }
}

void OrderedTranslation::Fail(absl::Status status) {
  {
    MutexLock lock(&mutex_);
    if (status_.ok()) status_ = std::move(status);
  }
  stream_.Cancel();
}

void OrderedTranslation::Watch() {
  while (true) {
    {
      MutexLock lock(&mutex_);
      if (ended_) return;
      const absl::Duration left =
          owed_since_ + options_.stall_timeout - absl::Now();
      if (left > absl::ZeroDuration()) {
        // Wakes at least once a second, since the clock may have been changed.
        changed_.WaitFor(&mutex_, std::min(left, absl::Seconds(1)));
        continue;
      }
    }
    Fail(absl::DeadlineExceededError(
        fmt::format("no result for {:g} s; the stream was cancelled (a longer "
                    "timeout waits longer)",
                    absl::ToDoubleSeconds(options_.stall_timeout))));
    return;
  }
}

}  // namespace

absl::Status TranslateInOrder(
    TranslateStream& stream, InputSource& source,
    const OrderedTranslationOptions& options,
    const std::function<absl::Status(const v1::TranslateStreamResponse&)>&
        emit) {
  return OrderedTranslation(stream, source, options, emit).Run();
}

}  // namespace trivium
