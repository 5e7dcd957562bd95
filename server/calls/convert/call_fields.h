#ifndef TRIVIUM_SERVER_CALLS_CONVERT_CALL_FIELDS_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_CALL_FIELDS_H_

#include <string>

#include "server/batching/served_model.h"
#include "server/calls/call_timings.h"
#include "trivium/v1/common.pb.h"

namespace trivium {

// Fields that the messages of most calls have: the model's name in the request,
// and the timings and the model in the response.

// Returns the name of the model that a request is for; empty: the default one.
template <typename Request>
const std::string& ModelName(const Request& request) {
  return request.model();
}

void WriteTimings(const CallTimings& timings, v1::Timings* out);
void WriteModelVersion(const ServedModel& model, v1::ModelVersion* out);

// Fills in which model has answered.
template <typename Response>
void WriteModel(const ServedModel& model, Response* response) {
  WriteModelVersion(model, response->mutable_model());
}

// Fills in how long the call took, and which model has answered.
template <typename Response>
void WriteTimingsAndModel(const CallTimings& timings, const ServedModel& model,
                          Response* response) {
  WriteTimings(timings, response->mutable_timings());
  WriteModel(model, response);
}

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_CALL_FIELDS_H_
