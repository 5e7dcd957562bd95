#include "server/batching/forecast.h"

#include <algorithm>
#include <numeric>

// Let r be the workers' rate (ServiceRate), B the tokens that are taken before
// the call's (FairQueue::TokensBefore), R the running rows, and t the call's
// tokens, p of them a row. Then
//
//   wait   = B / r
//   answer = (B + t + R p) / r
//
// Running rows share the workers evenly: beside R others a row gets r / R, and
// takes R p / r. For a call after those in transit (TimesOfNext), B includes
// them. For an interactive call, B and R count interactive requests alone.
// Tokens are worst cases; r counts the same ones, so it is higher if requests
// end early.
//
// Why this keeps the goodput of an overloaded server: a call that cannot be in
// time is not admitted, so the queue holds only what can be in time, in the
// order of arrival. Since R is in the forecast, short deadlines let fewer rows
// run at once, which makes each of them faster. r is measured at that R, so the
// forecast is right where it settles; and R = 0 refuses nothing, so it cannot
// settle at refusing all. Hence there is no search for a standing queue (CoDel)
// and no reversed queue (adaptive LIFO), which would serve the newest call at
// the expense of admitted ones. overload_simulation_test shows this in
// simulated time. Beside a transport that needs the workers' cores it does not
// always hold (docs/benchmarks.md, "Under overload").

namespace trivium {
namespace {

// Weight of the old usual demand and share at each call: about the last 16
// calls count.
constexpr double kUsualDecay = 15.0 / 16;

double DepthOf(const RequestCost& cost) {
  return static_cast<double>(cost.tokens) /
         static_cast<double>(std::max<int64_t>(cost.rows, 1));
}

}  // namespace

Forecast::Demand Forecast::DemandOf(std::span<const RequestCost> costs) {
  Demand demand;
  for (const RequestCost& cost : costs) {
    demand.tokens += static_cast<double>(cost.tokens);
    demand.depth = std::max(demand.depth, DepthOf(cost));
  }
  return demand;
}

void Forecast::RecordDemand(ClientId client, const Demand& demand) {
  auto its = std::find_if(
      usual_.begin(), usual_.end(),
      [client](const Usual& usual) { return usual.client == client; });
  if (its == usual_.end() && usual_.size() < kClients) {
    its = usual_.insert(its, Usual());
  } else if (its == usual_.end()) {
    its = std::min_element(usual_.begin(), usual_.end(),
                           [](const Usual& a, const Usual& b) {
                             return a.last_call < b.last_call;
                           });
    *its = {};
  }
  const double decay = its->last_call > 0 ? kUsualDecay : 0;
  its->client = client;
  its->demand.tokens = decay * its->demand.tokens + (1 - decay) * demand.tokens;
  its->demand.depth = decay * its->demand.depth + (1 - decay) * demand.depth;
  its->last_call = ++calls_;
}

Forecast::Demand Forecast::usual_demand(ClientId client) const {
  const Usual* least = nullptr;
  for (const Usual& usual : usual_) {
    if (usual.client == client) return usual.demand;
    if (least == nullptr || usual.demand.tokens < least->demand.tokens) {
      least = &usual;
    }
  }
  return least == nullptr ? Demand() : least->demand;
}

void Forecast::RecordModel(bool this_model) {
  share_ = kUsualDecay * share_ + (1 - kUsualDecay) * (this_model ? 1 : 0);
}

Forecast::Times Forecast::TimesOfNext(const RequestQueue& queue, Sender sender,
                                      CallId call) const {
  const Demand usual = usual_demand(sender.client);
  return TimesOf(queue, sender, call, usual, share_ * usual.tokens);
}

Forecast::Times Forecast::TimesOf(const RequestQueue& queue, Sender sender,
                                  CallId call, const Demand& demand,
                                  double tokens_per_call) const {
  const double before = static_cast<double>(
      queue.TokensBefore(sender, call, static_cast<int64_t>(demand.tokens),
                         static_cast<int64_t>(tokens_per_call)));
  const double rows = static_cast<double>(running(sender.priority));
  if (before == 0 && rows == 0) return {};
  return {TimeOf(before), TimeOf(before + demand.tokens + rows * demand.depth)};
}

absl::Duration Forecast::TimeIfStarted(const RequestCost& cost,
                                       Priority priority) const {
  const int64_t rows = running(priority);
  if (rows == 0) return absl::ZeroDuration();
  return TimeOf(static_cast<double>(cost.tokens) +
                static_cast<double>(rows) * DepthOf(cost));
}

int64_t Forecast::running(Priority priority) const {
  int64_t rows = 0;
  for (int one = 0; one <= static_cast<int>(priority); ++one) {
    rows +=
        std::accumulate(running_[one].begin(), running_[one].end(), int64_t{0});
  }
  return rows;
}

absl::Duration Forecast::TimeOf(double tokens) const {
  const double rate = rate_.PerSecond();
  return rate == 0 ? absl::ZeroDuration() : absl::Seconds(tokens / rate);
}

}  // namespace trivium
