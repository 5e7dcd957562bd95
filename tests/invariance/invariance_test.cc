// The promise: the same request gives the same bits whatever else runs. Real
// model, real batcher, real threads; greedy, beams and seeded sampling mixed;
// requests that arrive at random steps of the others; every answer compared
// with that of the request alone on an engine of its own, of one thread.
#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "model/kernels/runtime.h"
#include "model/model.h"
#include "server/batching/batcher.h"
#include "tests/support/forwarding_engine.h"
#include "tests/support/generate.h"

namespace trivium {
namespace {

constexpr int kGated = 64;  // requests queued before the first iteration
constexpr int kMaxNewTokens = 24;
constexpr int64_t kCacheBytes = int64_t{64} << 20;

// Short inputs, where wrong rounding shows first: numbers, currencies, dates
// and single words; then sentences of many lengths.
std::vector<std::string> Texts() {
  const std::vector<std::string> words = {
      "apple",  "house",   "yes",    "No",       "Berlin", "computer",
      "thanks", "Tuesday", "window", "tomorrow", "file",   "GOODBYE"};
  const std::vector<std::string> sentences = {
      "I ate an apple.",
      "The animal didn't cross the street because it was too tired.",
      "Where is the train station?",
      "She has been learning German for three years, and she reads a lot of "
      "books about history, art and music in her free time.",
      "Click Save to store the file, then close the window."};
  std::mt19937 generator(20);
  std::vector<std::string> texts;
  for (int i = 0; i < 250; ++i) {
    texts.push_back(fmt::format("{}", generator() % 1000000));
    texts.push_back(
        fmt::format("${}.{:02}", generator() % 10000, generator() % 100));
    texts.push_back(fmt::format("{:04}-{:02}-{:02}", 1900 + generator() % 200,
                                1 + generator() % 12, 1 + generator() % 28));
    texts.push_back(words[generator() % words.size()] +
                    std::string(generator() % 3, '!'));
  }
  for (int i = 0; i < 60; ++i) {
    std::string text = sentences[generator() % sentences.size()];
    while (generator() % 3 == 0) {
      text += " " + sentences[generator() % sentences.size()];
    }
    texts.push_back(text);
  }
  std::shuffle(texts.begin(), texts.end(), generator);
#ifdef TRIVIUM_FEW_INPUTS
  texts.resize(60);
#endif
  return texts;
}

struct Job {
  std::vector<int32_t> source;
  std::vector<int32_t> prefix;
  DecodingOptions options;
};

// Texts to translate or, of a decoder alone, prompts of random ids, some of
// which begin alike.
std::vector<Job> Inputs(const Model& model) {
  std::vector<Job> jobs;
  if (model.info().design == Design::kEncoderDecoder) {
    for (const std::string& text : Texts()) {
      jobs.push_back({model.tokenizer()->Encode(text, {}).value().ids,
                      model.decoder_prefix(),
                      {}});
    }
    return jobs;
  }
  std::mt19937 generator(23);
#ifdef TRIVIUM_FEW_INPUTS
  jobs.resize(40);
#else
  jobs.resize(400);
#endif
  for (Job& job : jobs) {
    const int alike = generator() % 2 == 0 ? 17 : 0;
    for (int i = 0; i < alike; ++i) job.prefix.push_back(3 + i);
    for (int i = 1 + static_cast<int>(generator() % 22); i > 0; --i) {
      job.prefix.push_back(
          static_cast<int32_t>(generator() % model.info().vocabulary));
    }
  }
  return jobs;
}

std::vector<Job> Jobs(const Model& model) {
  std::mt19937 generator(21);
  std::vector<Job> jobs = Inputs(model);
  for (Job& job : jobs) {
    job.options = model.decoding_defaults();
    job.options.max_new_tokens = 4 + generator() % (kMaxNewTokens - 3);
    job.options.beam_size = 1;
    switch (generator() % 5) {
      case 0:
      case 1:
        break;  // greedy
      case 2:
      case 3:
        job.options.beam_size = 4;
        job.options.hypotheses = 1 + generator() % 4;
        break;
      case 4:
        job.options.sample = true;
        job.options.hypotheses = 1 + generator() % 2;
        job.options.seed = generator();
        job.options.temperature = 1.3f;
        job.options.top_k = generator() % 2 == 0 ? 50 : 0;
        job.options.top_p = 0.95f;
        if (generator() % 2 == 0) job.options.min_p = 0.02f;
        if (generator() % 2 == 0) job.options.typical_p = 0.9f;
        break;
    }
    if (generator() % 4 == 0) job.options.no_repeat_ngram_size = 2;
    if (generator() % 4 == 0) job.options.repetition_penalty = 1.2f;
    if (generator() % 4 == 0) job.options.frequency_penalty = 0.5f;
    if (generator() % 4 == 0) job.options.logit_bias = {{3, 1.5f}};
  }
  return jobs;
}

// Counts iterations and answers, and holds the first iteration back.
class Progress : public BatchingObserver {
 public:
  void OnIteration(const Iteration& iteration) override {
    MutexLock lock(&mutex_);
    ++iterations_;
    row_counts_.insert(iteration.decoder_rows);
    changed_.SignalAll();
  }
  void Answered() {
    MutexLock lock(&mutex_);
    ++answered_;
    changed_.SignalAll();
  }
  void OpenGate() {
    MutexLock lock(&mutex_);
    open_ = true;
    changed_.SignalAll();
  }
  void WaitForGate() {
    MutexLock lock(&mutex_);
    while (!open_) changed_.Wait(&mutex_);
  }
  // Until `more` further iterations ran or all that was submitted is answered.
  void WaitForIterations(int more, int submitted) {
    MutexLock lock(&mutex_);
    const int target = iterations_ + more;
    while (iterations_ < target && answered_ < submitted) {
      changed_.Wait(&mutex_);
    }
  }
  void WaitForAnswers(int count) {
    MutexLock lock(&mutex_);
    while (answered_ < count) changed_.Wait(&mutex_);
  }
  std::set<int> row_counts() {
    MutexLock lock(&mutex_);
    return row_counts_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  int iterations_ ABSL_GUARDED_BY(mutex_) = 0;
  int answered_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<int> row_counts_ ABSL_GUARDED_BY(mutex_);
};

// Waits at the gate before its first step.
class GatedEngine : public ForwardingEngine {
 public:
  GatedEngine(std::unique_ptr<Engine> engine, Progress* progress)
      : ForwardingEngine(std::move(engine)), progress_(progress) {}

