// Phases:
//
//   kSource -> kDone                                          encode only
//   kSource -> kPrefix -> kSearch [-> kAttention] -> kDone    decoding
//   kSource -> kScore -> kDone                                scoring
//   kSource -> kScore -> kPrefix -> kSearch ...               both: kPrefix has
//                                                             one token left
//
// A sequence that decodes may go from every phase before kDone to kSuspended,
// and resumes with kSource. When its source is ready, BeginDecoding continues
// where it was:
//
//   it was in               it continues with
//   kPrefix                 kPrefix, from the start
//   kSearch, kRereading     kRereading, then kSearch
//   kAttention              kAttention, from the start
//   kScore                  kScore, from the start
//
// Always:
// - It has hypotheses in the engine in kPrefix and kSearch (live_), kRereading
//   (rereading_), kScore (score_), and from kAttention to its end (passes_),
//   and in no other phase.
// - The search (decoding_) outlives a suspension and knows no engine. So the
//   tokens that it chooses and streams never depend on suspensions.
// - decodes_ holds entries only between Plan and Apply or Suspend.
//
// It is one class because planning, applying, suspending and the figures of
// sequence_costs.cc all depend on the phase: a new phase changes each of them.
// The parts of a phase that know nothing of the others are classes of their
// own: LiveHypotheses, Rereading, AttentionPass, ScorePass, Speculation,
// PlannedDecodes.
#include "server/batching/sequence.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace trivium {

Sequence::Sequence(std::unique_ptr<QueuedRequest>&& queued, Engine* engine,
                   SourceTable* sources, int source_slot, bool shared_source,
                   bool speculate, absl::Time started)
    : request_(queued->request),
      engine_(engine),
      sources_(sources),
      source_slot_(source_slot),
      shared_source_(shared_source),
      started_(started),
      phase_times_(request_.phases.get(), queued->submitted),
      reserved_rows_(queued->cost.rows) {
  if (speculate && answers_alone()) {
    speculation_.emplace(
        request_.prefix,
        request_.prefix.size() + ReservedTokens(*request_.decoding));
  }
  queued_ = std::move(queued);
}

absl::Status Sequence::Open() {
  if (source_slot_ >= 0) TRIVIUM_RETURN_IF_ERROR(sources_->Open(source_slot_));
  if (!request_.decoding || decoding_ != nullptr) return absl::OkStatus();
  TRIVIUM_ASSIGN_OR_RETURN(decoding_,
                           Decoding::Create(*request_.decoding, request_.prefix,
                                            request_.stop.get()));
  if (request_.stream) streamed_.resize(request_.decoding->hypotheses);
  return absl::OkStatus();
}

bool Sequence::planned() const {
  return !decodes_.empty() ||
         (source_slot_ >= 0 && sources_->planned(source_slot_));
}

int Sequence::Draft(double price, int most, int most_forced) {
  if (!speculation_) return 0;
  if (phase_ != Phase::kSearch || paused_) {
    speculation_->Clear();
    return 0;
  }
  // The last new token is never read.
  const int left = request_.decoding->max_new_tokens - steps_ - 1;
  return speculation_->Draft(price, std::min(most, left),
                             std::min(most_forced, left), decoding_.get());
}

void Sequence::DropDraft(StepPlan* plan) {
  if (drafted() == 0) return;
  StepPlan::Decode& decode = decodes_.Entries(plan)[0];
  decode.tokens = live_.next_token(0);
  decode.queries = decoding_->queries();
  speculation_->Clear();
}

