#ifndef TRIVIUM_SERVER_BATCHING_REQUEST_CHECKS_H_
#define TRIVIUM_SERVER_BATCHING_REQUEST_CHECKS_H_

#include "absl/status/status.h"
#include "model/engine.h"
#include "server/batching/request.h"

namespace trivium {

// Returns INVALID_ARGUMENT if even an empty worker with `max_rows` could not
// run the request: options, lengths, ids, layers, KV blocks.
absl::Status CheckRequest(const Request& request, const EngineLimits& limits,
                          int max_rows);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_REQUEST_CHECKS_H_
