#ifndef TRIVIUM_SERVER_RPC_ENVIRONMENT_H_
#define TRIVIUM_SERVER_RPC_ENVIRONMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "model/model.h"
#include "server/batching/batcher.h"
#include "server/observability/metrics.h"
#include "server/rpc/call_registry.h"
#include "server/rpc/work_pool.h"

namespace trivium {

// What a call may ask for; GetModel tells them all.
struct RequestLimits {
  int64_t max_request_bytes = 4 << 20;
  int max_inputs = 32;
  int64_t max_text_bytes = 1 << 20;
  int max_beam_size = 16;
  int max_stop_strings = 16;
  int max_stop_bytes = 256;
  int max_top_logprobs = 20;
  int64_t max_response_bytes = 4 << 20;
  // Where the client set no deadline.
  absl::Duration default_deadline = absl::Seconds(60);
  absl::Duration default_stream_deadline = absl::Minutes(10);
  // A stream whose client takes nothing for so long is cancelled.
  absl::Duration stall_timeout = absl::Seconds(30);
};

struct ServedModel {
  std::string name;
  const Model* model = nullptr;
  int index = 0;                   // among the batcher's models
  int64_t kv_cache_bytes = 0;      // of all workers
  int64_t result_cache_bytes = 0;  // of all models
};

// What every handler works with. Made once; everything in it outlives the
// calls and is thread-safe.
struct Environment {
  std::vector<ServedModel> models;  // the first is the default
  RequestLimits limits;
  bool truncate = false;  // what a request's `truncate` defaults to
  int64_t max_waiting_tokens = 1 << 20;  // the batcher's
  Batcher* batcher = nullptr;
  Metrics* metrics = nullptr;
  CallRegistry* calls = nullptr;
  WorkPool* tokenizing = nullptr;  // of long texts
  WorkPool* delivery = nullptr;    // results to messages
  const Clock* clock = Clock::Real();
};

// The model of that name, or the first where it is empty; NOT_FOUND lists
// what there is.
absl::StatusOr<const ServedModel*> FindModel(const Environment& environment,
                                             const std::string& name);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_RPC_ENVIRONMENT_H_
