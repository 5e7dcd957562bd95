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

// Forecasts when requests for one model would be answered, from the tokens that
// wait before them, the rows that run, and the recent speed. For interactive
// requests, background ones do not count. Not thread-safe.
//
//   const auto times = forecast.TimesOf(queue, sender, call, demand);
//   if (now + times.answer > deadline) refuse;
class Forecast {
 public:
  explicit Forecast(int workers) : rate_(workers) {
    for (std::vector<int64_t>& rows : running_) rows.resize(workers);
  }

  // The work that a call asks for.
  struct Demand {
    double tokens = 0;  // of all its requests
    double depth = 0;   // most tokens of any row (or request without rows)
  };
  static Demand DemandOf(std::span<const RequestCost> costs);
  // Estimates the demand of a call whose texts have not been read, from the
  // client's recent calls. For an unknown client it is the least that any
  // client usually asks for, so that no client is refused for the size of
  // others' calls.
  Demand usual_demand(ClientId client) const;
  // Records the demand of a submitted call, whether it was accepted or not.
  void RecordDemand(ClientId client, const Demand& demand);
  // Records that a call named its model: this one, or another.
  void RecordModel(bool this_model);

  struct Times {
    absl::Duration wait;    // until a worker takes the call's first request
    absl::Duration answer;  // until its last request is answered
  };
  // Zero if nothing waits or runs, or while the workers' rate is unknown:
  // without a measured rate, nothing is refused.
  Times TimesOf(const RequestQueue& queue, Sender sender, CallId call,
                const Demand& demand) const {
    return TimesOf(queue, sender, call, demand, /*tokens_per_call=*/0);
  }
  // The times of a call with its client's usual demand, after all calls in
  // transit. Each of these is assumed to ask for this model as often as recent
  // calls did, and for as much as this call.
  Times TimesOfNext(const RequestQueue& queue, Sender sender,
                    CallId call) const;
  // The time until a request would be answered if a worker started it now.
  absl::Duration TimeIfStarted(const RequestCost& cost,
                               Priority priority) const;

  // Records that a call was refused as late: there is more work than capacity.
  void RecordRefusal(absl::Time now) { refused_ = now; }
  absl::Time last_refusal() const { return refused_; }
  // Sets the rows (or requests without rows) that a worker runs.
  void SetRunning(int worker, Priority priority, int64_t rows) {
    running_[static_cast<int>(priority)][worker] = rows;
  }
  // Records the tokens that a worker did in a time during which more work
  // waited.
  void Observe(int64_t tokens, absl::Duration time) {
    rate_.Observe(tokens, time);
  }

 private:
  Times TimesOf(const RequestQueue& queue, Sender sender, CallId call,
                const Demand& demand, double tokens_per_call) const;
  // Rows that share the workers with a request of this priority.
  int64_t running(Priority priority) const;
  absl::Duration TimeOf(double tokens) const;

  std::array<std::vector<int64_t>, kPriorities> running_;  // of [workers]
  ServiceRate rate_;
  // The usual demand of the clients that called last, at most kClients of them.
  struct Usual {
    ClientId client;
    Demand demand;
    uint64_t last_call = 0;  // its value of calls_
  };
  static constexpr size_t kClients = 64;
  std::vector<Usual> usual_;
  uint64_t calls_ = 0;
  double share_ = 1;  // of recent calls that named a model, those for this one
  absl::Time refused_ = absl::InfinitePast();
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_FORECAST_H_
