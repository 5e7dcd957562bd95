// Guesses change no bit of an answer, whatever the search, the precision, the
// other requests and the room. Wrong guesses are taken back.
#include "server/batching/speculation.h"

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "model/search/thought_bound.h"
#include "server/batching/running_batch.h"
#include "tests/model/transformer/random_engine.h"
#include "tests/server/batching/running_batch_fixture.h"
#include "tests/support/generate.h"

namespace trivium {
namespace {

class Guesses : public BatchingObserver {
 public:
  void OnDrafted(const ServedModel&, int drafted, int accepted) override {
    EXPECT_GT(drafted, 0);
    EXPECT_LE(accepted, drafted);
    this->drafted += drafted;
    this->accepted += accepted;
  }
  void OnFirstToken(const ServedModel&, absl::Duration) override { ++tokens; }
  void OnNextToken(const ServedModel&, absl::Duration) override { ++tokens; }
  void OnIteration(const Iteration&) override { ++iterations; }
  void OnSuspended(const ServedModel&) override { ++suspensions; }

  int drafted = 0, accepted = 0, tokens = 0, iterations = 0, suspensions = 0;
};

class AnyOf : public StopMatcher {
 public:
  explicit AnyOf(std::vector<int32_t> ends) : ends_(std::move(ends)) {}
  bool Matches(std::span<const int32_t> ids) const override {
    return ids.size() > 3 &&
           std::find(ends_.begin(), ends_.end(), ids.back()) != ends_.end();
  }