void Sequence::Plan(int* spare_rows, StepPlan* plan) {
  decodes_.Begin(*plan);
  if (paused_) return;
  if (phase_ == Phase::kSource && MinRows() > 0) BeginDecoding();
  if (phase_ == Phase::kPrefix) {
    PlanPrefix(spare_rows, plan);
  } else if (phase_ == Phase::kRereading) {
    rereading_.Plan(spare_rows, plan);
  } else if (phase_ == Phase::kSearch && drafted() > 0) {
    plan->decode.push_back({.hypothesis = live_.id(0),
                            .tokens = speculation_->tokens(),
                            .queries = speculation_->queries()});
  } else if (phase_ == Phase::kSearch) {
    const std::span<const LogitsQuery> queries = decoding_->queries();
    for (size_t i = 0; i < live_.size(); ++i) {
      plan->decode.push_back({.hypothesis = live_.id(i),
                              .tokens = live_.next_token(i),
                              .queries = queries.subspan(i, 1),
                              .cross_attention = SearchMaps()});
    }
  } else if (phase_ == Phase::kAttention) {
    for (AttentionPass& pass : passes_) {
      if (pass.tokens_left() == 0) continue;
      const int more = std::min(*spare_rows, pass.tokens_left() - 1);
      *spare_rows -= more;
      pass.Plan(1 + more, plan);
    }
  } else if (phase_ == Phase::kScore) {
    const int more = std::min(*spare_rows, score_->tokens_left() - 1);
    *spare_rows -= more;
    score_->Plan(1 + more, plan);
  }
  decodes_.End(*plan);
}

void Sequence::BeginDecoding() {
  if (request_.scoring && !scored_) {
    score_.emplace(engine_, source(), request_);
    found_tokens_ += score_->found();
    if (!cached_tokens_) cached_tokens_ = score_->found();
    phase_ = Phase::kScore;
  } else if (!hypotheses_.empty()) {
    StartAttention();
  } else if (steps_ > 0) {
    found_tokens_ +=
        rereading_.Begin(engine_, source(), ReadByLive(), request_.salt);
    phase_ = Phase::kRereading;
  } else {
    prefix_fed_ = live_.Begin(engine_, source(), request_.prefix, request_.salt,
                              static_cast<size_t>(queued_->cost.rows));
    found_tokens_ += prefix_fed_;
    if (!cached_tokens_) cached_tokens_ = prefix_fed_;
    phase_ = Phase::kPrefix;
  }
}

RequestPhase Sequence::RequestPhaseNow() const {
  const bool at_source = phase_ == Phase::kSource && source_slot_ >= 0 &&
                         !sources_->ready(source_slot_);
  if (!request_.decodes() || at_source) return RequestPhase::kEncode;
  return steps_ > 0 ? RequestPhase::kDecode : RequestPhase::kPrefill;
}

Rereading::Histories Sequence::ReadByLive() const {
  Rereading::Histories histories;
  for (size_t i = 0; i < decoding_->continuations().size(); ++i) {
    // The last token has not been read yet.
    const std::span<const int32_t> tokens = decoding_->LiveTokens(i);
    histories.emplace_back(tokens.begin(), tokens.end() - 1);
  }
  return histories;
}

void Sequence::Suspend(StepPlan* plan) {
  // The cached blocks are likely to be found when it resumes: all that a greedy
  // search has read, or what the beams have in common.
  if (phase_ == Phase::kSearch) {
    const std::span<const int32_t> tokens = decoding_->LiveTokens(0);
    engine_->CacheBlocks(live_.id(0), tokens.first(tokens.size() - 1),
                         request_.salt);
  }
  ReleaseHypotheses();
  if (speculation_) speculation_->Clear();
  decodes_.TakeBack(plan);
  phase_ = Phase::kSuspended;
  if (source_slot_ < 0) return;
  const SourceId source = sources_->Release(std::exchange(source_slot_, -1));
  std::erase_if(plan->encode, [source](const StepPlan::Encode& work) {
    return work.source == source;
  });
}

void Sequence::Resume(int source_slot) {
  source_slot_ = source_slot;
  phase_ = Phase::kSource;
}

void Sequence::ReleaseHypotheses() {
  live_.Clear(engine_);
  rereading_.Clear(engine_);
  for (AttentionPass& pass : passes_) pass.End(engine_);
  passes_.clear();
  if (score_) score_->End(engine_);
  score_.reset();
}

