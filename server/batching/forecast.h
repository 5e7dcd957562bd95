#ifndef TRIVIUM_SERVER_BATCHING_FORECAST_H_
#define TRIVIUM_SERVER_BATCHING_FORECAST_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/time/time.h"
#include "server/batching/request_cost.h"
#include "server/batching/request_queue.h"
#include "server/batching/service_rate.h"

namespace trivium {

// When requests for one model would be answered, by what waits before them,
// what runs, and how fast that lately went. Of interactive requests, batch
// requests count for nothing. Not thread-safe.
//
//   const auto times = forecast.TimesOf(queue, sender, call, demand);
//   if (now + times.answer > deadline) refuse;
class Forecast {
 public:
  explicit Forecast(int workers) : rate_(workers) {
    for (std::vector<int64_t>& rows : running_) rows.resize(workers);
  }

  // What a call asks for.
  struct Demand {
    double tokens = 0;  // all of its requests
    double depth = 0;   // tokens a row (or a request without rows), at most
  };
  static Demand DemandOf(std::span<const RequestCost> costs);
  // Of a call whose texts nobody has read yet: as those of its client that came
  // lately. Of a client that has not been here: as the least that any client's
  // usually ask for, so that nobody is refused for what others ask.
  Demand usual_demand(ClientId client) const;
  // A call came, whether it was taken or not.
  void RecordDemand(ClientId client, const Demand& demand);
  // A call has told which model it is for: this one, or another.
  void RecordModel(bool this_model);

  struct Times {
    absl::Duration wait;    // until a worker takes its first request
    absl::Duration answer;  // until its last one is answered
  };
  // Zero where nothing waits or runs, or as long as the workers' rate is not
  // known: who has nothing to go by promises and refuses nothing.
  Times TimesOf(const RequestQueue& queue, Sender sender, CallId call,
                const Demand& demand) const {
    return TimesOf(queue, sender, call, demand, /*tokens_per_call=*/0);
  }
  // Of a call as its client's usually are that comes after all that are on
  // their way, each of which asks for this model as often as calls lately did,
  // and for as much as this one.
  Times TimesOfNext(const RequestQueue& queue, Sender sender,
                    CallId call) const;
  // Of a request that a worker would take now.
  absl::Duration TimeIfStarted(const RequestCost& cost,
                               Priority priority) const;

  // A call was refused for its time: there is more to do than room for it.
  void RecordRefusal(absl::Time now) { refused_ = now; }
  absl::Time last_refusal() const { return refused_; }
  // A worker has so many rows (or requests without rows) running.
  void SetRunning(int worker, Priority priority, int64_t rows) {
    running_[static_cast<int>(priority)][worker] = rows;
  }
  // A worker did so much in so much time, and there was more to do.
  void Observe(int64_t tokens, absl::Duration time) {
    rate_.Observe(tokens, time);
  }

 private:
  Times TimesOf(const RequestQueue& queue, Sender sender, CallId call,
                const Demand& demand, double tokens_per_call) const;
  // That share the workers with a request of this priority.
  int64_t running(Priority priority) const;
  absl::Duration TimeOf(double tokens) const;

  std::array<std::vector<int64_t>, kPriorities> running_;  // of [workers]
  ServiceRate rate_;
  // What the clients that came last usually ask for, at most kClients of them.
  struct Usual {
    ClientId client;
    Demand demand;
    uint64_t last_call = 0;  // in the order of coming
  };
  static constexpr size_t kClients = 64;
  std::vector<Usual> usual_;
  uint64_t calls_ = 0;
  double share_ = 1;  // of the calls that lately named a model
  absl::Time refused_ = absl::InfinitePast();
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_FORECAST_H_
