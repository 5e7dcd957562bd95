#ifndef TRIVIUM_CLIENT_LOAD_PAGE_H_
#define TRIVIUM_CLIENT_LOAD_PAGE_H_

#include <string>

#include "client/load/recorder.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Returns the data of a recording that the page draws:
//   name
//   report     the result of Report::ToJson
//   slices     {seconds, calls: [{p50, p95, p99, started, done, failed,
//              aborted}]}: the measured time, cut into slices of `seconds`.
//              The percentiles, in seconds, are over the successful calls that
//              were meant to start in a slice (null: none); the other figures
//              are calls per second
//   latencies  {bounds, counts}: how many calls took from one bound to the next
//   calls      [{name, latencies}] for each kind of a mix, with the same bounds
nlohmann::json PageRun(const std::string& name, const Recording& recording);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_PAGE_H_
