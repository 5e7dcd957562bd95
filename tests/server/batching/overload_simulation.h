#ifndef TRIVIUM_TESTS_SERVER_BATCHING_OVERLOAD_SIMULATION_H_
#define TRIVIUM_TESTS_SERVER_BATCHING_OVERLOAD_SIMULATION_H_

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "tests/server/batching/harness.h"

namespace trivium {

// Counts how calls end; each call has one request. The worker and the test use
// it.
class Outcomes {
 public:
  Outcomes(const Clock* clock, std::atomic<int>* in_flight)
      : clock_(clock), in_flight_(in_flight) {}

  std::shared_ptr<RequestObserver> Observe(absl::Time came) {
    ++accepted_;
    ++*in_flight_;
    return std::make_shared<One>(this, came);
  }
  void Refuse(const Submission& refusal) {
    Forget();
    EXPECT_EQ(refusal.status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_TRUE(refusal.late) << refusal.status;
    EXPECT_GE(refusal.retry_after, absl::Milliseconds(10));
    ++refused_;
    longest_retry_ = std::max(longest_retry_, refusal.retry_after);
  }
  // Takes back one Observe, for a call that was not accepted after all.
  void Forget() {
    --accepted_;
    --*in_flight_;
  }

  bool all_answered() const { return answered_ == accepted_; }
  int in_time() const { return in_time_; }
  int missed() const { return missed_; }
  int refused() const { return refused_; }
  absl::Duration longest() const { return longest_; }
  absl::Duration longest_wait() const { return longest_wait_; }
  absl::Duration longest_retry() const { return longest_retry_; }

 private:
  class One : public RequestObserver {
   public:
    One(Outcomes* all, absl::Time came) : all_(all), came_(came) {}
    void OnDone(absl::StatusOr<RequestResult> result) override {
      const absl::Duration took = all_->clock_->Now() - came_;
      if (result.ok()) {
        ++all_->in_time_;
        all_->longest_ = std::max(all_->longest_, took);
        all_->longest_wait_ = std::max(all_->longest_wait_, result->queue_time);
      } else {
        EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
        ++all_->missed_;
      }
      // Comes last, because the test reads the other counts after it.
      ++all_->answered_;
      --*all_->in_flight_;
    }

   private:
    Outcomes* const all_;
    const absl::Time came_;
  };

  const Clock* const clock_;
  std::atomic<int>* const in_flight_;  // of all Outcomes
  std::atomic<int> accepted_ = 0, answered_ = 0;
  int refused_ = 0;
  absl::Duration longest_retry_;
  // The worker uses these during a step, and the test between steps.
  int in_time_ = 0, missed_ = 0;
  absl::Duration longest_, longest_wait_;
};

class OverloadSimulation : public testing::Test {
 protected:
  OverloadSimulation() {
    puppets_.options.gate = &gate_;
    puppets_.options.clock = &clock_;
    // About the times of the embedded model on a core: 4 ms for a lone sentence
    // of 20 tokens, 28 ms for each of 64.
    puppets_.options.step_time = absl::Microseconds(180);
    puppets_.options.decode_time = absl::Microseconds(20);
    puppets_.options.encode_time = absl::Nanoseconds(500);
    puppets_.options.end_bias = -100;
    puppets_.options.limits.total_blocks = 1 << 16;
    options_.clock = &clock_;
    gate_.Close();
  }
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "skipped: simulations of overload, under a sanitizer: they "
                    "take minutes, of code that other tests run as well";
#endif
  }
  ~OverloadSimulation() override {
    gate_.Open();
    batcher_.reset();
    puppets_.ExpectCleanUse();
  }

  void Create() { batcher_ = puppets_.MakeBatcher(options_); }

  // Submits a call with one sentence of 10 to 30 tokens.
  bool Submit(ClientId client, absl::Duration time, Outcomes* outcomes) {
    const absl::Time now = clock_.Now();
    return Submit({.client = client,
                   .call = batcher_->NewCall(),
                   .came = now,
                   .deadline = now + time,
                   .outcomes = outcomes});
  }

  struct Call {
    ClientId client;
    CallId call;
    absl::Time came, deadline;
    Outcomes* outcomes;
    absl::Time arrives = absl::InfinitePast();
    Priority priority = Priority::kInteractive;

