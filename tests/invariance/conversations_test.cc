// What an earlier request left is found, and changes no bit: thousands of turns
// of random conversations, each answered cold, warm, half evicted, and in a
// full batch. Nor does guessing change one. Who gives another salt finds
// nothing.
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "model/model.h"
#include "server/batching/request_checks.h"
#include "server/batching/running_batch.h"
#include "tests/server/batching/harness.h"

namespace trivium {
namespace {

// Whether there are so many turns that everything happens that may: of few,
// the times of a slow build may let nothing be guessed.
#ifdef TRIVIUM_FEW_INPUTS
constexpr bool kMany = false;
#else
constexpr bool kMany = true;
#endif
constexpr int kTurns = kMany ? 2500 : 150;
constexpr int64_t kConversationCacheBytes = 8 << 20;

class Sights : public BatchingObserver {
 public:
  void OnDrafted(const ServedModel&, int drafted, int accepted) override {
    this->drafted += drafted;
    this->accepted += accepted;
  }
  void OnPrefixFound(const ServedModel&, int64_t tokens) override {
    found += tokens;
  }
  void OnSuspended(const ServedModel&) override { ++suspensions; }
  void OnIteration(const Iteration& iteration) override {
    rows += iteration.decoder_rows;
  }

  int64_t drafted = 0, accepted = 0, found = 0, suspensions = 0, rows = 0;
};

struct Turn {
  std::vector<int32_t> prompt;
  DecodingOptions options;
  std::string salt;
};

struct Served {
  const char* name;
  const char* folder;
  Precision precision;
};

class ConversationsTest : public ::testing::TestWithParam<Served> {
 protected:
  void SetUp() override {
    LoadOptions load;
    load.precision = GetParam().precision;
    auto model = Model::Load(GetParam().folder, load);
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
    if (!model_->info().batch_invariant) {
      GTEST_SKIP() << "skipped: conversations, of which nothing is promised";
    }
  }

  // A running batch with room for so many blocks of tokens in all layers, and
  // for a few states if layers have any; 0: more than enough, of which `kept`
  // are kept, and two states.
  std::unique_ptr<RunningBatch> NewBatch(bool speculate, int blocks, int kept,
                                         Sights* sights) {
    const auto whole =
        model_->NewEngine({.kv_cache_bytes = kConversationCacheBytes});
    limits_ = (*whole)->limits();
    const int64_t block_bytes = limits_.SourceBlocks(1) * limits_.block_bytes;
    const int64_t state_bytes = limits_.state_blocks * limits_.block_bytes;
    EngineOptions options;
    options.kv_cache_bytes = blocks == 0
                                 ? kConversationCacheBytes
                                 : blocks * block_bytes + 4 * state_bytes;
    if (kept >= 0) {
      options.prefix_cache_bytes =
          kept * block_bytes + (kept > 0 ? 2 * state_bytes : 0);
    }
    return std::make_unique<RunningBatch>(
        RunningBatch::Options{
            .model = TheModel(), .speculate = speculate, .observer = sights},
        model_->NewEngine(options).value());
  }

  std::unique_ptr<QueuedRequest> Ask(
      const Turn& turn, CallId call,
      std::shared_ptr<RecordingObserver> observer) {
    Request request = MakeRequest({}, turn.options, std::move(observer));
    request.prefix = turn.prompt;
    request.salt = turn.salt;
    EXPECT_TRUE(CheckRequest(request, limits_, 256).ok());
    return Queued(call, std::move(request), limits_);
  }

  RequestResult RunAlone(const Turn& turn, RunningBatch* batch) {
    const auto observer = std::make_shared<RecordingObserver>();
    batch->Add(Ask(turn, 1, observer));
    while (!batch->empty()) batch->Iterate();
    auto result = observer->Wait();
    EXPECT_TRUE(result.ok()) << result.status();
    return *std::move(result);
  }

  // As many together as find room.
  std::vector<RequestResult> RunTogether(const std::vector<Turn>& turns,
                                         RunningBatch* batch) {
    std::vector<std::shared_ptr<RecordingObserver>> observers;
    for (size_t i = 0; i < turns.size();) {
      auto observer = std::make_shared<RecordingObserver>();
      auto queued = Ask(turns[i], i, observer);
      if (batch->CanJoin(*queued) == FairQueue::Verdict::kTake) {
        observers.push_back(std::move(observer));
        batch->Add(std::move(queued));
        ++i;
      } else {
        batch->Iterate();
      }
    }
    while (!batch->empty()) batch->Iterate();
    std::vector<RequestResult> results;
    for (const auto& observer : observers) {
      results.push_back(*observer->Wait());
    }
    return results;
  }

