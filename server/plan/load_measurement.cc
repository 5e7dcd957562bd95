// A measurement; its time begins before the engines are made:
//   1. one request after the other, for a third of the time or kMostAlone times
//   2. at_once requests at a time, until the time is over and two waves are
//      answered
//   3. memory is read while requests still run, since they use it
//   4. ~LoadSender cancels the rest and waits for their ends
//
// Always:
// - The sender ends before the batcher, and the batcher before the collector.
//   So no event comes to something that is gone.
// - A cancelled request counts neither as an answer nor as an error. Send
//   returns any other error.
// - The tokens are drawn from the same seed, so equal loads send the same
//   requests in the same order.
#include "server/plan/load_measurement.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/cpu_limits.h"
#include "base/mutex.h"
#include "base/status.h"

namespace trivium {
namespace {

// Requests at once for each core, unless they take too long: about as many as
// make a row of a step cheapest.
constexpr int kAtOnceForACore = 32;
// Bound on the requests that are measured one by one.
constexpr size_t kMostAlone = 50;

std::string NameOf(const Load& load) {
  if (load.new_tokens == 0) {
    return fmt::format("texts of {} tokens", load.source_tokens);
  }
  return fmt::format("{} of {} tokens, {} new ones",
                     load.prompt_tokens > 0 ? "prompts" : "sources",
                     load.prompt_tokens + load.source_tokens, load.new_tokens);
}

// Collects the times of answered requests, and the KV blocks that were in use.
// Thread-safe.
class LoadCollector : public BatchingObserver {
 public:
  struct Answer {
    absl::Duration time;
    absl::Duration first_token;
    absl::Time at;
  };

  explicit LoadCollector(int workers) : blocks_(workers, 0) {}

  void OnBlocks(int worker, const ServedModel& model, int used,
                int total) override {
    MutexLock lock(&mutex_);
    blocks_[worker] = std::max(blocks_[worker], used);
  }

