// One loop, on the caller's thread, starts calls, aborts them and records their
// ends. Callbacks of calls only put a sample into the inbox, on which the loop
// waits. So pacer, abort plan and recorder need no locks.
//
// The loop starts one call per turn while calls are due, and collects finished
// ones in between. After the end of sending it continues until no call is in
// flight. A measured number of calls (`count`) counts those that were meant to
// start after the warm-up.
#include "client/load/runner.h"

#include <algorithm>
#include <memory>
#include <queue>
#include <stop_token>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/print.h"
#include "client/load/abort_plan.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Collects finished calls from callbacks. Shared with them, since the last
// callback may still be returning from it when the run has ended.
class Inbox {
 public:
  void Put(Sample sample) {
    MutexLock lock(&mutex_);
    samples_.push_back(std::move(sample));
    changed_.Signal();
  }

  // Returns the finished calls; waits for the first until `until` at most.
  std::vector<Sample> Take(absl::Time until) {
    MutexLock lock(&mutex_);
    if (samples_.empty()) {
      const absl::Duration left = until - absl::Now();
      if (left > absl::ZeroDuration()) {
        changed_.WaitFor(&mutex_, left);
      }
    }
    return std::exchange(samples_, {});
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<Sample> samples_ ABSL_GUARDED_BY(mutex_);
};

// Calls to abort, the next one first. Aborting a call that has ended has no
// effect.
class Aborts {
 public:
  Aborts(double share, uint64_t seed) : plan_(share, seed) {}

  // Returns the token that will abort call `number`, which starts now.
  std::stop_token Add(int64_t number, CallKind kind, absl::Time now) {
    const absl::Duration after = plan_.After(number, kind);
    if (after == absl::InfiniteDuration()) return {};
    const std::stop_source source;
    const std::stop_token token = source.get_token();
    waiting_.push({now + after, source});
    return token;
  }

  void GiveUp(absl::Time now) {
    for (; next() <= now; waiting_.pop()) {
      waiting_.top().source.request_stop();
    }
  }
  absl::Time next() const {
    return waiting_.empty() ? absl::InfiniteFuture() : waiting_.top().time;
  }

  void Learn(const Sample& sample) {
    if (!sample.aborted) {
      plan_.Ended(sample.kind, sample.finished - sample.started);
    }
  }

 private:
  struct Abort {
    absl::Time time;
    mutable std::stop_source source;
    bool operator<(const Abort& other) const { return time > other.time; }
  };

  AbortPlan plan_;
  std::priority_queue<Abort> waiting_;
};

void StartCall(Caller& caller, PlannedCall call, absl::Time intended,
               std::stop_token stop, const std::shared_ptr<Inbox>& inbox) {
  Sample sample;
  sample.intended = intended;
  sample.started = absl::Now();
  sample.kind = call.kind;
  sample.texts = static_cast<int>(call.inputs.size());
  caller.Start(
      std::move(call), stop,
      [inbox, stop, sample = std::move(sample)](CallOutcome outcome) mutable {
        sample.finished = absl::Now();
        sample.aborted = stop.stop_requested() &&
                         outcome.code == grpc::StatusCode::CANCELLED;
        sample.outcome = std::move(outcome);
        inbox->Put(std::move(sample));
      });
}

}  // namespace

Recording RunLoad(const RunOptions& options, const Pacing& pacing,
                  const Workload& workload, Caller& caller,
                  const std::string& title, const std::atomic<bool>& stop) {
  // Short enough to notice `stop` and to draw the live line.
  constexpr absl::Duration kTick = absl::Milliseconds(100);
  const absl::Time start = absl::Now();
  const absl::Time measure_from = start + options.warm_up;
  const absl::Time send_until = options.count > 0
                                    ? absl::InfiniteFuture()
                                    : measure_from + options.duration;
  const std::unique_ptr<Pacer> pacer =
      MakePacer(pacing, start, options.warm_up);
  Aborts aborts(options.abort_share, workload.options().seed);
  Recorder recorder(measure_from);
  const auto inbox = std::make_shared<Inbox>();
  int64_t started = 0, measured = 0;
  int in_flight = 0;
  absl::Time last_finished = measure_from;
  absl::Time sending_ended = absl::InfiniteFuture();
  absl::Time live_drawn = absl::InfinitePast();
  while (true) {
    const absl::Time now = absl::Now();
    const absl::Time next = pacer->NextStart(now, in_flight);
    if (sending_ended == absl::InfiniteFuture() &&
        (stop || now >= send_until ||
         (options.count > 0 && measured >= options.count))) {
      sending_ended = now;
    }
    const bool sending = sending_ended == absl::InfiniteFuture();
    if (!sending && in_flight == 0) break;
    const bool start_one = sending && next <= now;
    if (start_one) {
      PlannedCall call = workload.Plan(started);
      std::stop_token abort = aborts.Add(started, call.kind, now);
      StartCall(caller, std::move(call), next, std::move(abort), inbox);
      ++started;
      if (next >= measure_from) ++measured;
      pacer->Started();
      ++in_flight;
    }
    aborts.GiveUp(now);
    absl::Time wake =
        start_one ? absl::InfinitePast() : std::min(now + kTick, aborts.next());
    if (sending) wake = std::min({wake, next, send_until});
    for (Sample& sample : inbox->Take(wake)) {
      --in_flight;
      last_finished = std::max(last_finished, sample.finished);
      aborts.Learn(sample);
      recorder.Add(std::move(sample));
    }
    if (options.live != nullptr && now - live_drawn >= absl::Seconds(1)) {
      live_drawn = now;
      PrintTo(options.live, "\r{}{}\033[K", title,
              LiveLine(recorder.counts(), now - start, now - measure_from,
                       in_flight));
      std::fflush(options.live);
    }
  }
  if (options.live != nullptr) PrintTo(options.live, "\r\033[K");
  return std::move(recorder).Finish(options.count > 0 ? last_finished
                                                      : sending_ended);
}

}  // namespace trivium