  DecodingOptions RandomSearch() {
    DecodingOptions options = Greedy(2 + Random(10));
    switch (Random(4)) {
      case 0:
        options = Samples(1, options.max_new_tokens, Random(1000));
        options.temperature = 0.3f;
        if (Random(2) == 0) options.top_k = 0;
        break;
      case 1:
        options = Samples(3, options.max_new_tokens, Random(1000));
        break;
      default:
        break;
    }
    if (Random(4) == 0) options.repetition_penalty = 1.2f;
    if (Random(4) == 0) options.frequency_penalty = 0.3f;
    if (Random(6) == 0) options.no_repeat_ngram_size = 3;
    if (Random(6) == 0) options.min_new_tokens = options.max_new_tokens;
    if (Random(6) == 0) options.top_logprobs = 2;
    return options;
  }

  // Turns and their answers, cold and alone, without guesses: a prompt is what
  // was said before and something new.
  void Converse() {
    Sights sights;
    const auto batch = NewBatch(false, 0, 0, &sights);
    std::vector<std::vector<int32_t>> systems(6);
    for (auto& system : systems) system = Words(16 + Random(6));
    std::vector<int32_t> said;
    while (static_cast<int>(turns_.size()) < kTurns) {
      if (said.empty()) said = systems[Random(systems.size())];
      // Something new, or something that was said before.
      std::vector<int32_t> more = Words(1 + Random(5));
      if (Random(2) == 0) more.assign(said.begin(), said.begin() + 6);
      said.insert(said.end(), more.begin(), more.end());
      if (said.size() > 50) {
        said.clear();
        continue;
      }
      Turn& turn = turns_.emplace_back(Turn{said, RandomSearch(), ""});
      expected_.push_back(RunAlone(turn, batch.get()));
      EXPECT_EQ(expected_.back().cached_tokens, 0);
      const std::vector<int32_t>& answer = expected_.back().hypotheses[0].ids;
      said.insert(said.end(), answer.begin(), answer.end());
    }
    EXPECT_EQ(sights.found, 0);
    EXPECT_EQ(sights.drafted, 0);
  }

  void ExpectSame(size_t turn, const RequestResult& result) {
    SCOPED_TRACE(turn);
    ExpectSameHypotheses(expected_[turn].hypotheses, result.hypotheses);
  }

  std::vector<int32_t> Words(int count) {
    std::vector<int32_t> words(count);
    for (int32_t& word : words) word = 3 + Random(300);
    return words;
  }
  int Random(size_t below) { return static_cast<int>(random_() % below); }

