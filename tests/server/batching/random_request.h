#ifndef TRIVIUM_TESTS_SERVER_BATCHING_RANDOM_REQUEST_H_
#define TRIVIUM_TESTS_SERVER_BATCHING_RANDOM_REQUEST_H_

#include <memory>
#include <optional>
#include <random>
#include <span>
#include <utility>

#include "server/batching/running_batch.h"
#include "tests/server/batching/harness.h"

namespace trivium {

// Stops at any token divisible by `divisor`.
class DivisibleStop : public StopMatcher {
 public:
  explicit DivisibleStop(int divisor) : divisor_(divisor) {}
  bool Matches(std::span<const int32_t> ids) const override {
    return !ids.empty() && ids.back() % divisor_ == 0;
  }

 private:
  const int divisor_;
};

inline Request RandomRequest(std::mt19937* random) {
  const auto pick = [random](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(*random);
  };
  // There are few different sources, so that many are shared.
  EncoderInput source = Source(pick(1, 40), pick(0, 9) == 0 ? 2 : pick(2, 300));
  std::optional<DecodingOptions> decoding;
  switch (pick(0, 4)) {
    case 0:
      break;
    case 1:
      decoding = Greedy(pick(1, 40));
      break;
    case 2:
    case 3:
      decoding = Beams(pick(2, 6), pick(1, 30));
      decoding->length_penalty = pick(0, 2);
      break;
    case 4:
      decoding = Samples(pick(1, 5), pick(1, 30), pick(0, 1000));
      decoding->top_k = pick(0, 1) * 5;
      decoding->temperature = 0.8f;
      break;
  }
  Request request = MakeRequest(std::move(source), decoding, nullptr);
  if (!decoding) {
    request.states = States::kAll;
    return request;
  }
  if (pick(0, 3) == 0) request.decoding->repetition_penalty = 1.3f;
  if (pick(0, 3) == 0) request.decoding->no_repeat_ngram_size = 2;
  if (pick(0, 7) == 0) request.stop = std::make_shared<DivisibleStop>(7);
  if (pick(0, 5) == 0) request.cross_attention.emplace();
  // There are few different beginnings, so that many requests find the cached
  // blocks of others.
  const int beginning = pick(0, 3);
  for (int i = pick(0, 19); i > 0; --i) {
    request.prefix.push_back(2 + (beginning * 7 + i) % 30);
  }
  if (pick(0, 3) == 0) request.prefix.push_back(pick(2, 30));
  if (pick(0, 7) == 0) request.salt = "tenant";
  request.stream = pick(0, 1) == 1;
  if (pick(0, 4) == 0) {
    static const auto constraint =
        LettersConstraint(PuppetEngine::Options().limits.vocabulary);
    request.decoding->constraint = constraint;
  }
  return request;
}

// The result of the request on a worker of its own.
inline RequestResult Alone(Request request, PuppetEngine::Options options) {
  options.gate = nullptr;
  const EngineLimits limits = options.limits;
  const auto observer = std::make_shared<RecordingObserver>();
  request.observer = observer;
  RunningBatch batch({}, std::make_unique<PuppetEngine>(
                             options, std::make_shared<PuppetLog>()));
  batch.Add(Queued(1, std::move(request), limits));
  while (!batch.empty()) batch.Iterate();
  return *observer->Wait();
}

inline void ExpectSameResult(const RequestResult& a, const RequestResult& b) {
  ExpectSameHypotheses(a.hypotheses, b.hypotheses);
  EXPECT_EQ(a.states, b.states);
  ASSERT_EQ(a.cross_attention.size(), b.cross_attention.size());
  for (size_t i = 0; i < a.cross_attention.size(); ++i) {
    EXPECT_EQ(a.cross_attention[i].weights, b.cross_attention[i].weights);
  }
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SERVER_BATCHING_RANDOM_REQUEST_H_
