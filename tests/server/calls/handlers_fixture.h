#ifndef TRIVIUM_TESTS_SERVER_CALLS_HANDLERS_FIXTURE_H_
#define TRIVIUM_TESTS_SERVER_CALLS_HANDLERS_FIXTURE_H_

#include <gmock/gmock.h>

#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "server/calls/handlers.h"
#include "tests/support/error_texts.h"
#include "tests/support/fake_clock.h"
#include "tests/support/puppet_model.h"

namespace trivium {

// A batcher that keeps its requests until the test answers them in place of the
// workers. Thread-safe.
class ManualBatcher : public Batcher {
 public:
  // Submit refuses with this from now on.
  void Refuse(Submission refusal) {
    MutexLock lock(&mutex_);
    refusal_ = std::move(refusal);
    refusal_.retry_after = absl::Milliseconds(200);
  }
  // CheckAdmission answers this from now on.
  void RefuseBeforehand(Submission refusal) {
    MutexLock lock(&mutex_);
    foreseen_ = std::move(refusal);
    foreseen_.retry_after = absl::Milliseconds(200);
  }
  // The models that CheckAdmission was asked for.
  std::vector<std::string> foreseen() const {
    MutexLock lock(&mutex_);
    return asked_;
  }
  void set_free_tokens(int64_t tokens) {
    MutexLock lock(&mutex_);
    free_tokens_ = tokens;
  }
  // Waits for request i of all that were submitted, and returns it.
  Request& Wait(size_t i) {
    MutexLock lock(&mutex_);
    while (requests_.size() <= i) taken_.Wait(&mutex_);
    return requests_[i];
  }
  size_t count() const {
    MutexLock lock(&mutex_);
    return requests_.size();
  }
  // Answers request i with its own source as the translation.
  void Answer(size_t i) {
    const Request& request = Wait(i);
    RequestResult result;
    result.source_tokens = static_cast<int>(request.source.ids.size());
    Hypothesis& hypothesis = result.hypotheses.emplace_back();
    hypothesis.ids = request.source.ids;
    hypothesis.logprobs.resize(hypothesis.ids.size());
    hypothesis.reason = FinishReason::kEnd;
    request.observer->OnDone(std::move(result));
  }

  absl::Status AddModel(ModelHandle, Engines) override {
    return absl::OkStatus();
  }
  absl::Status RemoveModel(const ServedModel&) override {
    return absl::OkStatus();
  }
  bool Serves(const ServedModel&) const override { return true; }
  CallId NewCall() override { return 1; }
  Submission Submit(CallId, std::vector<Request> requests) override {
    MutexLock lock(&mutex_);
    if (!refusal_.ok()) return refusal_;
    for (Request& request : requests) requests_.push_back(std::move(request));
    taken_.SignalAll();
    return {};
  }
  Submission CheckAdmission(const ServedModel* model, Sender, CallId,
                            absl::Time) override {
    MutexLock lock(&mutex_);
    asked_.push_back(model == nullptr ? "" : model->name);
    return foreseen_;
  }
  void AddInTransit(CallId, Sender) override {}
  void RemoveInTransit(CallId) override {}
  int64_t free_waiting_tokens(Sender) const override {
    MutexLock lock(&mutex_);
    return free_tokens_;
  }
  bool Drain(absl::Duration) override { return true; }

 private:
  mutable Mutex mutex_;
  CondVar taken_;
  Submission refusal_ ABSL_GUARDED_BY(mutex_);
  Submission foreseen_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> asked_ ABSL_GUARDED_BY(mutex_);
  int64_t free_tokens_ ABSL_GUARDED_BY(mutex_) = 1 << 20;
  std::deque<Request> requests_ ABSL_GUARDED_BY(mutex_);
};

// A transport whose client is the test. Thread-safe.
class FakeTransport : public RequestStream {
 public:
  // ParseRequest returns this request and status from now on.
  void Bring(const google::protobuf::Message& request,
             absl::Status status = absl::OkStatus()) {
    request_.reset(request.New());
    request_->CopyFrom(request);
    status_ = std::move(status);
  }

