#ifndef TRIVIUM_TESTS_SERVER_BATCHING_SCHEDULE_H_
#define TRIVIUM_TESTS_SERVER_BATCHING_SCHEDULE_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "server/batching/request.h"

namespace trivium {

// The models that schedules run on, each tiny: one of every kind of decoder.
enum class ScheduleModel {
  kTranslator,
  kDecoder,
  kWindows,
  kRecurrence,
  kExperts
};
inline constexpr int kScheduleModels = 5;

// One request of a schedule. Times are iterations.
struct ScheduledRequest {
  Request request;  // without model, observer, deadline and cancellation
  CallId call = 0;
  int arrives = 0;
  int cancelled = -1;  // -1: never
  int late = -1;       // its deadline passes; -1: never
};

// What happens to one worker: everything follows from the seed.
struct Schedule {
  uint32_t seed = 0;
  ScheduleModel model = ScheduleModel::kTranslator;
  bool int8 = false;
  int blocks = 0;       // of the KV cache
  int max_rows = 0;     // of an iteration
  int fails = -1;       // the step that the engine fails; -1: none
  int not_finite = -1;  // the step of which a row is not finite; -1: none
  int aborted = -1;     // the iteration before which the model goes; -1: none
  std::vector<ScheduledRequest> requests;
};

Schedule RandomSchedule(uint32_t seed);

// For a person: a line for the schedule and one for each request.
std::string Describe(const Schedule& schedule);

// Runs the schedule on the real engine. Returns what was wrong, or "".
std::string RunSchedule(const Schedule& schedule);

// A schedule with fewer requests and events that is wrong as well.
Schedule Shrink(const Schedule& schedule);

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SERVER_BATCHING_SCHEDULE_H_
