// Schedules themselves: how they are drawn, told and made smaller.
// run_schedule.cc runs them.
#include "tests/server/batching/schedule.h"

#include <algorithm>
#include <random>
#include <utility>

#include "fmt/format.h"
#include "tests/server/batching/harness.h"

namespace trivium {
namespace {

Request RandomScheduledRequest(std::mt19937* random, bool has_encoder) {
  const auto pick = [random](int low, int high) {
    return low + static_cast<int>((*random)() % (high - low + 1));
  };
  Request request;
  if (has_encoder) {
    // There are few different sources, so that many are shared.
    const int tokens = pick(1, 30);
    const int first = pick(0, 3);
    for (int i = 0; i < tokens; ++i) {
      request.source.ids.push_back((first * 7 + i) % kScheduleVocabulary);
    }
  }
  if (has_encoder && pick(0, 7) == 0) {
    request.states = States::kAll;
    return request;
  }
  // There are few different beginnings, so that many requests find the cached
  // blocks of others.
  request.prefix = {1};
  const int beginning = pick(0, 2);
  const int prefix = pick(0, 2) == 0 ? pick(0, 30) : pick(0, 4);
  for (int i = 0; i < prefix; ++i) {
    request.prefix.push_back(2 +
                             (beginning * 7 + i) % (kScheduleVocabulary - 2));
  }
  const int new_tokens = pick(1, 24);
  DecodingOptions options;
  switch (pick(0, 3)) {
    case 0:
    case 1:
      options = Greedy(new_tokens);
      break;
    case 2:
      options = Beams(pick(2, kScheduleBeams), new_tokens);
      break;
    default:
      options = Samples(pick(1, 3), new_tokens, (*random)());
      break;
  }
  if (pick(0, 1) == 0) options.min_new_tokens = new_tokens;
  if (pick(0, 3) == 0) options.no_repeat_ngram_size = 2;
  if (pick(0, 4) == 0) options.repetition_penalty = 1.3f;
  request.decoding = options;
  if (request.prefix.size() > 2 && pick(0, 5) == 0) {
    request.scoring = Scoring{.first = 1, .top_logprobs = pick(0, 2)};
    if (pick(0, 1) == 0) request.decoding.reset();
  }
  if (request.decoding && !request.scoring && pick(0, 6) == 0) {
    request.decoder_attention.emplace();
    if (has_encoder) request.cross_attention.emplace();
  }
  request.stream = request.decoding && pick(0, 1) == 0;
  if (pick(0, 6) == 0) request.salt = "tenant";
  if (request.decoding && pick(0, 4) == 0) {
    static const auto constraint = LettersConstraint(kScheduleVocabulary);
    request.decoding->constraint = constraint;
  }
  return request;
}

}  // namespace

Schedule RandomSchedule(uint32_t seed) {
  std::mt19937 random(seed);
  const auto pick = [&random](int low, int high) {
    return low + static_cast<int>(random() % (high - low + 1));
  };
  Schedule schedule;
  schedule.seed = seed;
  schedule.model = static_cast<ScheduleModel>(pick(0, kScheduleModels - 1));
  schedule.int8 = pick(0, 1) == 0;
  schedule.blocks = pick(8, 40);
  constexpr int kMostRows[] = {8, 32, kMostStepTokens};
  schedule.max_rows = kMostRows[pick(0, 2)];
  if (pick(0, 9) == 0) schedule.fails = pick(0, 40);
  if (pick(0, 9) == 0) schedule.not_finite = pick(0, 40);
  if (pick(0, 19) == 0) schedule.aborted = pick(0, 60);
  const bool has_encoder = schedule.model == ScheduleModel::kTranslator ||
                           schedule.model == ScheduleModel::kRecurrence;
  const bool recurrent = schedule.model == ScheduleModel::kRecurrence;
  const int requests = pick(2, 12);
  const int calls = pick(1, 4);
  const int span = pick(0, 40);  // iterations in which requests arrive
  for (int i = 0; i < requests; ++i) {
    ScheduledRequest one;
    one.request = RandomScheduledRequest(&random, has_encoder);
    // These decoders do not attend to their own tokens in every layer.
    if (recurrent || schedule.model == ScheduleModel::kStates) {
      one.request.decoder_attention.reset();
    }
    one.call = 1 + pick(0, calls - 1);
    one.request.client = one.call % 2;
    one.request.priority =
        one.call == 2 ? Priority::kBackground : Priority::kInteractive;
    one.arrives = pick(0, span);
    if (pick(0, 6) == 0) one.cancelled = one.arrives + pick(0, 30);
    if (pick(0, 6) == 0) one.late = one.arrives + pick(1, 40);
    schedule.requests.push_back(std::move(one));
  }
  return schedule;
}

std::string Describe(const Schedule& schedule) {
  constexpr const char* kNames[] = {"translator", "decoder", "windows",
                                    "recurrence", "experts", "states"};
  std::string text = fmt::format(
      "seed {}: {}, {}, {} blocks, {} rows, fails {}, not finite {}, goes {}\n",
      schedule.seed, kNames[static_cast<int>(schedule.model)],
      schedule.int8 ? "int8" : "f32", schedule.blocks, schedule.max_rows,
      schedule.fails, schedule.not_finite, schedule.aborted);
  for (const ScheduledRequest& one : schedule.requests) {
    const Request& request = one.request;
    text += fmt::format(
        "  call {}{} arrives {} cancelled {} late {}: source {}, prefix {}",
        one.call,
        request.priority == Priority::kBackground ? " (background)" : "",
        one.arrives, one.cancelled, one.late, request.source.ids.size(),
        request.prefix.size());
    if (request.decoding) {
      text += fmt::format(
          ", {} {} x {} tokens", request.decoding->sample ? "draws" : "beams",
          std::max(request.decoding->beam_size, request.decoding->hypotheses),
          request.decoding->max_new_tokens);
    }
    if (request.decoding && request.decoding->constraint) text += ", held";
    if (request.scoring) text += ", scored";
    if (request.decoder_attention || request.cross_attention) text += ", maps";
    if (request.stream) text += ", streams";
    if (!request.salt.empty()) text += ", salted";
    text += '\n';
  }
  return text;
}

Schedule Shrink(const Schedule& schedule) {
  Schedule least = schedule;
  const auto keep_if_wrong = [&least](const Schedule& fewer) {
    const bool wrong = !RunSchedule(fewer).empty();
    if (wrong) least = fewer;
    return wrong;
  };
  for (size_t i = least.requests.size(); i-- > 0;) {
    Schedule fewer = least;
    fewer.requests.erase(fewer.requests.begin() + static_cast<ptrdiff_t>(i));
    keep_if_wrong(fewer);
  }
  for (int Schedule::*event :
       {&Schedule::fails, &Schedule::not_finite, &Schedule::aborted}) {
    Schedule fewer = least;
    fewer.*event = -1;
    keep_if_wrong(fewer);
  }
  for (size_t i = 0; i < least.requests.size(); ++i) {
    for (int ScheduledRequest::*event :
         {&ScheduledRequest::cancelled, &ScheduledRequest::late}) {
      Schedule fewer = least;
      fewer.requests[i].*event = -1;
      keep_if_wrong(fewer);
    }
  }
  return least;
}

}  // namespace trivium