  absl::Status ParseRequest(google::protobuf::Message* request) override {
    ++taken_;
    request->CopyFrom(*request_);
    return status_;
  }
  void Write(const google::protobuf::Message& response) override {
    MutexLock lock(&mutex_);
    Keep(response);
  }
  void Finish(const Ending& ending,
              const google::protobuf::Message* last) override {
    MutexLock lock(&mutex_);
    EXPECT_FALSE(ending_) << "finished twice";
    if (last != nullptr) Keep(*last);
    ending_ = ending;
    changed_.SignalAll();
  }
  void Read() override {
    MutexLock lock(&mutex_);
    ++reads_;
    changed_.SignalAll();
  }
  void BreakOff() override {
    MutexLock lock(&mutex_);
    broken_off_ = true;
    changed_.SignalAll();
  }

  Ending WaitForFinish() {
    MutexLock lock(&mutex_);
    while (!ending_) changed_.Wait(&mutex_);
    return *ending_;
  }
  void WaitForBreakOff() {
    MutexLock lock(&mutex_);
    while (!broken_off_) changed_.Wait(&mutex_);
  }
  void WaitForReads(int count) {
    MutexLock lock(&mutex_);
    while (reads_ < count) changed_.Wait(&mutex_);
  }
  // Waits for response i, and returns it.
  template <typename Message>
  Message Response(size_t i) {
    MutexLock lock(&mutex_);
    while (written_.size() <= i) changed_.Wait(&mutex_);
    return dynamic_cast<const Message&>(*written_[i]);
  }
  size_t written() const {
    MutexLock lock(&mutex_);
    return written_.size();
  }
  int reads() const {
    MutexLock lock(&mutex_);
    return reads_;
  }
  bool finished() const {
    MutexLock lock(&mutex_);
    return ending_.has_value();
  }
  bool broken_off() const {
    MutexLock lock(&mutex_);
    return broken_off_;
  }
  int taken() const { return taken_; }

 private:
  void Keep(const google::protobuf::Message& response)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    written_.emplace_back(response.New());
    written_.back()->CopyFrom(response);
    changed_.SignalAll();
  }

  // The test and the handler use these in turns, so they need no lock.
  std::unique_ptr<google::protobuf::Message> request_;
  absl::Status status_;
  int taken_ = 0;

  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<std::unique_ptr<google::protobuf::Message>> written_
      ABSL_GUARDED_BY(mutex_);
  std::optional<Ending> ending_ ABSL_GUARDED_BY(mutex_);
  int reads_ ABSL_GUARDED_BY(mutex_) = 0;
  bool broken_off_ ABSL_GUARDED_BY(mutex_) = false;
};

// Handlers of one puppet model, "translator". The test drives the transport,
// the batcher and the clock.
class HandlersTest : public testing::Test {
 protected:
  HandlersTest() {
    const ModelHandle model = ServedPuppet("translator");
    metrics_.AddModel(*model);
    environment_.models.Add(model).IgnoreError();
    environment_.batcher = &batcher_;
    environment_.metrics = &metrics_;
    environment_.calls = &calls_;
    environment_.tokenizing = &tokenizing_;
    environment_.delivery = &delivery_;
    environment_.clock = &clock_;
  }

  // Waits until the delivery pool has done all its work.
  void WaitForDelivery() { WaitFor(&delivery_); }
  // Waits until the pool has done all its work. The waiting piece is a long
  // one, because the pool would run a short one inside of other work.
  static void WaitFor(WorkPool* pool) {
    std::promise<void> done;
    pool->Run({0, &done}, WorkPool::kPieceBytes + 1,
              [&done] { done.set_value(); });
    done.get_future().wait();
  }

  // Lets time pass for streams: the registry ticks once, at the new time.
  void Tick(absl::Duration by = absl::Milliseconds(20)) {
    clock_.AwaitSleeper(clock_.Now() + absl::Milliseconds(20));
    clock_.Advance(by);
  }

  static auto InvalidAt(const char* place) {
    return IsError(absl::StatusCode::kInvalidArgument, place);
  }
  static std::string MessageOf(const Ending& ending) {
    return std::string(ending.status.message());
  }

  FakeClock clock_;
  Metrics metrics_{1};
  ManualBatcher batcher_;
  CallRegistry calls_{&clock_};
  Environment environment_;
  // Each has one thread, so that its work is done in order.
  WorkPool tokenizing_{1};
  WorkPool delivery_{1};
  FakeTransport transport_;
  std::unique_ptr<Handler> handler_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SERVER_CALLS_HANDLERS_FIXTURE_H_