void Sequence::PlanPrefix(int* spare_rows, StepPlan* plan) {
  const int unread = static_cast<int>(request_.prefix.size()) - prefix_fed_;
  const int more = std::min(*spare_rows, unread - 1);
  *spare_rows -= more;
  prefix_planned_ = 1 + more;
  plan->decode.push_back(
      {.hypothesis = live_.id(0),
       .tokens =
           std::span(request_.prefix).subspan(prefix_fed_, prefix_planned_),
       // Only the last token of the prefix has a query.
       .queries = decoding_->queries().first(prefix_planned_ == unread),
       .cross_attention = SearchMaps()});
}

bool Sequence::IsFinite(const StepResult& result) const {
  // Other outputs of a shared source may be those of other requests; they are
  // checked in TakeResult.
  if (request_.decodes() && source_slot_ >= 0 &&
      sources_->ready(source_slot_) && !engine_->IsFinite(source())) {
    return false;
  }
  // Numbers after a wrong guess are no part of the answer; SearchDrafted checks
  // the row.
  if (drafted() > 0) return true;
  const std::span<const StepResult::Row> rows = decodes_.Rows(result);
  return std::all_of(rows.begin(), rows.end(),
                     [](const StepResult::Row& row) { return row.finite; });
}

int Sequence::Apply(const StepResult& result) {
  const int steps = steps_;
  // A paused sequence may still have got its source encoded.
  if (paused_ && phase_ != Phase::kSource) return 0;
  switch (phase_) {
    case Phase::kSource:
      if (!request_.decodes() && sources_->ready(source_slot_)) {
        phase_ = Phase::kDone;
      }
      break;
    case Phase::kRereading:
      rereading_.Apply(engine_);
      if (!rereading_.done()) break;
      live_.Restore(rereading_.Finish(engine_), decoding_->continuations());
      phase_ = Phase::kSearch;
      break;
    case Phase::kPrefix:
      prefix_fed_ += prefix_planned_;
      if (prefix_fed_ < static_cast<int>(request_.prefix.size())) break;
      phase_ = Phase::kSearch;
      Search(result);
      break;
    case Phase::kSearch:
      if (drafted() > 0) {
        SearchDrafted(result);
      } else {
        Search(result);
      }
      break;
    case Phase::kAttention:
      ApplyAttention(result);
      break;
    case Phase::kScore:
      ApplyScore(result);
      break;
    case Phase::kSuspended:
    case Phase::kDone:
      break;
  }
  decodes_.Clear();
  return steps_ - steps;
}

const AttentionSelection* Sequence::SearchMaps() const {
  static const AttentionSelection kAll;
  return decoding_->attends() && source_slot_ >= 0 ? &kAll : nullptr;
}

void Sequence::PassSearchMaps(const StepResult& result) {
  const int keys = sources_->tokens(source_slot_);
  const std::span<const StepResult::Row> rows = decodes_.Rows(result);
  std::vector<std::vector<float>> looks(rows.size());
  std::vector<std::span<const float>> maps;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::span<const float> all = rows[i].cross_attention;
    // Only the last token of a prefix has a query, so only its maps count.
    const size_t tokens = steps_ == 0 ? prefix_planned_ : 1;
    for (size_t at = (tokens - 1) * keys; at + keys <= all.size();
         at += tokens * keys) {
      looks[i].insert(looks[i].end(), all.begin() + at,
                      all.begin() + at + keys);
    }
    maps.push_back(looks[i]);
  }
  decoding_->SetAttention(maps, keys);
}

void Sequence::Search(const StepResult& result) {
  if (SearchMaps() != nullptr) PassSearchMaps(result);
  logits_.clear();
  for (const StepResult::Row& row : decodes_.Rows(result)) {
    logits_.push_back(row.logits[0]);
  }
  decoding_->Advance(logits_);
  ++steps_;
  ContinueSearch();
}

void Sequence::SearchDrafted(const StepResult& result) {
  const StepResult::Row& row = decodes_.Rows(result)[0];
  if (!row.finite) {
    // A wrong guess alone may be the cause: the same step again without
    // guesses.
    engine_->Truncate(live_.id(0), read_tokens());
    speculation_->GiveUp();
    return;
  }
  steps_ += speculation_->Apply(row.logits, decoding_.get());
  if (speculation_->accepted() < speculation_->size()) {
    engine_->Truncate(live_.id(0), read_tokens());
  }
  ContinueSearch();
}

