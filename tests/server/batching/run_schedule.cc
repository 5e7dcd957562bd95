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
#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <utility>

#include "fmt/format.h"
#include "model/transformer/transformer.h"
#include "model/transformer/transformer_engine.h"
#include "server/batching/request_checks.h"
#include "server/batching/request_queue.h"
#include "server/batching/running_batch.h"
#include "tests/server/batching/harness.h"
#include "tests/server/batching/schedule.h"
#include "tests/support/forwarding_engine.h"
#include "tests/support/random_transformer.h"

namespace trivium {
namespace {

constexpr int kMaxPositions = 64;
constexpr int kQuantum = 64;  // tokens in a turn of the queue
constexpr int64_t kLargeCache = 1 << 20;
constexpr absl::Duration kScheduleStepTime = absl::Milliseconds(1);

RandomTransformer::Shape ShapeOf(ScheduleModel model) {
  RandomTransformer::Shape shape;
  if (model == ScheduleModel::kWindows || model == ScheduleModel::kStates) {
    shape = RandomTransformer::LlamaShape();
    shape.encoder_layers = 0;
    if (model == ScheduleModel::kStates) {
      shape.mixer = MixerDescription::Kind::kGatedDelta;
    }
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
  shape.vocabulary = kScheduleVocabulary;
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
class CheckedEngine : public ForwardingEngine {
 public:
  CheckedEngine(std::unique_ptr<Engine> engine, const Schedule& schedule,
                FakeClock* clock, std::string* wrong)
      : ForwardingEngine(std::move(engine)),
        schedule_(schedule),
        clock_(clock),
        wrong_(wrong) {}

  absl::Status Step(const StepPlan& plan, StepResult* result) override {
    Check(plan);
    const int step = steps_++;
    clock_->Advance(kScheduleStepTime);
    if (step == schedule_.fails) {
      if (step % 3 == 1) throw std::runtime_error("as scheduled");
      if (step % 3 == 2) throw std::bad_alloc();
      return absl::InternalError("as scheduled");
    }
    const absl::Status status = ForwardingEngine::Step(plan, result);
    if (!status.ok()) {
      Note(fmt::format("step {} failed: {}", step,
                       std::string(status.message())));
    }
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
    if (BlocksNeeded(plan) > free_blocks()) {
      Note("a plan needs more blocks than are free");
    }
  }

  const Schedule& schedule_;
  FakeClock* const clock_;
  std::string* const wrong_;
  int steps_ = 0;
};

// The result of the request on an engine of its own.
absl::StatusOr<RequestResult> Alone(const Loaded& loaded,
                                    const Request& scheduled) {
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
  return observer->Wait();
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
        clock_.Advance(kScheduleStepTime);
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
      if (!CheckRequest(request, limits, kScheduleBeams).ok()) continue;
      Job job{.scheduled = &scheduled,
              .queued = nullptr,
              .observer = std::make_shared<RecordingObserver>(),
              .cancellation = std::make_shared<Cancellation>()};
      request.observer = job.observer;
      request.cancellation = job.cancellation;
      if (scheduled.late >= 0) {
        request.deadline = clock_.Now() + scheduled.late * kScheduleStepTime;
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
                 queue_.of(priority).Dequeue([batch](QueuedRequest& queued) {
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
    const auto alone = Alone(loaded_, request);
    if (!alone.ok()) return "an answer to what fails alone";
    const std::string difference = Difference(*result, *alone);
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
      case absl::StatusCode::kResourceExhausted:
        scheduled = schedule_.fails >= 0;
        break;
      case absl::StatusCode::kInvalidArgument:
        // Its constraint and its other rules left no token.
        scheduled = Alone(loaded_, job.scheduled->request).status() == status;
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

}  // namespace

std::string RunSchedule(const Schedule& schedule) {
  return Run(schedule).All();
}

}  // namespace trivium
