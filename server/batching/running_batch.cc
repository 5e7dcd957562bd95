// An iteration, in this order:
//   1. OpenNewcomers     the engine learns their sources
//   2. ResumeSuspended   in order_, as far as their blocks fit
//   3. MakePlan          background requests may pause; every other sequence
//                        adds its work (running_batch_plan.cc)
//   4. MakeRoom          drops guesses, then suspends from the end of order_,
//                        until the plan's blocks are free
//                        (running_batch_room.cc)
//   5. Engine::Step, Measure, ApplyResults or FailPlan. If StepListener says
//      that the step was given up, its requests have been answered, and only
//      what they hold is released.
//   6. RemoveFinished
//
// Always:
// - sequences_ is in the order of arrival, and the engine knows the first
//   opened_ of them. order_ has these in the order of precedence, in which they
//   also add decode work to the plan. So the plan is cut at its end, where the
//   work of the sequence with the least precedence is.
// - In order_, sequences that hold blocks come before suspended ones. The last
//   holder is suspended first, and the first suspended one resumes first. No
//   newcomer after it that needs blocks joins in between.
// - Interactive requests run in every iteration unless they are suspended.
//   BackgroundShare sets no bound only while no interactive request runs; then
//   background ones have the whole iteration.
// - totals_ is right after Add and after RemoveFinished. In between, answered
//   sequences still count.
//
// One class decides who joins, who is suspended and what an iteration does.
// Each of these reads the same totals, sources and order, and a change of one
// rule (say, that the oldest is never held up) changes all three. The costs of
// the parts of an iteration change for other reasons, and are in
// IterationCosts.
#include "server/batching/running_batch.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "base/exceptions.h"
#include "fmt/format.h"

