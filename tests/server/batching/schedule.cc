// Runs a schedule on a RequestQueue and a RunningBatch, as a worker has them,
// with a real engine that has very few KV blocks. So requests are suspended,
// read again and refused room all the time. CheckedEngine checks every plan.
//
// What must hold:
// - each request is answered once, nothing is streamed after the answer, and
//   the streamed tokens are the beginning of the answer;
// - an answer without an error has the bits that it has alone; an error is one
//   that the schedule calls for;
// - a plan has at most max_rows rows, each hypothesis and source once, and
//   finds its blocks free;
// - the work ends within a number of iterations that its tokens bound, so no
//   request starves;
// - in the end all blocks are free.
#include "tests/server/batching/schedule.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "model/transformer/transformer.h"
#include "model/transformer/transformer_engine.h"
#include "server/batching/request_checks.h"
#include "server/batching/request_queue.h"
#include "server/batching/running_batch.h"
#include "tests/server/batching/harness.h"
#include "tests/support/random_transformer.h"

namespace trivium {
namespace {

constexpr int kVocabulary = 31;
constexpr int kMaxPositions = 64;
constexpr int kMaxBeams = 4;
constexpr int kQuantum = 64;  // tokens in a turn of the queue
constexpr int64_t kLargeCache = 1 << 20;
constexpr absl::Duration kStepTime = absl::Milliseconds(1);

RandomTransformer::Shape ShapeOf(ScheduleModel model) {
  RandomTransformer::Shape shape;
  if (model == ScheduleModel::kWindows) {
    shape = RandomTransformer::LlamaShape();
    shape.encoder_layers = 0;
  } else {
    shape.d_model = 16;
    shape.feed_forward = 16;
  }
  if (model == ScheduleModel::kDecoder || model == ScheduleModel::kExperts) {
    shape.encoder_layers = 0;
  }
  if (model == ScheduleModel::kExperts) {
    shape.gated = true;
    shape.experts = 4;
    shape.activation = Activation::kSwish;
  }
  shape.recurrent = model == ScheduleModel::kRecurrence;
  shape.vocabulary = kVocabulary;
  shape.max_positions = kMaxPositions;
  return shape;
}

// A model that is loaded once, because weights do not change.
struct Loaded {
  std::unique_ptr<RandomTransformer> random;
  std::shared_ptr<const Transformer> transformer;
  int64_t block_bytes = 0;
};

std::unique_ptr<Engine> NewEngine(const Loaded& loaded, int64_t bytes) {
  auto engine = TransformerEngine::Create(loaded.transformer, bytes);
  return engine.ok() ? *std::move(engine) : nullptr;
}

const Loaded& LoadedModel(ScheduleModel model, bool int8) {
  static std::map<std::pair<ScheduleModel, bool>, Loaded>* const all =
      new std::map<std::pair<ScheduleModel, bool>, Loaded>();
  Loaded& loaded = (*all)[{model, int8}];
  if (loaded.random == nullptr) {
    loaded.random = std::make_unique<RandomTransformer>(ShapeOf(model), 5);
    loaded.transformer = *Transformer::Create(
        loaded.random->description(), int8 ? kInt8Formats : kF32Formats);
    loaded.block_bytes = NewEngine(loaded, kLargeCache)->limits().block_bytes;
  }
  return loaded;
}

// The real engine. Records misuse, and fails in the steps that the schedule
// names.
class CheckedEngine : public Engine {
 public:
  CheckedEngine(std::unique_ptr<Engine> engine, const Schedule& schedule,
                FakeClock* clock, std::string* wrong)
      : engine_(std::move(engine)),
        schedule_(schedule),
        clock_(clock),
        wrong_(wrong) {}