  void Put(const Answer& answer, const absl::Status& status) {
    MutexLock lock(&mutex_);
    --under_way_;
    if (status.ok()) {
      answers_.push_back(answer);
    } else if (!absl::IsCancelled(status)) {
      status_.Update(status);
    }
    changed_.SignalAll();
  }
  void Sent() {
    MutexLock lock(&mutex_);
    ++under_way_;
  }
  // Waits until fewer than `most` requests are under way. Returns false if that
  // does not happen before `deadline`.
  bool WaitForFewer(int most, absl::Time deadline) {
    MutexLock lock(&mutex_);
    while (under_way_ >= most && absl::Now() < deadline) {
      Clock::Real()->WaitUntil(deadline, &changed_, &mutex_);
    }
    return under_way_ < most;
  }
  absl::Status status() {
    MutexLock lock(&mutex_);
    return status_;
  }
  size_t answered() {
    MutexLock lock(&mutex_);
    return answers_.size();
  }
  std::vector<Answer> TakeAnswers() {
    MutexLock lock(&mutex_);
    return std::exchange(answers_, {});
  }
  // The sum over all workers of their largest number of used blocks.
  int64_t blocks() {
    MutexLock lock(&mutex_);
    int64_t sum = 0;
    for (const int used : blocks_) sum += used;
    return sum;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Answer> answers_ ABSL_GUARDED_BY(mutex_);
  std::vector<int> blocks_ ABSL_GUARDED_BY(mutex_);  // [workers]
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

class LoadObserver : public RequestObserver {
 public:
  explicit LoadObserver(std::shared_ptr<LoadCollector> collector)
      : collector_(std::move(collector)) {}

  void OnTokens(int index, std::span<const int32_t> ids,
                std::span<const float> logprobs,
                std::span<const TopLogprobs> top_logprobs) override {
    if (first_token_ == absl::ZeroDuration()) {
      first_token_ = absl::Now() - begin_;
    }
  }
  void OnDone(absl::StatusOr<RequestResult> result) override {
    const absl::Time now = absl::Now();
    collector_->Put({now - begin_, first_token_, now}, result.status());
  }

 private:
  const std::shared_ptr<LoadCollector> collector_;
  const absl::Time begin_ = absl::Now();
  absl::Duration first_token_;
};

template <typename Field>
absl::Duration Median(std::vector<LoadCollector::Answer> answers, Field field) {
  const auto middle = answers.begin() + answers.size() / 2;
  std::nth_element(
      answers.begin(), middle, answers.end(),
      [field](const auto& a, const auto& b) { return a.*field < b.*field; });
  return (*middle).*field;
}

// Sends the requests of a load.
class LoadSender {
 public:
  LoadSender(const ModelHandle& model, const Load& load,
             std::shared_ptr<LoadCollector> collector, Batcher* batcher)
      : model_(model),
        load_(load),
        collector_(std::move(collector)),
        batcher_(batcher) {}
  ~LoadSender() {
    cancellation_->Cancel();
    collector_->WaitForFewer(1, absl::InfiniteFuture());
  }

  // Keeps `at_once` requests under way until `enough` returns true. Returns
  // false if that does not happen before `deadline`.
  template <typename Enough>
  absl::StatusOr<bool> Send(int at_once, absl::Time deadline,
                            const Enough& enough) {
    while (!enough()) {
      if (!collector_->WaitForFewer(at_once, deadline)) return false;
      TRIVIUM_RETURN_IF_ERROR(collector_->status());
      if (enough()) break;
      collector_->Sent();
      std::vector<Request> one;
      one.push_back(MakeRequest());
      const Submission submission =
          batcher_->Submit(batcher_->NewCall(), std::move(one));
      if (!submission.status.ok()) {
        collector_->Put({}, submission.status);
        return submission.status;
      }
    }
    return true;
  }

 private:
  std::vector<int32_t> Draw(int tokens, int vocabulary) {
    std::uniform_int_distribution<int32_t> any(0, std::max(0, vocabulary - 1));
    std::vector<int32_t> ids(tokens);
    for (int32_t& id : ids) id = any(random_);
    return ids;
  }

  Request MakeRequest() {
    const Model& model = *model_->model;
    const ModelInfo& info = model.info();
    Request request;
    request.model = model_;
    request.cancellation = cancellation_;
    request.observer = std::make_shared<LoadObserver>(collector_);
    int vocabulary = info.vocabulary;
    if (model.tokenizer() != nullptr && load_.source_tokens > 0) {
      vocabulary = std::min(
          vocabulary, model.tokenizer()->vocabulary_size(TextSide::kSource));
    }
    request.source.ids = Draw(load_.source_tokens, vocabulary);
    if (load_.new_tokens > 0) {
      request.prefix = load_.prompt_tokens > 0
                           ? Draw(load_.prompt_tokens, info.vocabulary)
                           : model.decoder_prefix();
      request.decoding = model.decoding_defaults();
      request.decoding->max_new_tokens = load_.new_tokens;
      request.decoding->min_new_tokens = load_.new_tokens;
      request.decoding->forced_last_id.reset();
      request.decoding->seed = random_();
      request.stream = true;
    } else if (info.head.has_value()) {
      request.logits = true;
      if (info.head->kind == HeadKind::kFillMask) {
        request.logits_positions = {0};  // as of a text with one mask
        request.logits_best = 10;
      }
    } else {
      request.states = model.sentence_encoder().Reads({});
    }
    return request;
  }

  const ModelHandle model_;
  const Load load_;
  const std::shared_ptr<LoadCollector> collector_;
  Batcher* const batcher_;
  const std::shared_ptr<Cancellation> cancellation_ =
      std::make_shared<Cancellation>();
  std::minstd_rand random_{1};
};

absl::StatusOr<std::unique_ptr<Batcher>> MakeBatcher(
    const ModelHandle& model, const LoadMeasurement& measurement,
    LoadCollector* collector, int64_t* block_bytes) {
  Batcher::Options options = measurement.batching;
  options.workers = measurement.workers.count;
  options.observer = collector;
  // No request may be refused, or answered from a cache.
  options.max_waiting_tokens = int64_t{1} << 40;
  options.max_queue_wait = absl::InfiniteDuration();
  options.result_cache_bytes = 0;
  EngineOptions engine = measurement.engine;
  engine.threads = measurement.workers.threads;
  engine.prefix_cache_bytes = 0;
  Batcher::Engines engines;
  for (int i = 0; i < options.workers; ++i) {
    TRIVIUM_ASSIGN_OR_RETURN(engines.emplace_back(),
                             model->model->NewEngine(engine));
  }
  *block_bytes = engines[0]->limits().block_bytes;
  TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<Batcher> batcher,
                           Batcher::Create(options));
  TRIVIUM_RETURN_IF_ERROR(batcher->AddModel(model, std::move(engines)));
  return batcher;
}

}  // namespace

std::vector<Load> LoadsOf(const ModelInfo& info) {
  std::vector<Load> loads;
  const int source = info.max_source_tokens;
  const int target = info.max_target_tokens;
  for (const bool is_long : {false, true}) {
    Load load;
    switch (info.design) {
      case Design::kEncoder:
        load.source_tokens = std::min(is_long ? 256 : 32, source);
        break;
      case Design::kEncoderDecoder:
        load.source_tokens = std::min(is_long ? 128 : 32, source);
        load.new_tokens = std::min(is_long ? 64 : 32, target / 2);
        break;
      case Design::kDecoder:
        load.prompt_tokens = std::min(is_long ? 512 : 64, target / 2);
        load.new_tokens = std::min(64, target / 2);
        break;
    }
    load.name = NameOf(load);
    if (loads.empty() || loads.back().name != load.name) {
      loads.push_back(std::move(load));
    }
  }
  return loads;
}

absl::StatusOr<std::optional<LoadRate>> MeasureLoad(
    const ModelHandle& model, const Load& load,
    const LoadMeasurement& measurement) {
  const absl::Time begin = absl::Now();
  const absl::Time deadline = begin + measurement.most_time;
  malloc_trim(0);
  const int64_t memory = PrivateMemory();
  const auto collector =
      std::make_shared<LoadCollector>(measurement.workers.count);
  int64_t block_bytes = 0;
  TRIVIUM_ASSIGN_OR_RETURN(
      const std::unique_ptr<Batcher> batcher,
      MakeBatcher(model, measurement, collector.get(), &block_bytes));
  LoadSender sender(model, load, collector, batcher.get());
  LoadRate rate;

  // The first request warms buffers; it counts only if there is no other.
  const absl::Time alone_until = begin + measurement.time / 3;
  TRIVIUM_ASSIGN_OR_RETURN(bool done, sender.Send(1, deadline, [&] {
    const size_t answered = collector->answered();
    return answered > kMostAlone ||
           (answered > 0 && absl::Now() >= alone_until);
  }));
  if (!done) return std::nullopt;
  std::vector<LoadCollector::Answer> answers = collector->TakeAnswers();
  if (answers.size() > 1) answers.erase(answers.begin());
  rate.alone = Median(answers, &LoadCollector::Answer::time);
  rate.first_token = Median(answers, &LoadCollector::Answer::first_token);

  // Sends as many at once as can be answered in the time: three times as many
  // as one after the other, since they share the reading of the weights.
  const int cores = measurement.workers.count * measurement.workers.threads;
  const double in_time = 3 * absl::FDivDuration(measurement.time, rate.alone);
  rate.at_once =
      cores * static_cast<int>(std::clamp<double>(in_time, 1, kAtOnceForACore));
  const auto wave = static_cast<size_t>(rate.at_once);
  const absl::Time until = begin + measurement.time;
  TRIVIUM_ASSIGN_OR_RETURN(done, sender.Send(rate.at_once, deadline, [&] {
    return collector->answered() >= 2 * wave && absl::Now() >= until;
  }));
  if (!done) return std::nullopt;
  answers = collector->TakeAnswers();
  rate.memory_bytes = PrivateMemory() - memory;
  rate.kv_bytes = collector->blocks() * block_bytes;

  // Counts from the end of the first wave on: in all this time `at_once`
  // requests were under way.
  std::sort(answers.begin(), answers.end(),
            [](const auto& a, const auto& b) { return a.at < b.at; });
  const absl::Time first = answers[wave - 1].at;
  const double seconds = absl::ToDoubleSeconds(answers.back().at - first);
  answers.erase(answers.begin(), answers.begin() + wave);
  rate.requests_per_second =
      static_cast<double>(answers.size()) / std::max(seconds, 1e-6);
  rate.busy = Median(answers, &LoadCollector::Answer::time);
  return rate;
}

}  // namespace trivium
