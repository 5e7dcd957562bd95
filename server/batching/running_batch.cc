#include "server/batching/running_batch.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "fmt/format.h"

// - sequences_ stands in the order of arrival, and so does the decode work of
//   the plan. The engine knows the first opened_ of them.
// - What holds blocks is older than what is suspended: the youngest is
//   suspended first, the oldest resumed first, and nobody who needs blocks
//   joins in between. So a plan is cut at its end, where the youngest's work
//   is.
// - The sums over sequences_ are right after Add and after Sweep. In between,
//   what was answered still counts.
// - Blocks are claimed by sources that are not opened yet and by prefixes that
//   are not read yet. Whoever joins or resumes must fit beside these claims.

namespace trivium {
namespace {

// See Judge.
constexpr int kNewCallsBudgets = 4;
constexpr int kHeadroomShare = 8;

}  // namespace

RunningBatch::RunningBatch(const Options& options,
                           std::unique_ptr<Engine> engine)
    : options_(options),
      engine_(std::move(engine)),
      sources_(engine_.get()),
      encode_budget_(engine_->limits().encoder_layers,
                     options.encode_budget_tokens),
      prefill_budget_(options.max_rows),
      row_limit_(options.max_rows, options.fixed_rows) {}

RunningBatch::~RunningBatch() { assert(sequences_.empty()); }

int RunningBatch::EncodeTokens() const {
  return encode_budget_.Tokens(past_source_, at_source_ + waiting_);
}

FairQueue::Verdict RunningBatch::Judge(const QueuedRequest& request) {
  using enum FairQueue::Verdict;
  if (sequences_.empty()) return kTake;
  const bool new_call = !requests_of_call_.contains(request.call);
  if (!new_call && lacks_room_) return kSkip;
  const int64_t encode = sources_.pending_tokens();
  if (encode >= int64_t{kNewCallsBudgets} * options_.encode_budget_tokens) {
    return kStop;
  }
  if (!new_call && encode >= EncodeTokens()) return kSkip;

  const int64_t rows = reserved_rows_ + request.cost.rows;
  int limit = row_limit_.rows();
  const auto calls = static_cast<int>(requests_of_call_.size());
  if (new_call && calls < limit / kHeadroomShare) limit = options_.max_rows;
  const auto less_headroom = [new_call](int room) {
    return new_call ? room : room - room / kHeadroomShare;
  };
  if (rows > less_headroom(limit)) {
    row_limit_.Refused();
  } else if (request.cost.rows == 0) {
    return kTake;
  } else if (suspended_ == 0) {
    const int total_blocks = engine_->limits().total_blocks;
    const int64_t source_blocks =
        sources_.Has(request) ? 0 : request.cost.source_blocks;
    // Taken or claimed already; the newcomer's; and one more for every
    // hypothesis that may run.
    const int64_t blocks = total_blocks - UnclaimedBlocks() + source_blocks +
                           request.cost.prefix_blocks + rows;
    if (blocks <= less_headroom(total_blocks)) return kTake;
  }
  if (new_call) return kStop;
  lacks_room_ = true;
  return kSkip;
}

void RunningBatch::Add(std::unique_ptr<QueuedRequest> request) {
  row_limit_.Joined();
  ++requests_of_call_[request->call];
  reserved_rows_ += request->cost.rows;
  owed_blocks_ += request->cost.prefix_blocks;
  ++at_source_;
  pending_tokens_ += request->cost.tokens;
  int source_slot = -1;
  bool shared = false;
  if (!request->request.source.ids.empty()) {
    source_slot = sources_.Acquire(*request, &shared);
  }
  sequences_.push_back(std::make_unique<Sequence>(
      std::move(request), engine_.get(), &sources_, source_slot, shared,
      options_.speculate, options_.clock->Now()));
}

void RunningBatch::DropDead() {
  const absl::Time now = options_.clock->Now();
  for (const std::unique_ptr<Sequence>& sequence : sequences_) {
    const Request& request = sequence->queued().request;
    if (request.cancellation != nullptr && request.cancellation->cancelled()) {
      Answer(sequence.get(), CancelledStatus());
    } else if (request.deadline <= now) {
      if (options_.observer != nullptr) {
        options_.observer->OnDeadlineMissed(*options_.model, "running");
      }
      Answer(sequence.get(), DeadlineStatus("running"));
    }
  }
  Sweep();
}

void RunningBatch::Iterate() {
  OpenNewcomers();
  if (suspended_ > 0) ResumeSuspended();
  if (sequences_.empty()) return;
  const int64_t to_do = pending_tokens_;
  MakePlan();
  MakeRoom();
  const absl::Time begin = options_.clock->Now();
  const int running = static_cast<int>(sequences_.size());
  if (options_.observer != nullptr) {
    options_.observer->OnRunning(options_.worker, *options_.model, running);
  }
  const absl::Status status = engine_->Step(plan_, &result_);
  const absl::Time end = options_.clock->Now();
  if (status.ok()) {
    const double other =
        absl::ToDoubleSeconds(end - begin) - result_.seconds.encode;
    encode_budget_.Observe(sources_.planned_work(), result_.seconds.encode,
                           result_.decoder_rows, other);
    // What a row costs is seen where rows are all that it does.
    const bool plain = prefill_tokens_ == 0 && draft_tokens_ == 0;
    row_limit_.Observe(plain ? result_.decoder_rows : 0, other);
    if (draft_tokens_ == 0) {
      prefill_budget_.Observe(prefill_tokens_,
                              result_.decoder_rows - prefill_tokens_, other);
    }
    if (prefill_tokens_ == 0 && result_.decoder_rows > 0) {
      draft_budget_.Observe(draft_tokens_, other);
    }
    Report(begin, end, running);
    Follow(end);
  } else {
    FailPlan(status);
  }
  Sweep();
  if (status.ok()) {
    done_tokens_ += std::max<int64_t>(0, to_do - pending_tokens_);
  }
}

void RunningBatch::OpenNewcomers() {
  for (; opened_ < sequences_.size(); ++opened_) {
    Sequence* sequence = sequences_[opened_].get();
    if (options_.observer != nullptr) {
      options_.observer->OnStarted(
          *options_.model, sequence->started() - sequence->queued().submitted);
      if (sequence->shared_source()) {
        options_.observer->OnSharedSource(*options_.model);
      }
    }
    const absl::Status status = sequence->Open();
    if (!status.ok()) Answer(sequence, status);
  }
  Sweep();
}

void RunningBatch::MakePlan() {
  plan_.Clear();
  sources_.PlanEncode(EncodeTokens(), &plan_.encode);
  int spare_rows = options_.max_rows;
  for (const auto& sequence : sequences_) spare_rows -= sequence->MinRows();
  const int64_t reading = at_source_ + past_source_ - searching_;
  spare_rows =
      std::min(spare_rows, prefill_budget_.Tokens(searching_, reading));
  draft_tokens_ = Draft();
  prefill_tokens_ = spare_rows;
  for (const auto& sequence : sequences_) sequence->Plan(&spare_rows, &plan_);
  prefill_tokens_ -= spare_rows;
}

int RunningBatch::Draft() {
  int rows = 0;
  for (const auto& sequence : sequences_) rows += sequence->MinRows();
  const double price = draft_budget_.Price(rows);
  int most = std::min(draft_budget_.MostTokens(rows), options_.max_rows - rows);
  // Iterations in which others read prefixes are long enough.
  if (!options_.speculate || at_source_ > 0 || past_source_ > searching_) {
    most = 0;
  }
  int drafted = 0;
  for (const auto& sequence : sequences_) {
    drafted += sequence->Draft(
        price, std::min(most - drafted, DraftBudget::kMostTokens));
  }
  return drafted;
}

void RunningBatch::Follow(absl::Time now) {
  sources_.CommitPlan();
  for (const std::unique_ptr<Sequence>& sequence : sequences_) {
    if (!sequence->IsFinite(result_)) {
      AnswerNotFinite(sequence.get());
      continue;
    }
    const int chosen = sequence->Apply(result_);
    for (int i = 0; i < chosen; ++i) ReportToken(sequence.get(), now);
    if (sequence->drafted() > 0 && options_.observer != nullptr) {
      options_.observer->OnDrafted(*options_.model, sequence->drafted(),
                                   sequence->accepted());
    }
    const int found = sequence->TakeFoundTokens();
    if (found > 0 && options_.observer != nullptr) {
      options_.observer->OnPrefixFound(*options_.model, found);
    }
    if (sequence->done()) {
      absl::StatusOr<RequestResult> result = sequence->TakeResult(now);
      if (result.ok()) {
        Answer(sequence.get(), std::move(result));
      } else {
        AnswerNotFinite(sequence.get());
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
  const absl::Status answer = absl::InternalError(
      fmt::format("the engine failed: {}", std::string(status.message())));
  for (const std::unique_ptr<Sequence>& sequence : sequences_) {
    if (sequence->planned()) Answer(sequence.get(), answer);
  }
}

void RunningBatch::Abort(const absl::Status& status) {
  for (const std::unique_ptr<Sequence>& sequence : sequences_) {
    Answer(sequence.get(), status);
  }
  Sweep();
}

void RunningBatch::Answer(Sequence* sequence,
                          absl::StatusOr<RequestResult> result) {
  const QueuedRequest& queued = sequence->queued();
  sequence->End();
  const auto call = requests_of_call_.find(queued.call);
  if (--call->second == 0) requests_of_call_.erase(call);
  answered_.push_back(queued.source_key);
  queued.request.observer->OnDone(std::move(result));
}

void RunningBatch::Sweep() {
  opened_ -=
      std::count_if(sequences_.begin(), sequences_.begin() + opened_,
                    [](const auto& sequence) { return sequence->ended(); });
  std::erase_if(sequences_,
                [](const auto& sequence) { return sequence->ended(); });
  reserved_rows_ = 0;
  owed_blocks_ = 0;
  pending_tokens_ = 0;
  at_source_ = 0;
  past_source_ = 0;
  searching_ = 0;
  suspended_ = 0;
  lacks_room_ = false;
  for (const std::unique_ptr<Sequence>& sequence : sequences_) {
    reserved_rows_ += sequence->reserved_rows();
    pending_tokens_ += sequence->pending_tokens();
    if (sequence->suspended()) {
      ++suspended_;
      continue;
    }
    owed_blocks_ += sequence->owed_blocks();
    ++(sequence->waits_for_source() ? at_source_ : past_source_);
    searching_ += sequence->searching();
  }
  if (options_.observer != nullptr) {
    const int total = engine_->limits().total_blocks;
    options_.observer->OnBlocks(options_.worker, *options_.model,
                                total - engine_->free_blocks(), total);
    options_.observer->OnRunning(options_.worker, *options_.model,
                                 static_cast<int>(sequences_.size()));
  }
}

void RunningBatch::TakeAnswered(std::vector<uint64_t>* source_keys) {
  source_keys->clear();
  std::swap(*source_keys, answered_);
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