  const EngineLimits& limits() const override { return engine_->limits(); }
  int free_blocks() const override { return engine_->free_blocks(); }
  int BlocksNeeded(const StepPlan& plan) override {
    return engine_->BlocksNeeded(plan);
  }
  absl::StatusOr<SourceId> AddSource(const EncoderInput& input,
                                     const SourceOptions& options) override {
    return engine_->AddSource(input, options);
  }
  void ReleaseSource(SourceId source) override {
    engine_->ReleaseSource(source);
  }
  bool IsFinite(SourceId source) const override {
    return engine_->IsFinite(source);
  }
  std::span<const float> EncoderStates(SourceId source) const override {
    return engine_->EncoderStates(source);
  }
  std::span<const float> HiddenStates(SourceId source) const override {
    return engine_->HiddenStates(source);
  }
  std::span<const float> PooledOutput(SourceId source) const override {
    return engine_->PooledOutput(source);
  }
  std::span<const float> HeadLogits(SourceId source) const override {
    return engine_->HeadLogits(source);
  }
  std::span<const BestLogits> BestHeadLogits(SourceId source) const override {
    return engine_->BestHeadLogits(source);
  }
  std::span<const float> EncoderAttention(SourceId source) const override {
    return engine_->EncoderAttention(source);
  }
  HypothesisId AddHypothesis(SourceId source) override {
    return engine_->AddHypothesis(source);
  }
  Beginning Begin(SourceId source, std::span<const int32_t> tokens,
                  std::string_view salt) override {
    return engine_->Begin(source, tokens, salt);
  }
  void CacheBlocks(HypothesisId hypothesis, std::span<const int32_t> tokens,
                   std::string_view salt) override {
    engine_->CacheBlocks(hypothesis, tokens, salt);
  }
  HypothesisId Fork(HypothesisId parent) override {
    return engine_->Fork(parent);
  }
  void Truncate(HypothesisId hypothesis, int length) override {
    engine_->Truncate(hypothesis, length);
  }
  void ReleaseHypothesis(HypothesisId hypothesis) override {
    engine_->ReleaseHypothesis(hypothesis);
  }
  absl::Status Step(const StepPlan& plan, StepResult* result) override {
    Check(plan);
    const int step = steps_++;
    clock_->Advance(kStepTime);
    if (step == schedule_.fails) return absl::InternalError("as scheduled");
    const absl::Status status = engine_->Step(plan, result);
    if (!status.ok())
      Note(fmt::format("step {} failed: {}", step,
                       std::string(status.message())));
    if (step == schedule_.not_finite && !result->rows.empty()) {
      result->rows[step % result->rows.size()].finite = false;
    }
    return status;
  }

 private:
  void Note(const std::string& what) {
    if (wrong_->empty()) *wrong_ = what;
  }

  void Check(const StepPlan& plan) {
    int rows = 0;
    std::set<HypothesisId> hypotheses;
    std::set<SourceId> sources;
    for (const StepPlan::Decode& decode : plan.decode) {
      rows += static_cast<int>(decode.tokens.size());
      if (decode.tokens.empty()) Note("an entry without a token");
      if (decode.queries.size() > decode.tokens.size()) {
        Note("more queries than tokens");
      }
      if (!hypotheses.insert(decode.hypothesis).second) {
        Note("a hypothesis stands twice in a plan");
      }
    }
    for (const StepPlan::Encode& encode : plan.encode) {
      if (!sources.insert(encode.source).second) {
        Note("a source stands twice in a plan");
      }
    }
    if (rows > schedule_.max_rows) {
      Note(fmt::format("a plan of {} rows, at most {} may be", rows,
                       schedule_.max_rows));
    }
    if (engine_->BlocksNeeded(plan) > engine_->free_blocks()) {
      Note("a plan needs more blocks than are free");
    }
  }

  const std::unique_ptr<Engine> engine_;
  const Schedule& schedule_;
  FakeClock* const clock_;
  std::string* const wrong_;
  int steps_ = 0;
};

// The result of the request on an engine of its own.
RequestResult Alone(const Loaded& loaded, const Request& scheduled) {
  std::unique_ptr<Engine> engine = NewEngine(loaded, kLargeCache);
  const EngineLimits limits = engine->limits();
  Request request = scheduled;
  const auto observer = std::make_shared<RecordingObserver>();
  request.model = TheModel();
  request.observer = observer;
  RunningBatch batch({.model = TheModel(), .speculate = false},
                     std::move(engine));
  batch.Add(Queued(1, std::move(request), limits));
  while (!batch.empty()) batch.Iterate();
  return *observer->Wait();
}

std::string Difference(const RequestResult& a, const RequestResult& b) {
  if (a.hypotheses.size() != b.hypotheses.size()) return "hypotheses";
  for (size_t i = 0; i < a.hypotheses.size(); ++i) {
    const Hypothesis& x = a.hypotheses[i];
    const Hypothesis& y = b.hypotheses[i];
    if (x.ids != y.ids) return "ids";
    if (x.score != y.score || x.log_probability != y.log_probability ||
        x.logprobs != y.logprobs) {
      return "scores";
    }
    if (x.reason != y.reason) return "reason";
  }
  if (a.scored.has_value() != b.scored.has_value()) return "scored";
  if (a.scored && (a.scored->score != b.scored->score ||
                   a.scored->logprobs != b.scored->logprobs)) {
    return "scored tokens";
  }
  if (a.states != b.states) return "states";
  const auto maps = [](const std::vector<AttentionMap>& x,
                       const std::vector<AttentionMap>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const AttentionMap& one, const AttentionMap& other) {
                        return one.weights == other.weights;
                      });
  };
  if (!maps(a.cross_attention, b.cross_attention)) return "cross attention";
  if (!maps(a.decoder_attention, b.decoder_attention)) {
    return "decoder attention";
  }
  return "";
}

