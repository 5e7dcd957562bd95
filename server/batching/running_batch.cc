#include "server/batching/running_batch.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>
#include <utility>

#include "fmt/format.h"

// - sequences_ stands in the order of arrival. The engine knows the first
//   opened_ of them, which order_ has in the order in which they come first; so
//   does the decode work of the plan stand.
// - What holds blocks comes before what is suspended: the last is suspended
//   first, the first resumed first, and nobody who comes after it and needs
//   blocks joins in between. So a plan is cut at its end, where the work of the
//   last is.
// - Interactive requests run but for those that are suspended, so batch
//   requests have all of an iteration or do not come before them: where
//   BackgroundShare has no bound, nothing interactive runs.
// - The sums over sequences_ are right after Add and after RemoveFinished. In
// between,
//   what was answered still counts.
// - Blocks are claimed by sources that are not opened yet and by prefixes that
//   are not read yet. Whoever joins or resumes must fit beside these claims;
//   interactive newcomers beside those of the oldest and of interactive
//   requests, as the others can be suspended.

namespace trivium {
namespace {

// See CanJoin.
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
      row_limit_(options.max_rows, options.fixed_rows),
      share_(options.share != nullptr ? options.share : &own_share_) {}

RunningBatch::~RunningBatch() { assert(sequences_.empty()); }

int RunningBatch::EncodeTokens(Priority priority) const {
  const Sums& its = sums(priority);
  return encode_budget_.Tokens(
      its.past_source, its.at_source + waiting_[static_cast<int>(priority)]);
}

FairQueue::Verdict RunningBatch::CanJoin(const QueuedRequest& request) {
  using enum FairQueue::Verdict;
  if (sequences_.empty()) return kTake;
  const Priority priority = request.request.priority;
  const bool interactive = priority == Priority::kInteractive;
  const Sums& its = sums(priority);
  bool& lacks_room = lacks_room_[static_cast<int>(priority)];
  const bool new_call = !requests_of_call_.contains(request.call);
  if (!new_call && lacks_room) return kSkip;
  const int64_t encode = sources_.pending_tokens(priority);
  if (encode >= int64_t{kNewCallsBudgets} * options_.encode_budget_tokens) {
    return kStop;
  }
  if (!new_call && encode >= EncodeTokens(priority)) return kSkip;

  int64_t rows = its.reserved_rows + request.cost.rows;
  if (interactive && its.requests > 0) rows += oldest_background_rows_;
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
  } else if (its.suspended == 0 && !sequences_.front()->suspended()) {
    const int total_blocks = engine_->limits().total_blocks;
    const int64_t source_blocks =
        sources_.Has(request) ? 0 : request.cost.source_blocks;
    // Taken or claimed already; the newcomer's; and one more for every
    // hypothesis that may run.
    int64_t blocks = total_blocks - UnclaimedBlocks() + source_blocks +
                     request.cost.prefix_blocks + rows;
    if (interactive) blocks -= background_blocks_;
    if (blocks <= less_headroom(total_blocks)) return kTake;
  }
  background_waits_ |= !interactive && requests(Priority::kBackground) == 0;
  // One that is to join before interactive requests is waited for.
  if (new_call || (!interactive && wants_background())) return kStop;
  lacks_room = true;
  return kSkip;
}

void RunningBatch::Add(std::unique_ptr<QueuedRequest> request) {
  row_limit_.Joined();
  ++requests_of_call_[request->call];
  if (request->request.priority == Priority::kInteractive) {
    share_->Began();
  } else {
    background_waits_ = false;
    if (requests(Priority::kBackground) == 0) {
      oldest_background_rows_ = request->cost.rows;
    }
  }
  int source_slot = -1;
  bool shared = false;
  if (!request->request.source.ids.empty()) {
    source_slot = sources_.Acquire(*request, &shared);
  }
  sequences_.push_back(std::make_unique<Sequence>(
      std::move(request), engine_.get(), &sources_, source_slot, shared,
      options_.speculate, options_.clock->Now()));
  Count(*sequences_.back());
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
  RemoveFinished();
}

void RunningBatch::Iterate() {
  plan_.Clear();
  OpenNewcomers();
  if (all().suspended > 0) ResumeSuspended();
  if (sequences_.empty()) return;
  const int64_t to_do = all().pending_tokens;
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
    Learn(begin, end);
    Report(begin, end, running);
    ApplyResults(end);
  } else {
    FailPlan(status);
  }
  RemoveFinished();
  if (status.ok()) {
    done_tokens_ += std::max<int64_t>(0, to_do - all().pending_tokens);
  }
}