    Sender sender() const { return {client, priority}; }
  };
  bool Submit(const Call& call) {
    const int length = 10 + static_cast<int>(next_++ * 7 % 21);
    Submission submission = batcher_->CheckAdmission(
        TheModel().get(), call.sender(), call.call, call.deadline);
    if (submission.ok()) {
      Request request = MakeRequest(Source(length, static_cast<int>(next_)),
                                    Greedy(length), nullptr);
      request.client = call.client;
      request.priority = call.priority;
      request.deadline = call.deadline;
      request.observer = call.outcomes->Observe(call.came);
      submission = batcher_->Submit(call.call, {request});
      if (!submission.ok()) call.outcomes->Refuse(submission);
    } else {
      Refuse(call, submission);
    }
    return submission.ok();
  }
  // Submits a background call without a deadline.
  void SubmitBackground(Outcomes* outcomes) {
    Request request =
        MakeRequest(Source(20, static_cast<int>(next_++)), Greedy(20), nullptr);
    request.client = 3;
    request.priority = Priority::kBackground;
    request.observer = outcomes->Observe(clock_.Now());
    if (!batcher_->Submit(batcher_->NewCall(), {request}).ok()) {
      outcomes->Forget();
    }
  }
  void Refuse(const Call& call, const Submission& refusal) {
    batcher_->RemoveInTransit(call.call);
    call.outcomes->Observe(call.came);
    call.outcomes->Refuse(refusal);
  }

  // Sends the head of a call. The call is submitted after the transport has
  // handled the calls before it.
  void SendHead(ClientId client, absl::Duration time, Outcomes* outcomes) {
    const absl::Time now = clock_.Now();
    Call call = {.client = client,
                 .call = batcher_->NewCall(),
                 .came = now,
                 .deadline = now + time,
                 .outcomes = outcomes};
    const Submission submission =
        batcher_->CheckAdmission(nullptr, {client}, call.call, call.deadline);
    if (!submission.ok()) return Refuse(call, submission);
    batcher_->AddInTransit(call.call, {client});
    const absl::Time begin =
        on_the_way_.empty() ? now : std::max(now, on_the_way_.back().arrives);
    call.arrives = begin + transport_time_;
    on_the_way_.push_back(call);
  }
  void Arrive() {
    while (!on_the_way_.empty() &&
           on_the_way_.front().arrives <= clock_.Now()) {
      const Call& call = on_the_way_.front();
      if (call.deadline > clock_.Now()) {
        Submit(call);
      } else {
        batcher_->RemoveInTransit(call.call);
        ++lost_;
      }
      on_the_way_.pop_front();
    }
  }

  // Lets the running batch do one step.
  void Step() {
    gate_.WaitHeld();
    gate_.Allow(1);
    while (!gate_.Holds() && in_flight_ > 0) std::this_thread::yield();
  }

  // Sends `rate` calls a second for `duration`; each must be answered within
  // `time`.
  void Offer(double rate, absl::Duration duration, absl::Duration time,
             Outcomes* outcomes) {
    const absl::Time begin = clock_.Now();
    for (int64_t i = 0;; ++i) {
      const absl::Time next = begin + absl::Seconds(i / rate);
      while (clock_.Now() < next) {
        if (in_flight_ == 0) {
          clock_.Advance(next - clock_.Now());
        } else {
          Step();
        }
        Arrive();
      }
      if (next - begin >= duration) return;
      if (transport_time_ > absl::ZeroDuration()) {
        SendHead(/*client=*/1, time, outcomes);
      } else {
        Submit(/*client=*/1, time, outcomes);
      }
    }
  }
  void Finish(const Outcomes& outcomes) {
    while (!outcomes.all_answered()) Step();
  }

  // Measures the calls a second that are answered while enough calls wait.
  double Capacity() {
    Create();
    Outcomes outcomes(&clock_, &in_flight_);
    for (int i = 0; i < 6000; ++i) {
      Submit(1, absl::InfiniteDuration(), &outcomes);
    }
    for (int i = 0; i < 200; ++i) Step();
    const absl::Time begin = clock_.Now();
    const int before = outcomes.in_time();
    for (int i = 0; i < 250; ++i) Step();
    const double rate = (outcomes.in_time() - before) /
                        absl::ToDoubleSeconds(clock_.Now() - begin);
    Finish(outcomes);
    return rate;
  }

  StepGate gate_;
  FakeClock clock_;
  std::atomic<int> in_flight_ = 0;
  Puppets puppets_;
  Batcher::Options options_;
  std::unique_ptr<Batcher> batcher_;
  int64_t next_ = 0;
  absl::Duration transport_time_;  // of each call
  std::deque<Call> on_the_way_;
  int lost_ = 0;  // calls that arrived after their deadlines
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SERVER_BATCHING_OVERLOAD_SIMULATION_H_
