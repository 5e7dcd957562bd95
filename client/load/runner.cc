#include "client/load/runner.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Where callbacks leave what has finished. Shared with them, since the last
// one may still be leaving it when the run has ended.
class Inbox {
 public:
  void Put(Sample sample) {
    MutexLock lock(&mutex_);
    samples_.push_back(std::move(sample));
    changed_.Signal();
  }

  // What has come, waiting for it at most until `until`.
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

void StartCall(Caller& caller, int64_t number, absl::Time intended,
               const std::shared_ptr<Inbox>& inbox) {
  const absl::Time started = absl::Now();
  caller.Start(number, [inbox, intended, started](CallOutcome outcome) {
    inbox->Put({intended, started, absl::Now(), std::move(outcome)});
  });
}

}  // namespace

Report RunLoad(const RunOptions& options, Pacer& pacer, Caller& caller,
               const std::atomic<bool>& stop) {
  // Often enough for `stop` and the live line.
  constexpr absl::Duration kTick = absl::Milliseconds(100);
  const absl::Time measure_from = options.start + options.warm_up;
  const absl::Time send_until = options.count > 0
                                    ? absl::InfiniteFuture()
                                    : measure_from + options.duration;
  Recorder recorder(measure_from);
  const auto inbox = std::make_shared<Inbox>();
  int64_t started = 0, measured = 0;
  int in_flight = 0;
  absl::Time last_finished = measure_from;
  absl::Time sending_ended = absl::InfiniteFuture();
  absl::Time live_drawn = absl::InfinitePast();
  while (true) {
    const absl::Time now = absl::Now();
    const absl::Time next = pacer.NextStart(now, in_flight);
    if (sending_ended == absl::InfiniteFuture() &&
        (stop || now >= send_until ||
         (options.count > 0 && measured >= options.count))) {
      sending_ended = now;
    }
    const bool sending = sending_ended == absl::InfiniteFuture();
    if (!sending && in_flight == 0) break;
    const bool start_one = sending && next <= now;
    if (start_one) {
      StartCall(caller, started++, next, inbox);
      if (next >= measure_from) ++measured;
      pacer.Started();
      ++in_flight;
    }
    absl::Time wake = start_one ? absl::InfinitePast() : now + kTick;
    if (sending) wake = std::min({wake, next, send_until});
    for (Sample& sample : inbox->Take(wake)) {
      --in_flight;
      last_finished = std::max(last_finished, sample.finished);
      recorder.Add(std::move(sample));
    }
    if (options.live != nullptr && now - live_drawn >= absl::Seconds(1)) {
      live_drawn = now;
      fmt::print(options.live, "\r{}\033[K",
                 LiveLine(recorder.counts(), now - options.start,
                          now - measure_from, in_flight));
      std::fflush(options.live);
    }
  }
  if (options.live != nullptr) fmt::print(options.live, "\r\033[K");
  return recorder.MakeReport(options.count > 0 ? last_finished : sending_ended);
}

}  // namespace trivium