 private:
  const std::vector<int32_t> ends_;
};

// Spells a text in the longest tokens, one after the other.
ForcedRun LongestTokens(const std::vector<std::string>& tokens,
                        std::string_view text) {
  ForcedRun run;
  while (!text.empty()) {
    size_t best = 0;
    for (size_t i = 1; i < tokens.size(); ++i) {
      if (text.starts_with(tokens[i]) &&
          tokens[i].size() > tokens[best].size()) {
        best = i;
      }
    }
    if (tokens[best].empty()) return {};
    run.push_back(static_cast<int32_t>(best));
    text.remove_prefix(tokens[best].size());
  }
  return run;
}

// Holds texts to phrases, each told by its first letters. Tokens have up to
// three letters; kEnd has none.
std::shared_ptr<const Constraint> PhrasesConstraint(int vocabulary) {
  std::vector<std::string> tokens(vocabulary);
  for (int i = 1; i < vocabulary; ++i) {
    tokens[i] = i % 11 == 0  ? "abc"
                : i % 7 == 0 ? "bc"
                             : std::string(1, "abc"[i % 3]);
  }
  return std::make_shared<Constraint>(
      *Automaton::Create(*GrammarOfRegex(
          "(abcabcabccaaabbb|bbcabccab|c[ab]ccccabcabcaa|ccbaa)*")),
      std::make_shared<TokenTrie>(tokens, std::vector<int32_t>{kEnd}),
      Constraint::Limits(),
      [tokens](std::string_view text) { return LongestTokens(tokens, text); });
}

struct Shaped {
  const char* name;
  RandomTransformer::Shape shape;
  Formats formats;
};

std::vector<Shaped> Shapes() {
  const RandomTransformer::Shape plain = {
      .encoder_layers = 0, .vocabulary = 40, .max_positions = 200};
  RandomTransformer::Shape llama = plain;
  llama.heads = 4;
  llama.kv_heads = 2;
  llama.gated = true;
  llama.norm_kind = NormTensors::Kind::kRms;
  llama.norm_placement = RandomTransformer::NormPlacement::kBefore;
  llama.positions = PositionEncoding::kNone;
  llama.rotary_pairs = 4;
  llama.biases = false;
  llama.final_norm = true;
  RandomTransformer::Shape banded = llama;
  banded.window = 20;
  banded.sinks = true;
  banded.experts = 4;
  return {{"plain_f32", plain, kF32Formats},
          {"plain_int8", plain, kInt8Formats},
          {"llama_f32", llama, kF32Formats},
          {"llama_int8", llama, kInt8Formats},
          {"llama_int8_kept_as_bf16", llama, kInt8KeptAsBf16},
          {"banded_int8", banded, kInt8Formats}};
}

TEST(GuessTest, GuessesWhatIsWorthItsPrice) {
  const std::vector<int32_t> prompt = {1, 2, 3, 1, 2, 3, 1, 2, 3};
  DecodingOptions options;
  options.max_new_tokens = 20;
  auto search = Decoding::Create(options, prompt, nullptr).value();
  Speculation speculation(prompt, 100);
  EXPECT_EQ(speculation.Draft(/*price=*/2, 5, 5, search.get()), 0);
  EXPECT_EQ(speculation.size(), 0);
  EXPECT_EQ(speculation.Draft(/*price=*/0, 5, 5, search.get()), 5);
  const std::vector<int32_t> guessed = {3, 1, 2, 3, 1, 2};
  EXPECT_TRUE(std::ranges::equal(speculation.tokens(), guessed));
  EXPECT_EQ(speculation.queries().size(), 6u);
  EXPECT_EQ(speculation.Draft(0, 0, 0, search.get()), 0);
  speculation.GiveUp();
  EXPECT_EQ(speculation.Draft(0, 5, 5, search.get()), 0);
}

class SpeculationBitsTest : public testing::TestWithParam<Shaped> {
 protected:
  Request RandomRequest() {
    DecodingOptions options = Greedy(1 + Random(60));
    if (Random(2) == 0) {
      options = Samples(1, options.max_new_tokens, Random(1000));
      options.temperature = 0.2f;
      options.top_k = Random(3) * 7;
      if (Random(2) == 0) options.top_p = 0.9f;
    } else if (Random(6) == 0) {
      options = Beams(2, 10);
    }
    if (Random(3) == 0) options.min_new_tokens = options.max_new_tokens;
    if (Random(4) == 0) options.repetition_penalty = 1.1f;
    if (Random(4) == 0) options.presence_penalty = -0.5f;
    if (Random(4) == 0) options.no_repeat_ngram_size = 4;
    if (Random(4) == 0) options.logit_bias = {{3, 2.0f}, {5, -1.0f}};
    if (Random(5) == 0) options.forced_last_id = 9;
    if (Random(5) == 0) options.banned_sequences = {{4}, {5, 6}};
    if (Random(4) == 0) options.top_logprobs = 3;
    if (Random(5) == 0) options.stop_ids = {7};
    if (Random(3) == 0 && !options.forced_last_id) {
      static const auto constraint = LettersConstraint(40);
      options.constraint = constraint;
    }
    Request request = MakeRequest({}, options, nullptr);
    request.prefix.clear();
    for (int i = 1 + Random(30); i > 0; --i) {
      request.prefix.push_back(Random(40));
    }
    if (Random(2) == 0) {  // said twice
      request.prefix.insert(request.prefix.end(), request.prefix.begin(),
                            request.prefix.begin() + request.prefix.size() / 2);
    }
    if (Random(4) == 0) {
      request.stop =
          std::make_shared<AnyOf>(std::vector<int32_t>{Random(40), Random(40)});
    }
    request.stream = Random(2) == 0;
    return request;
  }
  int Random(int below) { return static_cast<int>(random_() % below); }

  // Returns the answers to the requests when they run together.
  std::vector<RequestResult> Run(const std::vector<Request>& requests,
                                 bool speculate, int together,
                                 std::unique_ptr<Engine> engine,
                                 Guesses* seen) {
    const EngineLimits limits = engine->limits();
    const int free = engine->free_blocks();
    Engine* const used = engine.get();
    RunningBatch batch(
        {.model = TheModel(), .speculate = speculate, .observer = seen},
        std::move(engine));
    std::vector<std::shared_ptr<RecordingObserver>> observers;
    std::vector<RequestResult> results;
    for (size_t i = 0; i < requests.size();) {
      Request request = requests[i];
      auto queued = Queued(i, std::move(request), limits);
      if (batch.running_rows(Priority::kBackground) < together &&
          batch.CanJoin(*queued) == FairQueue::Verdict::kTake) {
        observers.push_back(std::make_shared<RecordingObserver>());
        queued->request.observer = observers.back();
        batch.Add(std::move(queued));
        ++i;
      } else {
        batch.Iterate();
      }
    }
    while (!batch.empty()) batch.Iterate();
    EXPECT_EQ(used->free_blocks(), free);
    for (const auto& observer : observers) {
      auto result = observer->Wait();
      EXPECT_TRUE(result.ok()) << result.status();
      results.push_back(*std::move(result));
    }
    return results;
  }

