#ifndef TRIVIUM_CLIENT_LOAD_EXPERIMENTS_H_
#define TRIVIUM_CLIENT_LOAD_EXPERIMENTS_H_

#include <atomic>
#include <memory>
#include <string>

#include "client/load/caller.h"
#include "client/load/rate_search.h"
#include "client/load/runner.h"
#include "nlohmann/json.hpp"

namespace trivium {

// A server under load.
struct Target {
  std::string name;
  std::unique_ptr<Caller> caller;
};

// Settings of the load that all experiments share.
struct LoadSetup {
  const RunOptions& run;
  const Pacing& pacing;
  const Workload& workload;
  const std::atomic<bool>& stop;

  Recording Measure(const Target& target, const Pacing& pace,
                    const std::string& title) const;
};

// The results of an experiment: for people, for programs, and for the page
// (client/pages/load.js describes its form).
struct Findings {
  bool succeeded = false;  // some call succeeded; in a search, some rate passed
  std::string text;
  nlohmann::ordered_json json;
  nlohmann::json page;
};

// Measures one run.
Findings MeasureOnce(const LoadSetup& setup, const Target& target);

// Finds the highest rate at which p99 <= `limit` and no call fails. If `setup`
// has no rate, the search begins at the rate that its concurrency achieves.
Findings FindRate(const LoadSetup& setup, const Target& target,
                  absl::Duration limit, const RateSearch::Options& options);

// Compares two servers, measuring them in turns. Each is the first in every
// other round, so that a drift of the machine favours neither.
Findings CompareServers(const LoadSetup& setup, const Target& first,
                        const Target& second, int rounds);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_EXPERIMENTS_H_