class Run {
 public:
  explicit Run(const Schedule& schedule)
      : schedule_(schedule),
        loaded_(LoadedModel(schedule.model, schedule.int8)),
        queue_(kQuantum) {}

  std::string All() {
    std::unique_ptr<Engine> real =
        NewEngine(loaded_, schedule_.blocks * loaded_.block_bytes);
    if (real == nullptr) return "";  // too small for the model
    Engine* const engine = real.get();
    const EngineLimits limits = real->limits();
    RunningBatch batch(
        {.model = TheModel(), .max_rows = schedule_.max_rows, .clock = &clock_},
        std::make_unique<CheckedEngine>(std::move(real), schedule_, &clock_,
                                        &wrong_));
    Prepare(limits);
    for (int iteration = 0; wrong_.empty(); ++iteration) {
      if (iteration > bound_) {
        batch.Abort(absl::UnavailableError("as scheduled"));
        return fmt::format("not done after {} iterations", bound_);
      }
      Happen(iteration, &batch);
      if (!Fill(&batch) && batch.empty()) {
        if (queue_.requests() > 0) return "an empty batch takes nobody";
        if (iteration > last_event_) break;
        clock_.Advance(kStepTime);
        continue;
      }
      batch.Iterate();
      if (engine->free_blocks() < 0 ||
          engine->free_blocks() > limits.total_blocks) {
        wrong_ = "free blocks are miscounted";
      }
    }
    if (!wrong_.empty()) {
      batch.Abort(absl::UnavailableError("as scheduled"));
      return wrong_;
    }
    if (engine->free_blocks() != limits.total_blocks) {
      return "blocks are lost";
    }
    return CheckAnswers();
  }

 private:
  struct Job {
    const ScheduledRequest* scheduled;
    std::unique_ptr<QueuedRequest> queued;  // until it arrives
    std::shared_ptr<RecordingObserver> observer;
    std::shared_ptr<Cancellation> cancellation;
  };

  void Prepare(const EngineLimits& limits) {
    for (const ScheduledRequest& scheduled : schedule_.requests) {
      Request request = scheduled.request;
      request.model = TheModel();
      // The batcher would refuse it, because the cache is so small.
      if (!CheckRequest(request, limits, kMaxBeams).ok()) continue;
      Job job{.scheduled = &scheduled,
              .queued = nullptr,
              .observer = std::make_shared<RecordingObserver>(),
              .cancellation = std::make_shared<Cancellation>()};
      request.observer = job.observer;
      request.cancellation = job.cancellation;
      if (scheduled.late >= 0) {
        request.deadline = clock_.Now() + scheduled.late * kStepTime;
      }
      last_event_ =
          std::max({last_event_, scheduled.arrives, scheduled.cancelled});
      const int64_t beams = request.decoding
                                ? std::max(request.decoding->beam_size,
                                           request.decoding->hypotheses)
                                : 1;
      const int64_t new_tokens =
          request.decoding ? request.decoding->max_new_tokens : 0;
      job.queued = Queued(scheduled.call, std::move(request), limits);
      // Each other request may take the blocks of this one. Then its tokens are
      // read again, in iterations that do nothing else.
      bound_ += static_cast<int>(
          (4 + scheduled.request.prefix.size() + 2 * new_tokens + beams) *
          schedule_.requests.size());
      jobs_.push_back(std::move(job));
    }
    last_event_ = std::max(last_event_, schedule_.aborted);
    bound_ += last_event_ + 50;
  }