  absl::Status Step(const StepPlan& plan, StepResult* result) override {
    progress_->WaitForGate();
    return ForwardingEngine::Step(plan, result);
  }

 private:
  Progress* const progress_;
};

class Answer : public RequestObserver {
 public:
  explicit Answer(Progress* progress) : progress_(progress) {}
  void OnDone(absl::StatusOr<RequestResult> result) override {
    result_ = std::move(result);
    progress_->Answered();
  }
  const absl::StatusOr<RequestResult>& result() const { return result_; }

 private:
  Progress* progress_;
  absl::StatusOr<RequestResult> result_ = absl::UnknownError("no answer");
};

bool SameBits(float a, float b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

void ExpectSame(const Model& model, const std::vector<Hypothesis>& alone,
                const std::vector<Hypothesis>& together, size_t job) {
  ASSERT_EQ(alone.size(), together.size()) << "job " << job;
  for (size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(alone[i].ids, together[i].ids) << "job " << job;
    if (model.tokenizer() != nullptr) {
      EXPECT_EQ(model.tokenizer()->Decode(alone[i].ids),
                model.tokenizer()->Decode(together[i].ids));
    }
    EXPECT_TRUE(SameBits(alone[i].score, together[i].score)) << "job " << job;
    EXPECT_TRUE(SameBits(alone[i].log_probability, together[i].log_probability))
        << "job " << job;
    EXPECT_EQ(alone[i].reason, together[i].reason);
  }
}

struct Case {
  const char* name;
  const char* folder;
  Precision precision;
};

class InvarianceTest : public ::testing::TestWithParam<Case> {};

TEST_P(InvarianceTest, GivesTheSameAnswersInAnyBatch) {
  LoadOptions load;
  load.precision = GetParam().precision;
  absl::StatusOr<std::shared_ptr<const Model>> model =
      Model::Load(GetParam().folder, load);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto served = std::make_shared<const ServedModel>(
      ServedModel{.name = "served", .model = *model});
  if (!(*model)->info().batch_invariant) {
    // Then GetModel, the log and the metric say so, and there is no promise.
    GTEST_SKIP() << "skipped: invariance, which is not promised for "
                 << PrecisionName(GetParam().precision) << " at "
                 << IsaName(ActiveIsa());
  }
  const std::vector<Job> jobs = Jobs(**model);
  std::vector<std::vector<Hypothesis>> alone;
  {
    auto engine = (*model)->NewEngine({.kv_cache_bytes = kCacheBytes});
    ASSERT_TRUE(engine.ok()) << engine.status();
    for (const Job& job : jobs) {
      auto result = GenerateAlone(engine->get(), {job.source, {}}, job.prefix,
                                  job.options);
      ASSERT_TRUE(result.ok()) << result.status();
      alone.push_back(*std::move(result));
    }
  }

  for (const auto& [workers, threads] :
       std::vector<std::pair<int, int>>{{1, 3}, {2, 1}}) {
    SCOPED_TRACE(fmt::format("{} workers of {} threads", workers, threads));
    Progress progress;
    Batcher::Engines engines;
    for (int i = 0; i < workers; ++i) {
      engines.push_back(std::make_unique<GatedEngine>(
          (*model)->NewEngine({kCacheBytes, threads}).value(), &progress));
    }
    Batcher::Options options;
    options.workers = workers;
    options.observer = &progress;
    auto batcher = Batcher::Create(options);
    ASSERT_TRUE(batcher.ok()) << batcher.status();
    ASSERT_TRUE((*batcher)->AddModel(served, std::move(engines)).ok());

    std::mt19937 generator(22);
    std::vector<std::shared_ptr<Answer>> answers;
    while (answers.size() < jobs.size()) {
      const size_t first = answers.size();
      const size_t wanted =
          first == 0 ? size_t{kGated} : size_t{1} + generator() % 24;
      for (size_t i = first; i < std::min(first + wanted, jobs.size()); ++i) {
        answers.push_back(std::make_shared<Answer>(&progress));
        std::vector<Request> call(1);
        call[0].model = served;
        call[0].source.ids = jobs[i].source;
        call[0].decoding = jobs[i].options;
        call[0].prefix = jobs[i].prefix;
        call[0].observer = answers.back();
        ASSERT_TRUE(
            (*batcher)->Submit((*batcher)->NewCall(), std::move(call)).ok());
      }
      progress.OpenGate();
      progress.WaitForIterations(static_cast<int>(generator() % 7),
                                 static_cast<int>(answers.size()));
    }
    progress.WaitForAnswers(static_cast<int>(jobs.size()));

    for (size_t i = 0; i < jobs.size(); ++i) {
      ASSERT_TRUE(answers[i]->result().ok()) << answers[i]->result().status();
      ExpectSame(**model, alone[i], answers[i]->result()->hypotheses, i);
    }
    // Without many and many different rows this test would prove nothing.
    // Few jobs end before many counts of rows were seen.
    const std::set<int> rows = progress.row_counts();
    EXPECT_GE(*rows.rbegin(), 32);
    EXPECT_GE(rows.size(), std::min(size_t{20}, jobs.size() / 6));
  }
}

// Of the decoders alone one reads everything, one in bands, and one keeps
// states.
INSTANTIATE_TEST_SUITE_P(
    Models, InvarianceTest,
    ::testing::Values(
        Case{"f32", "model/embedded", Precision::kF32},
        Case{"int8", "model/embedded", Precision::kInt8},
        Case{"gpt2_f32", "tests/golden/gpt2.lm", Precision::kF32},
        Case{"gpt2_int8", "tests/golden/gpt2.lm", Precision::kInt8},
        Case{"gpt2_int4", "tests/golden/gpt2.lm", Precision::kInt4},
        Case{"gpt_neo_int8", "tests/golden/gpt_neo.lm", Precision::kInt8},
        Case{"states_int8", "tests/golden/qwen3_5_text.lm", Precision::kInt8}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace trivium
