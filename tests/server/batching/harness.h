#ifndef TRIVIUM_TESTS_SERVER_BATCHING_HARNESS_H_
#define TRIVIUM_TESTS_SERVER_BATCHING_HARNESS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "model/grammar/automaton.h"
#include "model/grammar/frontends.h"
#include "server/batching/batcher.h"
#include "server/batching/queued_request.h"
#include "server/batching/request_cost.h"
#include "server/batching/source_sharing.h"
#include "tests/support/fake_clock.h"
#include "tests/support/puppet_engine.h"
#include "tests/support/puppet_model.h"
#include "tests/support/recording_observer.h"
#include "tests/support/step_gate.h"

namespace trivium {

inline constexpr int32_t kEnd = 0;
inline constexpr int32_t kStart = 1;

// The model of the requests that tests make, unless they set another.
inline const ModelHandle& TheModel() {
  static const ModelHandle model = ServedPuppet("model");
  return model;
}

inline EncoderInput Source(int tokens, int32_t first = 2) {
  EncoderInput source;
  for (int i = 0; i < tokens; ++i) source.ids.push_back(first + i);
  return source;
}

inline DecodingOptions Greedy(int max_new_tokens) {
  DecodingOptions options;
  options.max_new_tokens = max_new_tokens;
  options.end_ids = {kEnd};
  return options;
}

// Holds texts to (a|bc)*. After each beginning of such a text several tokens
// may follow, so that rules that forbid a few never leave none. Token i is a
// letter, or sometimes two.
inline std::shared_ptr<const Constraint> LettersConstraint(int vocabulary) {
  std::vector<std::string> tokens(vocabulary);
  for (int i = 0; i < vocabulary; ++i) {
    tokens[i] = i % 7 == 0 ? "bc" : std::string(1, "abc"[i % 3]);
  }
  return std::make_shared<Constraint>(
      *Automaton::Create(*GrammarOfRegex("(a|bc)*")),
      std::make_shared<TokenTrie>(std::move(tokens),
                                  std::vector<int32_t>{kEnd}));
}

inline DecodingOptions Beams(int beams, int max_new_tokens) {
  DecodingOptions options = Greedy(max_new_tokens);
  options.beam_size = beams;
  options.hypotheses = beams;
  return options;
}

inline DecodingOptions Samples(int samples, int max_new_tokens, uint64_t seed) {
  DecodingOptions options = Greedy(max_new_tokens);
  options.sample = true;
  options.hypotheses = samples;
  options.seed = seed;
  return options;
}

inline Request MakeRequest(EncoderInput source,
                           std::optional<DecodingOptions> decoding,
                           std::shared_ptr<RequestObserver> observer) {
  Request request;
  request.model = TheModel();
  request.source = std::move(source);
  request.decoding = std::move(decoding);
  if (request.decoding) request.prefix = {kStart};
  request.observer = std::move(observer);
  return request;
}

// An admitted request as the batcher puts it into the queue.
inline std::unique_ptr<QueuedRequest> Queued(CallId call, Request request,
                                             const EngineLimits& limits) {
  auto queued = std::make_unique<QueuedRequest>();
  queued->call = call;
  queued->cost = CostOf(request, limits);
  queued->source_key = SourceKey(request);
  queued->request = std::move(request);
  return queued;
}

// Makes puppet engines, and keeps their logs to the end of the test.
class Puppets {
 public:
  PuppetEngine::Options options;

  std::unique_ptr<Engine> Make() {
    logs_.push_back(std::make_shared<PuppetLog>());
    return std::make_unique<PuppetEngine>(options, logs_.back());
  }
  Batcher::Engines MakeEngines(int workers) {
    Batcher::Engines engines;
    for (int i = 0; i < workers; ++i) engines.push_back(Make());
    return engines;
  }
  // Makes a batcher that serves TheModel().
  std::unique_ptr<Batcher> MakeBatcher(const Batcher::Options& batching) {
    absl::StatusOr<std::unique_ptr<Batcher>> batcher =
        Batcher::Create(batching);
    EXPECT_TRUE(batcher.ok()) << batcher.status();
    EXPECT_TRUE(
        (*batcher)->AddModel(TheModel(), MakeEngines(batching.workers)).ok());
    return *std::move(batcher);
  }
  const PuppetLog& log(int engine = 0) const { return *logs_[engine]; }

  const PuppetLog& last_log() const { return *logs_.back(); }

  // To be called after the engines are destroyed.
  void ExpectCleanUse() const {
    for (const auto& log : logs_) {
      EXPECT_EQ(log->misuses(), std::vector<std::string>());
      EXPECT_EQ(log->leaks(), 0);
    }
  }

 private:
  std::vector<std::shared_ptr<PuppetLog>> logs_;
};

inline void ExpectSameHypotheses(const std::vector<Hypothesis>& a,
                                 const std::vector<Hypothesis>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].ids, b[i].ids);
    EXPECT_EQ(a[i].score, b[i].score);
    EXPECT_EQ(a[i].log_probability, b[i].log_probability);
    EXPECT_EQ(a[i].logprobs, b[i].logprobs);
    EXPECT_EQ(a[i].reason, b[i].reason);
  }
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SERVER_BATCHING_HARNESS_H_