void RunningBatch::Learn(absl::Time begin, absl::Time end) {
  const double seconds = absl::ToDoubleSeconds(end - begin);
  const double encode = result_.seconds.encode;
  const double other = seconds - encode;
  const int rows = result_.decoder_rows;
  const int64_t work = sources_.planned_work();
  encode_budget_.Observe(work, encode, rows, other);
  // What a row costs is seen where rows are all that it does.
  const bool plain = prefill_tokens_ == 0 && draft_tokens_ == 0;
  row_limit_.Observe(plain && paused_ == 0 ? rows : 0, other);
  if (draft_tokens_ == 0) {
    prefill_budget_.Observe(prefill_tokens_, rows - prefill_tokens_, other);
  }
  if (prefill_tokens_ == 0 && rows > 0) {
    draft_budget_.Observe(draft_tokens_, other);
  }
  row_times_[share_->beside_interactive()].Observe(rows, other);
  if (!share_->beside_interactive()) return;
  int background_rows = 0;
  for (const Sequence* sequence : order_) {
    if (sequence->priority() == Priority::kInteractive) continue;
    background_rows += sequence->PlannedRows(plan_);
  }
  double background = 0;
  if (rows > 0) background += other * background_rows / rows;
  if (work > 0) {
    background +=
        encode *
        static_cast<double>(sources_.planned_work(Priority::kBackground)) /
        static_cast<double>(work);
  }
  share_->Observe(seconds, background);
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
      sequence->TellPhase(sequence->started());
    } else {
      Answer(sequence, status);
    }
  }
  RemoveFinished();
}

void RunningBatch::MakePlan() {
  const Sums& interactive = sums(Priority::kInteractive);
  const double allowed = share_->Seconds(options_.clock->Now());
  limited_ = std::isfinite(allowed);
  const double left = PauseBackground(allowed);
  sources_.PlanEncode({EncodeTokens(Priority::kInteractive),
                       std::min(EncodeTokens(Priority::kBackground),
                                encode_budget_.TokensIn(left))},
                      &plan_.encode);
  int rows = options_.max_rows;
  for (const Sequence* sequence : order_) rows -= sequence->MinRows();
  std::array<int, kPriorities> spare = {};
  if (interactive.reading() > 0) {
    spare[0] = std::min(rows, prefill_budget_.Tokens(interactive.searching,
                                                     interactive.reading()));
  }
  spare[1] =
      std::min({rows - spare[0], RowsIn(left),
                prefill_budget_.Tokens(all().searching, all().reading())});
  draft_tokens_ = Draft();
  prefill_tokens_ = spare[0] + spare[1];
  for (Sequence* sequence : order_) {
    sequence->Plan(&spare[static_cast<int>(sequence->priority())], &plan_);
  }
  prefill_tokens_ -= spare[0] + spare[1];
}

int RunningBatch::RowsIn(double seconds) const {
  const double row = row_times_[share_->beside_interactive()].seconds();
  if (!limited_) return options_.max_rows;
  if (seconds <= 0 || row <= 0) return 0;
  return static_cast<int>(std::min<double>(seconds / row, options_.max_rows));
}

