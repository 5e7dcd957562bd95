#ifndef TRIVIUM_CLIENT_LOAD_PAGE_H_
#define TRIVIUM_CLIENT_LOAD_PAGE_H_

#include <string>

#include "client/load/recorder.h"
#include "nlohmann/json.hpp"

namespace trivium {

// What the page draws of a recording:
//   name
//   report     as Report::ToJson has it
//   slices     {seconds, calls: [{p50, p95, p99, started, done, failed,
//              aborted}]}: the measured time in slices of so many seconds;
//              percentiles, in seconds, are of the calls meant to start in it
//              that succeeded (null: none), the others calls a second
//   latencies  {bounds, counts}: how many calls took from one bound to the next
//   calls      [{name, latencies}] of the kinds of a mix, with the same bounds
nlohmann::json PageRun(const std::string& name, const Recording& recording);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_PAGE_H_