  void Happen(int iteration, RunningBatch* batch) {
    if (iteration == schedule_.aborted) {
      batch->Abort(absl::UnavailableError("the model goes"));
      FairQueue::Dropped dropped;
      queue_.DropAll(absl::UnavailableError("the model goes"), &dropped);
      Answer(&dropped);
    }
    for (Job& job : jobs_) {
      if (job.scheduled->arrives == iteration) {
        job.queued->submitted = clock_.Now();
        queue_.Push(std::move(job.queued));
      }
      if (job.scheduled->cancelled == iteration) job.cancellation->Cancel();
    }
    batch->DropDead();
    FairQueue::Dropped dropped;
    queue_.DropDead(clock_.Now(), &dropped);
    Answer(&dropped);
  }

  static void Answer(FairQueue::Dropped* dropped) {
    for (DroppedRequest& one : *dropped) {
      one.request->request.observer->OnDone(one.status);
    }
    dropped->clear();
  }

  // Returns true if a request joined.
  bool Fill(RunningBatch* batch) {
    bool joined = false;
    queue_.BeginPass();
    batch->set_waiting(queue_.requests(),
                       queue_.of(Priority::kInteractive).requests());
    for (const Priority priority :
         {Priority::kInteractive, Priority::kBackground}) {
      while (auto newcomer =
                 queue_.of(priority).Take([batch](QueuedRequest& queued) {
                   return batch->CanJoin(queued);
                 })) {
        batch->Add(std::move(newcomer));
        joined = true;
      }
    }
    return joined;
  }

  std::string CheckAnswers() {
    for (size_t i = 0; i < jobs_.size(); ++i) {
      if (const std::string wrong = CheckAnswer(jobs_[i]); !wrong.empty()) {
        return fmt::format("request {}: {}", i, wrong);
      }
    }
    return "";
  }

  std::string CheckAnswer(const Job& job) {
    const RecordingObserver& heard = *job.observer;
    if (heard.answers() != 1) {
      return fmt::format("answered {} times", heard.answers());
    }
    if (heard.tokens_after_answer() > 0) return "tokens after the answer";
    const auto result = job.observer->Wait();
    if (!result.ok()) return CheckError(job, result.status());
    const Request& request = job.scheduled->request;
    for (size_t k = 0; request.stream && k < result->hypotheses.size(); ++k) {
      if (heard.ids(static_cast<int>(k)) != result->hypotheses[k].ids) {
        return "streamed tokens are not those of the answer";
      }
    }
    const std::string difference = Difference(*result, Alone(loaded_, request));
    return difference.empty() ? "" : "other than alone: " + difference;
  }

  std::string CheckError(const Job& job, const absl::Status& status) const {
    bool scheduled = false;
    switch (status.code()) {
      case absl::StatusCode::kCancelled:
        scheduled = job.scheduled->cancelled >= 0;
        break;
      case absl::StatusCode::kDeadlineExceeded:
        scheduled = job.scheduled->late >= 0;
        break;
      case absl::StatusCode::kUnavailable:
        scheduled = schedule_.aborted >= 0;
        break;
      case absl::StatusCode::kInternal:
        scheduled = schedule_.fails >= 0 || schedule_.not_finite >= 0;
        break;
      default:
        break;
    }
    return scheduled ? ""
                     : "an error that nothing called for: " +
                           std::string(status.message());
  }

  const Schedule& schedule_;
  const Loaded& loaded_;
  FakeClock clock_;
  RequestQueue queue_;
  std::vector<Job> jobs_;
  std::string wrong_;
  int last_event_ = 0;
  int bound_ = 0;  // iterations
};

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
      request.source.ids.push_back((first * 7 + i) % kVocabulary);
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
    request.prefix.push_back(2 + (beginning * 7 + i) % (kVocabulary - 2));
  }
  const int new_tokens = pick(1, 24);
  DecodingOptions options;
  switch (pick(0, 3)) {
    case 0:
    case 1:
      options = Greedy(new_tokens);
      break;
    case 2:
      options = Beams(pick(2, kMaxBeams), new_tokens);
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
    // A recurrent decoder has no attention to its own tokens.
    if (recurrent) one.request.decoder_attention.reset();
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
                                    "recurrence", "experts"};
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
    if (request.scoring) text += ", scored";
    if (request.decoder_attention || request.cross_attention) text += ", maps";
    if (request.stream) text += ", streams";
    if (!request.salt.empty()) text += ", salted";
    text += '\n';
  }
  return text;
}

std::string RunSchedule(const Schedule& schedule) {
  return Run(schedule).All();
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