namespace trivium {
namespace {

absl::Status AsEnginesFault(const absl::Status& status) {
  if (absl::IsResourceExhausted(status)) return status;
  return absl::InternalError(
      fmt::format("the engine failed: {}", std::string(status.message())));
}

}  // namespace

RunningBatch::RunningBatch(const Options& options,
                           std::unique_ptr<Engine>&& engine)
    : options_(options),
      sources_(engine.get()),
      share_(options.share != nullptr ? options.share : &own_share_),
      costs_({.encoder_layers = engine->limits().encoder_layers,
              .encode_budget_tokens = options.encode_budget_tokens,
              .max_rows = options.max_rows,
              .fixed_rows = options.fixed_rows},
             share_) {
  engine_ = std::move(engine);  // last, since the others may throw
}

RunningBatch::~RunningBatch() { assert(sequences_.empty()); }

void RunningBatch::Add(std::unique_ptr<QueuedRequest>&& request) {
  // All memory comes first.
  const size_t requests = sequences_.size() + 1;
  answered_.reserve(answered_.size() + requests);
  sequences_.reserve(requests);
  order_.reserve(requests);
  requests_of_client_.reserve(requests_of_client_.size() + 1);
  const auto [call, is_new] = requests_of_call_.try_emplace(request->call);
  const ClientId client = request->request.client;
  const bool interactive = request->request.priority == Priority::kInteractive;
  int source_slot = -1;
  bool shared = false;
  try {
    if (!request->request.source.ids.empty()) {
      source_slot = sources_.Acquire(*request, &shared);
    }
    sequences_.push_back(std::make_unique<Sequence>(
        std::move(request), engine_.get(), &sources_, source_slot, shared,
        // A wrong guess cannot be taken back from a state.
        options_.speculate && engine_->limits().state_blocks == 0,
        options_.clock->Now()));
  } catch (...) {
    if (source_slot >= 0) sources_.Release(source_slot);
    if (is_new) requests_of_call_.erase(call);
    throw;
  }
  costs_.row_limit().Joined();
  ++call->second;
  ++requests_of_client_[client];
  if (interactive) {
    overtaken_ = only_new_clients_ ? overtaken_ + 1 : 0;
    share_->Began();
  } else {
    background_waits_ = false;
  }
  totals_.Add(*sequences_.back());
}

void RunningBatch::DropDead() {
  const absl::Time now = options_.clock->Now();
  for (const std::unique_ptr<Sequence>& sequence : sequences_) {
    if (sequence->ended()) continue;  // by a call of this that threw
    const Request& request = sequence->queued().request;
    if (request.cancellation != nullptr && request.cancellation->cancelled()) {
      Answer(sequence.get(), CancelledStatus());
    } else if (request.deadline <= now) {
      const absl::Status late = DeadlineStatus("running");
      if (options_.observer != nullptr) {
        options_.observer->OnDeadlineMissed(*options_.model, "running");
      }
      Answer(sequence.get(), late);
    }
  }
  RemoveFinished();
}

void RunningBatch::Iterate() {
  const absl::Status status = CatchExceptions([this] { IterateOnce(); });
  if (!status.ok()) FailAll(AsEnginesFault(status));
}

absl::Status RunningBatch::Step() {
  return CatchExceptions([this] { return engine_->Step(plan_, &result_); });
}

void RunningBatch::FailAll(const absl::Status& status) {
  for (const std::unique_ptr<Sequence>& sequence : sequences_) {
    if (!sequence->ended()) sequence->End();
    if (!sequence->told) Tell(sequence.get(), status);
  }
  RemoveFinished();
}

void RunningBatch::IterateOnce() {
  plan_.Clear();
  OpenNewcomers();
  if (totals_.all().suspended > 0) ResumeSuspended();
  if (sequences_.empty()) return;
  const int64_t to_do = totals_.all().pending_tokens;
  MakePlan();
  MakeRoom();
  const absl::Time begin = options_.clock->Now();
  const int running = static_cast<int>(sequences_.size());
  if (options_.observer != nullptr) {
    options_.observer->OnRunning(options_.worker, *options_.model, running);
  }
  if (options_.steps != nullptr) {
    options_.steps->OnStepBegins(*this, PlannedTokens());
  }
  const absl::Status status = Step();
  if (options_.steps != nullptr && !options_.steps->OnStepReturned(*this)) {
    for (const auto& sequence : sequences_) sequence->End();
    return RemoveFinished();
  }
  const absl::Time end = options_.clock->Now();
  if (status.ok()) {
    Measure(begin, end);
    Report(begin, end, running);
    ApplyResults(end);
  } else {
    FailPlan(status);
  }
  RemoveFinished();
  if (status.ok()) {
    done_tokens_ += std::max<int64_t>(0, to_do - totals_.all().pending_tokens);
  }
}

void RunningBatch::Measure(absl::Time begin, absl::Time end) {
  IterationCosts::Iteration iteration = {
      .seconds = absl::ToDoubleSeconds(end - begin),
      .encode_seconds = result_.seconds.encode,
      .encode_work = sources_.planned_work(),
      .rows = result_.decoder_rows,
      .prefill_tokens = prefill_tokens_,
      .draft_tokens = draft_tokens_,
      .paused = paused_ > 0};
  if (share_->beside_interactive()) {
    iteration.background_encode_work =
        sources_.planned_work(Priority::kBackground);
    for (const Sequence* sequence : order_) {
      if (sequence->priority() == Priority::kInteractive) continue;
      iteration.background_rows += sequence->PlannedRows(plan_);
    }
  }
  costs_.Observe(iteration);
}

void RunningBatch::OpenNewcomers() {
  for (; opened_ < sequences_.size(); ++opened_) {
    Sequence* sequence = sequences_[opened_].get();
    if (options_.observer != nullptr) {
      options_.observer->OnStarted(
          *options_.model, sequence->priority(),
          sequence->started() - sequence->queued().submitted);
      if (sequence->shared_source()) {
        options_.observer->OnSharedSource(*options_.model);
      }
    }
    MakeRoomFor(*sequence);
    const absl::Status status = sequence->Open();
    if (status.ok()) {
      sequence->ReportPhase(sequence->started());
    } else {
      Answer(sequence, status);
    }
  }
  RemoveFinished();
}

void RunningBatch::ApplyResults(absl::Time now) {
  sources_.CommitPlan();
  for (Sequence* sequence : order_) {
    if (!sequence->IsFinite(result_)) {
      AnswerNotFinite(sequence);
      continue;
    }
    const int chosen = sequence->Apply(result_);
    for (int i = 0; i < chosen; ++i) ReportToken(sequence, now);
    sequence->ReportPhase(now);
    if (sequence->drafted() > 0 && !sequence->forced() &&
        options_.observer != nullptr) {
      options_.observer->OnDrafted(*options_.model, sequence->drafted(),
                                   sequence->accepted());
    }
    const int found = sequence->TakeFoundTokens();
    if (found > 0 && options_.observer != nullptr) {
      options_.observer->OnPrefixFound(*options_.model, found);
    }
    if (sequence->done()) {
      absl::StatusOr<RequestResult> result = sequence->TakeResult(now);
      if (absl::IsInternal(result.status())) {
        AnswerNotFinite(sequence);
      } else {
        Answer(sequence, std::move(result));
      }
    }
  }
  if (options_.observer != nullptr) {
    options_.observer->OnSearch(*options_.model, options_.clock->Now() - now);
  }
}

void RunningBatch::AnswerNotFinite(Sequence* sequence) {
  if (options_.observer != nullptr) {
    options_.observer->OnNotFinite(*options_.model);
  }
  Answer(sequence, NotFiniteStatus());
}

void RunningBatch::FailPlan(const absl::Status& status) {
  const absl::Status answer = AsEnginesFault(status);
  for (const std::unique_ptr<Sequence>& sequence : sequences_) {
    if (sequence->planned()) Answer(sequence.get(), answer);
  }
}

void RunningBatch::Abort(const absl::Status& status) {
  for (const std::unique_ptr<Sequence>& sequence : sequences_) {
    Answer(sequence.get(), status);
  }
  RemoveFinished();
}

void RunningBatch::GiveUpStep(const absl::Status& status) {
  for (const std::unique_ptr<Sequence>& sequence : sequences_) {
    Tell(sequence.get(), status);
  }
}

void RunningBatch::Answer(Sequence* sequence,
                          absl::StatusOr<RequestResult> result) {
  sequence->End();
  Tell(sequence, std::move(result));
}

void RunningBatch::Tell(Sequence* sequence,
                        absl::StatusOr<RequestResult> result) {
  const QueuedRequest& queued = sequence->queued();
  if (sequence->priority() == Priority::kInteractive) {
    const absl::Time now = options_.clock->Now();
    if (!sequence->suspended()) share_->Ended(now);
    if (result.ok()) share_->Answered(now - sequence->started());
  }
  const auto call = requests_of_call_.find(queued.call);
  if (--call->second == 0) requests_of_call_.erase(call);
  const auto client = requests_of_client_.find(queued.request.client);
  if (--client->second == 0) requests_of_client_.erase(client);
  answered_.push_back(queued.source_key);  // Add has reserved its place
  sequence->told = true;
  if (sequence->reports_phases()) {
    CatchExceptions([&] {
      sequence->ReportEnd(options_.clock->Now());
    }).IgnoreError();
  }
  queued.request.observer->OnDone(std::move(result));
}

void RunningBatch::RemoveFinished() {
  opened_ -=
      std::count_if(sequences_.begin(), sequences_.begin() + opened_,
                    [](const auto& sequence) { return sequence->ended(); });
  std::erase_if(sequences_,
                [](const auto& sequence) { return sequence->ended(); });
  lacks_room_ = {};
  only_new_clients_ = false;
  totals_.Recount(sequences_);
  order_.clear();
  for (const std::unique_ptr<Sequence>& sequence : sequences_) {
    if (sequence->priority() == Priority::kInteractive ||
        sequence == sequences_.front()) {
      order_.push_back(sequence.get());
    }
  }
  for (size_t i = 1; i < sequences_.size(); ++i) {
    if (sequences_[i]->priority() == Priority::kBackground) {
      order_.push_back(sequences_[i].get());
    }
  }
  if (options_.observer != nullptr) {
    const int total = engine_->limits().total_blocks;
    options_.observer->OnBlocks(options_.worker, *options_.model,
                                total - engine_->free_blocks(), total);
    options_.observer->OnRunning(options_.worker, *options_.model,
                                 static_cast<int>(sequences_.size()));
  }
}

int64_t RunningBatch::PlannedTokens() const {
  const int64_t layers = std::max(1, engine_->limits().encoder_layers);
  int64_t tokens = (sources_.planned_work() + layers - 1) / layers;
  for (const StepPlan::Decode& decode : plan_.decode) {
    tokens += static_cast<int64_t>(decode.tokens.size());
  }
  return tokens;
}

void RunningBatch::TakeAnswered(std::vector<uint64_t>* source_keys) {
  // Copied, so that answered_ keeps the room that Add has reserved.
  source_keys->assign(answered_.begin(), answered_.end());
  answered_.clear();
}

void RunningBatch::ReportToken(Sequence* sequence, absl::Time now) {
  if (options_.observer == nullptr) return;
  if (sequence->last_token) {
    options_.observer->OnNextToken(*options_.model,
                                   now - *sequence->last_token);
  } else {
    options_.observer->OnFirstToken(*options_.model,
                                    now - sequence->queued().submitted);
  }
  sequence->last_token = now;
}

void RunningBatch::Report(absl::Time begin, absl::Time end, int running) {
  if (options_.observer == nullptr) return;
  options_.observer->OnIteration({.model = *options_.model,
                                  .worker = options_.worker,
                                  .encoder_rows = result_.encoder_rows,
                                  .decoder_rows = result_.decoder_rows,
                                  .padding_rows = result_.padding_rows,
                                  .running = running,
                                  .duration = end - begin,
                                  .phases = result_.seconds});
}

}  // namespace trivium