double RunningBatch::PauseBackground(double seconds) {
  paused_ = 0;
  int64_t rows = options_.max_rows - sums(Priority::kInteractive).reserved_rows;
  const double row = row_times_[share_->beside_interactive()].seconds();
  for (Sequence* sequence : order_) {
    sequence->set_paused(false);
    if (!limited_ || sequence->priority() == Priority::kInteractive) continue;
    const int its_rows = sequence->MinRows();
    // One whose source this iteration may finish goes on in the next.
    sequence->set_paused(its_rows == 0 || its_rows > rows || seconds <= 0);
    if (sequence->paused()) {
      paused_ += its_rows > 0;
      continue;
    }
    rows -= its_rows;
    // What a row takes is not known: one request tells.
    seconds = row > 0 ? seconds - its_rows * row : 0;
  }
  return seconds;
}

int RunningBatch::Draft() {
  int rows = 0;
  for (const Sequence* sequence : order_) rows += sequence->MinRows();
  const double price = draft_budget_.Price(rows);
  int most = std::min(draft_budget_.MostTokens(rows), options_.max_rows - rows);
  // Iterations in which others read prefixes are long enough.
  const Sums& its =
      sums(limited_ ? Priority::kInteractive : Priority::kBackground);
  if (!options_.speculate || its.reading() > 0) most = 0;
  int drafted = 0;
  for (Sequence* sequence : order_) {
    // Background requests spend no time on guesses that is counted for them.
    const bool may =
        !limited_ || sequence->priority() == Priority::kInteractive;
    drafted += sequence->Draft(
        price, may ? std::min(most - drafted, DraftBudget::kMostTokens) : 0);
  }
  return drafted;
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
    sequence->TellPhase(now);
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
        Answer(sequence, std::move(result));
      } else {
        AnswerNotFinite(sequence);
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
  RemoveFinished();
}

void RunningBatch::Answer(Sequence* sequence,
                          absl::StatusOr<RequestResult> result) {
  const QueuedRequest& queued = sequence->queued();
  if (sequence->priority() == Priority::kInteractive) {
    const absl::Time now = options_.clock->Now();
    if (!sequence->suspended()) share_->Ended(now);
    if (result.ok()) share_->Answered(now - sequence->started());
  }
  if (sequence->tells_phases()) sequence->TellEnd(options_.clock->Now());
  sequence->End();
  const auto call = requests_of_call_.find(queued.call);
  if (--call->second == 0) requests_of_call_.erase(call);
  answered_.push_back(queued.source_key);
  queued.request.observer->OnDone(std::move(result));
}

void RunningBatch::RemoveFinished() {
  opened_ -=
      std::count_if(sequences_.begin(), sequences_.begin() + opened_,
                    [](const auto& sequence) { return sequence->ended(); });
  std::erase_if(sequences_,
                [](const auto& sequence) { return sequence->ended(); });
  sums_ = {};
  lacks_room_ = {};
  oldest_background_rows_ = 0;
  background_blocks_ = 0;
  order_.clear();
  for (const std::unique_ptr<Sequence>& sequence : sequences_) {
    const bool background = sequence->priority() == Priority::kBackground;
    if (background && requests(Priority::kBackground) == 0) {
      oldest_background_rows_ = sequence->reserved_rows();
    }
    Count(*sequence);
    if (!background || sequence == sequences_.front()) {
      order_.push_back(sequence.get());
    } else if (!sequence->suspended()) {
      background_blocks_ += sequence->held_blocks() + sequence->owed_blocks();
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

void RunningBatch::Count(const Sequence& sequence) {
  for (int i = static_cast<int>(sequence.priority()); i < kPriorities; ++i) {
    Sums& its = sums_[i];
    ++its.requests;
    its.reserved_rows += sequence.reserved_rows();
    its.pending_tokens += sequence.pending_tokens();
    if (sequence.suspended()) {
      ++its.suspended;
      continue;
    }
    its.owed_blocks += sequence.owed_blocks();
    ++(sequence.in_source_phase() ? its.at_source : its.past_source);
    its.searching += sequence.searching();
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