  std::mt19937 random_{18};
  std::shared_ptr<const Model> model_;
  EngineLimits limits_;
  std::vector<Turn> turns_;
  std::vector<RequestResult> expected_;
};

TEST_P(ConversationsTest, GivesTheSameBitsWarmColdHalfEvictedAndTogether) {
  Converse();
  // Warm, and with so few blocks that most are evicted before they are found.
  for (const auto& [blocks, kept] : {std::pair(0, -1), {0, 5}, {9, -1}}) {
    SCOPED_TRACE(testing::Message() << blocks << " blocks, kept " << kept);
    Sights sights;
    const auto batch = NewBatch(true, blocks, kept, &sights);
    int64_t cached = 0;
    for (size_t i = 0; i < turns_.size(); ++i) {
      const RequestResult result = RunAlone(turns_[i], batch.get());
      cached += result.cached_tokens;
      EXPECT_LT(result.cached_tokens, turns_[i].prompt.size());
      ExpectSame(i, result);
    }
    EXPECT_GT(cached, 0);
    EXPECT_EQ(cached, sights.found);
    if (limits_.state_blocks > 0) {
      EXPECT_EQ(sights.drafted, 0);  // a state cannot go back
    } else if (kMany) {
      EXPECT_GT(sights.accepted, 0);
      EXPECT_GT(sights.drafted, sights.accepted);
    }
  }
  // Together, with room for all and for few, who are suspended all the time.
  for (const int blocks : {0, 13}) {
    SCOPED_TRACE(testing::Message() << blocks << " blocks, together");
    Sights sights;
    const auto batch = NewBatch(true, blocks, -1, &sights);
    const std::vector<RequestResult> results = RunTogether(turns_, batch.get());
    for (size_t i = 0; i < turns_.size(); ++i) ExpectSame(i, results[i]);
    EXPECT_GT(sights.found, 0);
    if (blocks > 0 && kMany) {
      // On a busy machine they may come one after the other.
      for (int i = 0; i < 20 && sights.suspensions == 0; ++i) {
        RunTogether(turns_, batch.get());
      }
      EXPECT_GT(sights.suspensions, 0);
    }
  }
}

// Neither bits nor counts nor the work that is done tell a tenant what others
// have asked.
TEST_P(ConversationsTest, FindsNothingUnderAnotherSalt) {
  Turn turn{Words(40), Greedy(4), "a"};
  Sights sights;
  const auto batch = NewBatch(false, 0, -1, &sights);
  const auto run = [&](const std::string& salt) {
    turn.salt = salt;
    sights.rows = 0;
    return RunAlone(turn, batch.get());
  };
  const RequestResult first = run("a");
  const int64_t cold_rows = sights.rows;
  EXPECT_EQ(first.cached_tokens, 0);
  for (const char* salt : {"b", "", "a ", "aa"}) {
    SCOPED_TRACE(salt);
    const RequestResult result = run(salt);
    EXPECT_EQ(result.cached_tokens, 0);
    EXPECT_EQ(sights.rows, cold_rows);
    ExpectSameHypotheses(first.hypotheses, result.hypotheses);
  }
  EXPECT_EQ(sights.found, 0);
  const RequestResult again = run("a");
  EXPECT_EQ(again.cached_tokens, 32);
  EXPECT_EQ(sights.rows, cold_rows - 32);
  ExpectSameHypotheses(first.hypotheses, again.hypotheses);
}

// Draws share what their prompt is: it is read once, and kept once.
TEST_P(ConversationsTest, ReadsThePromptOfSeveralDrawsOnce) {
  Sights sights;
  const auto batch = NewBatch(false, 0, 0, &sights);
  DecodingOptions options = Samples(8, 5, 3);
  options.min_new_tokens = 5;
  const Turn turn{Words(40), options, ""};
  const RequestResult result = RunAlone(turn, batch.get());
  ASSERT_EQ(result.hypotheses.size(), 8u);
  // 40 of the prompt, then all but the last token of each draw.
  EXPECT_EQ(sights.rows, 40 + 8 * 4);
}

// Of the same bits as Score's, whatever is kept, and the answer as without.
TEST_P(ConversationsTest, GivesPromptLogprobsLikeScore) {
  Sights sights;
  for (const int blocks : {0, 12}) {
    const auto batch = NewBatch(true, blocks, -1, &sights);
    for (int i = 0; i < 40; ++i) {
      Turn turn{Words(2 + Random(40)), RandomSearch(), ""};
      const auto run = [&](bool decode, bool score) {
        const auto observer = std::make_shared<RecordingObserver>();
        auto queued = Ask(turn, 1, observer);
        if (!decode) queued->request.decoding.reset();
        if (score) queued->request.scoring = Scoring{.top_logprobs = i % 3};
        EXPECT_TRUE(CheckRequest(queued->request, limits_, 256).ok());
        queued = Queued(1, std::move(queued->request), limits_);
        batch->Add(std::move(queued));
        while (!batch->empty()) batch->Iterate();
        return *observer->Wait();
      };
      const RequestResult score = run(false, true);
      const RequestResult both = run(true, true);
      const RequestResult answer = run(true, false);
      SCOPED_TRACE(i);
      ASSERT_TRUE(score.scored && both.scored && !answer.scored);
      ExpectSameHypotheses({*score.scored}, {*both.scored});
      ExpectSameHypotheses(answer.hypotheses, both.hypotheses);
      EXPECT_EQ(both.scored->ids.size(), turn.prompt.size() - 1);
      EXPECT_EQ(both.cached_tokens, 0);
      // What the scored prompt left is found.
      if (limits_.state_blocks == 0) {
        EXPECT_EQ(answer.cached_tokens, (turn.prompt.size() - 1) / 16 * 16);
      }
      ASSERT_EQ(score.scored->top_logprobs.size(),
                both.scored->top_logprobs.size());
      for (size_t p = 0; p < score.scored->top_logprobs.size(); ++p) {
        for (size_t k = 0; k < score.scored->top_logprobs[p].size(); ++k) {
          EXPECT_EQ(score.scored->top_logprobs[p][k].logprob,
                    both.scored->top_logprobs[p][k].logprob);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, ConversationsTest,
    // Of Gemma, two layers of three see 7 tokens back, less than a block.
    ::testing::Values(
        Served{"f32", "tests/golden/llama.lm", Precision::kF32},
        Served{"int8", "tests/golden/llama.lm", Precision::kInt8},
        Served{"int4", "tests/golden/llama.lm", Precision::kInt4},
        Served{"windows_f32", "tests/golden/gemma3_text.lm", Precision::kF32},
        Served{"windows_int8", "tests/golden/gemma3_text.lm", Precision::kInt8},
        Served{"states_f32", "tests/golden/lfm2.lm", Precision::kF32},
        Served{"states_int8", "tests/golden/qwen3_5_text.lm", Precision::kInt8},
        Served{"both_int8", "tests/golden/falcon_h1.lm", Precision::kInt8}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace trivium