void Sequence::ContinueSearch() {
  if (request_.stream) Stream();
  if (decoding_->done()) {
    if (answers_alone()) CacheAnswer();
    live_.Clear(engine_);
    FinishSearch();
    return;
  }
  live_.Continue(engine_, decoding_->continuations());
  // The number of running samples only falls, so their rows are free for
  // others. A beam may widen again, and attention maps need all rows later.
  if (request_.decoding->sample && !maps_hypotheses()) {
    reserved_rows_ = static_cast<int64_t>(live_.size());
  }
}

void Sequence::CacheAnswer() {
  std::vector<int32_t> tokens = request_.prefix;
  const std::span<const int32_t> answer = decoding_->CertainTokens(0);
  tokens.insert(tokens.end(), answer.begin(), answer.end());
  tokens.resize(read_tokens());
  engine_->CacheBlocks(live_.id(0), tokens, request_.salt);
}

void Sequence::Stream() {
  for (size_t i = 0; i < streamed_.size(); ++i) {
    const std::span<const int32_t> ids =
        decoding_->CertainTokens(static_cast<int>(i));
    if (ids.size() <= streamed_[i]) continue;
    const std::span<const float> logprobs =
        decoding_->CertainLogprobs(static_cast<int>(i));
    request_.observer->OnTokens(
        static_cast<int>(i), ids.subspan(streamed_[i]),
        logprobs.subspan(streamed_[i]),
        decoding_->CertainTopLogprobs(static_cast<int>(i), streamed_[i]));
    streamed_[i] = ids.size();
  }
}

void Sequence::FinishSearch() {
  hypotheses_ = decoding_->TakeResults();
  trace_ = decoding_->TakeTrace();
  if (maps_hypotheses() && !hypotheses_.empty()) {
    StartAttention();
  } else {
    phase_ = Phase::kDone;
  }
}

void Sequence::StartAttention() {
  phase_ = Phase::kAttention;
  passes_.reserve(hypotheses_.size());
  const auto selected = [](const std::optional<AttentionSelection>& one) {
    return one ? &*one : nullptr;
  };
  for (const Hypothesis& hypothesis : hypotheses_) {
    passes_.emplace_back(engine_, source(),
                         source_slot_ < 0 ? 0 : sources_->tokens(source_slot_),
                         request_.prefix, hypothesis.ids,
                         AttentionPass::Selections{
                             .cross = selected(request_.cross_attention),
                             .mean_cross = request_.mean_cross_attention,
                             .decoder = selected(request_.decoder_attention),
                             .mean_decoder = request_.mean_decoder_attention,
                             .prefix = request_.prefix_attention});
  }
  // Hypotheses are in order, best first.
  if (request_.traced_head) passes_.front().Trace(*request_.traced_head);
}

void Sequence::ApplyAttention(const StepResult& result) {
  auto row = decodes_.Rows(result).begin();
  bool all_read = true;
  for (AttentionPass& pass : passes_) {
    if (pass.tokens_left() == 0) continue;
    pass.Apply(*row++);
    all_read &= pass.tokens_left() == 0;
  }
  if (all_read) phase_ = Phase::kDone;
}

void Sequence::ApplyScore(const StepResult& result) {
  score_->Apply(decodes_.Rows(result)[0]);
  if (score_->tokens_left() > 0) return;
  scored_ = score_->Take();
  if (!request_.decoding) {
    ReleaseHypotheses();
    phase_ = Phase::kDone;
    return;
  }
  prefix_fed_ = score_->read();
  engine_->CacheBlocks(score_->hypothesis(),
                       std::span(request_.prefix).first(prefix_fed_),
                       request_.salt);
  live_.Adopt(score_->hypothesis(), static_cast<size_t>(queued_->cost.rows));
  score_.reset();
  phase_ = Phase::kPrefix;
}

void Sequence::End() {
  ended_ = true;
  ReleaseHypotheses();
  if (source_slot_ >= 0) sources_->Release(source_slot_);
}

}  // namespace trivium
