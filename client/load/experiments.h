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

// A server that is loaded.
struct Target {
  std::string name;
  std::unique_ptr<Caller> caller;
};

// How the load is made, whatever is found out with it.
struct LoadSetup {
  const RunOptions& run;
  const Pacing& pacing;
  const Workload& workload;
  const std::atomic<bool>& stop;

  Recording Measure(const Target& target, const Pacing& pace,
                    const std::string& title) const;
};

// What an experiment found: for people, for programs, and for the page
// (client/pages/load.js says what it has).
struct Findings {
  bool succeeded = false;  // some calls did or, of a search, some rate
  std::string text;
  nlohmann::ordered_json json;
  nlohmann::json page;
};

// One run.
Findings MeasureOnce(const LoadSetup& setup, const Target& target);

// The highest rate with p99 <= `limit`, no call failed. Where `setup` has no
// rate the search begins at what its concurrency comes to.
Findings FindRate(const LoadSetup& setup, const Target& target,
                  absl::Duration limit, const RateSearch::Options& options);

// Two servers, in turns: each is the first of a round every other time, so
// that neither has the better part of a drift.
Findings CompareServers(const LoadSetup& setup, const Target& first,
                        const Target& second, int rounds);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_EXPERIMENTS_H_
