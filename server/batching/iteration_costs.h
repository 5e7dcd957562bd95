#ifndef TRIVIUM_SERVER_BATCHING_ITERATION_COSTS_H_
#define TRIVIUM_SERVER_BATCHING_ITERATION_COSTS_H_

#include <array>
#include <cstdint>

#include "server/batching/background_share.h"
#include "server/batching/draft_budget.h"
#include "server/batching/encode_budget.h"
#include "server/batching/prefill_budget.h"
#include "server/batching/row_limit.h"
#include "server/batching/row_time.h"

namespace trivium {

// Learns from each iteration of a batch what its parts cost, and so how much of
// each the next iteration may do. RunningBatch decides who does it. Not
// thread-safe: each worker has one for each model.
//
// Each budget learns only from iterations in which its part can be told from
// the others (Observe).
class IterationCosts {
 public:
  struct Options {
    int encoder_layers = 0;
    int encode_budget_tokens = 0;  // bound of EncodeBudget
    int max_rows = 0;
    bool fixed_rows = false;  // see RowLimit
  };
  // `share` is the worker's, of all its models; it outlives this.
  IterationCosts(const Options& options, BackgroundShare* share)
      : max_rows_(options.max_rows),
        encode_(options.encoder_layers, options.encode_budget_tokens),
        prefill_(options.max_rows),
        row_limit_(options.max_rows, options.fixed_rows),
        share_(share) {}

  const EncodeBudget& encode() const { return encode_; }
  const PrefillBudget& prefill() const { return prefill_; }
  const DraftBudget& draft() const { return draft_; }
  RowLimit& row_limit() { return row_limit_; }

  // Recent seconds of a decoder row, in iterations beside interactive requests
  // if such run now, else in the others; 0: unknown.
  double row_seconds() const {
    return row_times_[share_->beside_interactive()].seconds();
  }
  // The number of decoder rows that take at most so many seconds; 0 while the
  // time of a row is unknown.
  int RowsIn(double seconds) const;

  // One iteration. The background parts count only beside interactive requests,
  // and may be 0 otherwise.
  struct Iteration {
    double seconds = 0;
    double encode_seconds = 0;  // part of `seconds`
    int64_t encode_work = 0;    // tokens x layers
    int64_t background_encode_work = 0;
    int rows = 0;  // of the decoder
    int background_rows = 0;
    int prefill_tokens = 0;  // part of `rows`, at most
    int draft_tokens = 0;    // part of `rows`
    bool paused = false;     // requests with rows did nothing
  };
  void Observe(const Iteration& iteration);

 private:
  const int max_rows_;
  EncodeBudget encode_;
  PrefillBudget prefill_;
  DraftBudget draft_;
  RowLimit row_limit_;
  std::array<RowTime, 2> row_times_;  // [beside interactive requests]
  BackgroundShare* const share_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_ITERATION_COSTS_H_