  std::mt19937 random_{7};
};

TEST_P(SpeculationBitsTest, AnswersEqualThoseWithoutGuesses) {
  const RandomTransformer random(GetParam().shape, 11);
  std::vector<Request> requests;
  for (int i = 0; i < 120; ++i) requests.push_back(RandomRequest());
  const auto engine = [&](int64_t bytes) {
    return NewEngine(random, GetParam().formats, bytes);
  };
  Guesses none;
  const std::vector<RequestResult> expected =
      Run(requests, false, 1, engine(4 << 20), &none);
  EXPECT_EQ(none.drafted, 0);
  const int64_t block_bytes =
      (4 << 20) / engine(4 << 20)->limits().total_blocks;
  for (const auto& [together, blocks] :
       {std::pair(1, 0), {2, 0}, {6, 0}, {1, 13}, {6, 13}}) {
    SCOPED_TRACE(testing::Message() << together << " together, " << blocks);
    Guesses seen;
    const std::vector<RequestResult> results =
        Run(requests, true, together,
            engine(blocks == 0 ? 4 << 20 : blocks * block_bytes), &seen);
    ASSERT_EQ(results.size(), expected.size());
    size_t tokens = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      SCOPED_TRACE(i);
      ExpectSameHypotheses(expected[i].hypotheses, results[i].hypotheses);
      if (requests[i].decoding->beam_size > 1) continue;
      tokens += results[i].hypotheses[0].ids.size();
    }
    if (together > 1) continue;
    EXPECT_GT(seen.accepted, 100);
    EXPECT_GT(seen.drafted, seen.accepted);
    EXPECT_LT(seen.iterations, none.iterations - seen.accepted / 2);
    EXPECT_GE(static_cast<size_t>(seen.tokens), tokens);
  }
}

// Tokens that a constraint forces are read together. The answers, and the
// log-probabilities of the forced tokens too, are those of a step each.
TEST_P(SpeculationBitsTest, ForcedTokensSaveStepsAndChangeNoBit) {
  const RandomTransformer random(GetParam().shape, 11);
  const auto constraint = PhrasesConstraint(40);
  std::vector<Request> requests;
  for (int i = 0; i < 60; ++i) {
    Request request = RandomRequest();
    if (request.decoding->forced_last_id) continue;
    request.decoding->constraint = constraint;
    request.decoding->no_repeat_ngram_size = 0;
    if (Random(4) > 0) request.decoding->banned_sequences.clear();
    // Its tokens may end a text amid what is forced.
    if (Random(4) > 0) request.stop = nullptr;
    request.decoding->min_new_tokens = 0;
    requests.push_back(std::move(request));
  }
  const auto engine = [&](int64_t bytes) {
    return NewEngine(random, GetParam().formats, bytes);
  };
  Guesses none;
  const std::vector<RequestResult> expected =
      Run(requests, false, 1, engine(4 << 20), &none);
  const int64_t block_bytes =
      (4 << 20) / engine(4 << 20)->limits().total_blocks;
  for (const auto& [together, blocks] : {std::pair(1, 0), {8, 0}, {8, 13}}) {
    SCOPED_TRACE(testing::Message() << together << " together, " << blocks);
    Guesses seen;
    const std::vector<RequestResult> results =
        Run(requests, true, together,
            engine(blocks == 0 ? 4 << 20 : blocks * block_bytes), &seen);
    ASSERT_EQ(results.size(), expected.size());
    for (size_t i = 0; i < results.size(); ++i) {
      SCOPED_TRACE(i);
      ExpectSameHypotheses(expected[i].hypotheses, results[i].hypotheses);
    }
    if (together > 1) continue;
    EXPECT_EQ(seen.tokens, none.tokens);
    EXPECT_LT(3 * seen.iterations, 2 * none.iterations);
  }
}

// Options that choose or forbid tokens themselves, and searches of several
// texts, which read nothing ahead.
TEST_P(SpeculationBitsTest, ForcedTokensGoWithEveryOption) {
  const RandomTransformer random(GetParam().shape, 11);
  const auto constraint = PhrasesConstraint(40);
  std::vector<Request> requests;
  for (int i = 0; i < 80; ++i) {
    Request request = RandomRequest();
    DecodingOptions& options = *request.decoding;
    if (i % 8 == 0) {
      options = Samples(3, options.max_new_tokens, i);
    } else if (i % 8 == 1) {
      options = Beams(3, 10);
    } else if (options.beam_size > 1) {
      continue;
    }
    if (i % 8 == 2) options.first_suppressed_ids = {1, 4};
    if (i % 8 == 3) options.suppressed_ids = {11, 22};
    if (i % 8 == 4) options.min_new_tokens = options.max_new_tokens;
    if (i % 8 >= 5) {
      // The mark may stand in a phrase, and amid what is forced.
      const auto thoughts = ThoughtBound::Create(
          {.max_tokens = i % 5, .end = i % 2 == 0 ? "bb" : "ca", .open = true},
          constraint->trie());
      ASSERT_TRUE(thoughts.ok()) << thoughts.status();
      options.thoughts = *thoughts;
    }
    options.forced_last_id.reset();
    if (i % 3 == 0) options.forced_last_id = kEnd;
    options.no_repeat_ngram_size = 0;
    options.constraint = constraint;
    requests.push_back(std::move(request));
  }
  const auto engine = [&] {
    return NewEngine(random, GetParam().formats, 4 << 20);
  };
  Guesses none;
  const std::vector<RequestResult> expected =
      Run(requests, false, 1, engine(), &none);
  for (const int together : {1, 8}) {
    Guesses seen;
    const std::vector<RequestResult> results =
        Run(requests, true, together, engine(), &seen);
    ASSERT_EQ(results.size(), expected.size());
    for (size_t i = 0; i < results.size(); ++i) {
      SCOPED_TRACE(i);
      ExpectSameHypotheses(expected[i].hypotheses, results[i].hypotheses);
    }
    if (together > 1) continue;
    EXPECT_LT(seen.iterations, none.iterations);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, SpeculationBitsTest,
                         testing::ValuesIn(Shapes()), [](const auto& info) {
                           return std::string(info.param.name);
                         });

// The puppet's next token depends on all tokens read, so it would show the
// traces of a guess.
class SpeculationTest : public RunningBatchFixture {
 protected:
  SpeculationTest() {
    puppets_.options.limits.encoder_layers = 0;
    puppets_.options.limits.max_source_tokens = 0;
    puppets_.options.end_bias = -100;
    options_.observer = &seen_;
  }
  // A prompt that repeats itself, so that there is a guess at once: the
  // puppet's biased answer is always `token`.
  static Request Repeating(int32_t token, int max_new_tokens) {
    Request request = MakeRequest({}, Greedy(max_new_tokens), nullptr);
    request.prefix.assign(8, token);
    request.decoding->logit_bias = {{token, 100.0f}};
    return request;
  }

  Guesses seen_;
};

TEST_F(SpeculationTest, ACopyTakesFewSteps) {
  Create();
  const auto observer = Add(Repeating(5, 64));
  RunAll();
  EXPECT_EQ(observer->Wait()->hypotheses[0].ids, std::vector<int32_t>(64, 5));
  EXPECT_EQ(seen_.drafted, seen_.accepted);
  EXPECT_EQ(seen_.tokens, 64);
  EXPECT_LT(seen_.iterations, 25);
}

TEST_F(SpeculationTest, MakesNoGuessesWhenSwitchedOff) {
  options_.speculate = false;
  Create();
  const auto observer = Add(Repeating(5, 64));
  RunAll();
  EXPECT_EQ(observer->Wait()->hypotheses[0].ids, std::vector<int32_t>(64, 5));
  EXPECT_EQ(seen_.drafted, 0);
  EXPECT_EQ(seen_.iterations, 64);
}

TEST_F(SpeculationTest, ForcedTokensTakeFewStepsAndAreNoGuesses) {
  std::vector<std::string> tokens(puppets_.options.limits.vocabulary);
  for (size_t i = 2; i < tokens.size(); ++i) {
    tokens[i] = std::string(1, static_cast<char>('!' + i % 90));
  }
  const std::string text = tokens[5] + tokens[6] + tokens[7] + tokens[8];
  const std::vector<std::string> choices = {text + text + text + text};
  Request request = MakeRequest({}, Greedy(40), nullptr);
  request.decoding->constraint = std::make_shared<Constraint>(
      *Automaton::Create(*GrammarOfChoices(choices)),
      std::make_shared<TokenTrie>(tokens, std::vector<int32_t>{kEnd}),
      Constraint::Limits(),
      [tokens](std::string_view text) { return LongestTokens(tokens, text); });
  request.prefix = {kStart, 2};
  for (const bool speculate : {true, false}) {
    options_.speculate = speculate;
    Create();
    seen_ = {};
    const auto observer = Add(request);
    RunAll();
    EXPECT_EQ(observer->Wait()->hypotheses[0].ids,
              (std::vector<int32_t>{5, 6, 7, 8, 5, 6, 7, 8, 5, 6, 7, 8, 5, 6, 7,
                                    8, kEnd}));
    // The prompt gives the first token; a step reads it and the 15 others.
    EXPECT_EQ(seen_.iterations, speculate ? 2 : 17);
    EXPECT_EQ(seen_.tokens, 17);
    EXPECT_EQ(seen_.drafted, 0);
  }
}

// No guesses while others read prefixes, while many run, or without room.
TEST_F(SpeculationTest, GuessesGiveWayToOtherWork) {
  Create();
  std::vector<std::shared_ptr<RecordingObserver>> observers;
  for (int i = 0; i < 6; ++i) {
    observers.push_back(Add(Repeating(5 + i, 40), i));
  }
  RunAll();
  EXPECT_EQ(seen_.drafted, 0);  // a guess costs more than a token

  puppets_.options.limits.total_blocks = 12;  // 48 tokens
  Create();
  seen_ = {};
  const auto alone = Add(Repeating(5, 41));
  RunAll();
  EXPECT_EQ(alone->Wait()->hypotheses[0].ids, std::vector<int32_t>(41, 5));
  EXPECT_GT(seen_.accepted, 0);
  EXPECT_EQ(seen_.suspensions, 0);
}

TEST_F(SpeculationTest, CancelledRequestsLeaveNothing) {
  Create();
  Request request = Repeating(5, 200);
  const auto cancellation = std::make_shared<Cancellation>();
  request.cancellation = cancellation;
  const auto observer = Add(request);
  for (int i = 0; i < 6; ++i) batch_->Iterate();
  EXPECT_GT(seen_.accepted, 0);
  EXPECT_GT(LastStep().used_blocks, 0);
  cancellation->Cancel();
  batch_->DropDead();
  EXPECT_TRUE(batch_->empty());
  EXPECT_EQ(observer->Wait().status().code(), absl::StatusCode::kCancelled);
  // The next iteration has only the other request's rows and blocks.
  Request other = Repeating(6, 3);
  other.prefix = {6};
  Add(other);
  batch_->Iterate();
  EXPECT_EQ(LastStep().decoder_rows, 1);
  EXPECT_EQ(LastStep().used_blocks, 1);
  RunAll();
}

}  // namespace
}  // namespace trivium
