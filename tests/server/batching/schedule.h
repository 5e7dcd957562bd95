#ifndef TRIVIUM_TESTS_SERVER_BATCHING_SCHEDULE_H_
#define TRIVIUM_TESTS_SERVER_BATCHING_SCHEDULE_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "server/batching/request.h"

namespace trivium {

// The tiny models that schedules run on, one with each kind of decoder.
enum class ScheduleModel {
  kTranslator,
  kDecoder,
  kWindows,
  kRecurrence,
  kExperts,
  kStates
};
inline constexpr int kScheduleModels = 6;
inline constexpr int kScheduleVocabulary = 31;  // of each model
inline constexpr int kScheduleBeams = 4;        // at most

// One request of a schedule. Times are iterations.
struct ScheduledRequest {
  Request request;  // without model, observer, deadline and cancellation
  CallId call = 0;
  int arrives = 0;
  int cancelled = -1;  // -1: never
  int late = -1;       // when its deadline passes; -1: never
};

// All that happens to one worker. It follows from the seed alone.
struct Schedule {
  uint32_t seed = 0;
  ScheduleModel model = ScheduleModel::kTranslator;
  bool int8 = false;
  int blocks = 0;       // of the KV cache
  int max_rows = 0;     // of an iteration
  int fails = -1;       // the step that the engine fails; -1: none
  int not_finite = -1;  // the step of which a row is not finite; -1: none
  int aborted = -1;     // the iteration before which the model is removed
  std::vector<ScheduledRequest> requests;
};

Schedule RandomSchedule(uint32_t seed);

// The schedule as text for a person: a line for itself and one for each
// request.
std::string Describe(const Schedule& schedule);

// Runs the schedule on the real engine. Returns the first fault, or "".
std::string RunSchedule(const Schedule& schedule);

// A schedule with fewer requests and events that has a fault as well.
Schedule Shrink(const Schedule& schedule);

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SERVER_BATCHING_SCHEDULE_H_
