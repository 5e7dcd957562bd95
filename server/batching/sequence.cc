#include "server/batching/sequence.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

// Phases:
//   kSource -> kDone                                          encode only
//   kSource -> kPrefix -> kSearch [-> kAttention] -> kDone    decoding
//   kSource -> kScore -> kDone                                scoring
//   kSource -> kScore -> kPrefix -> kSearch...                both: of the
//                                                             prefix the last
//                                                             token is left
// and, but for encoding, from every phase before kDone to kSuspended and,
// resumed, to kSource. From there it goes on where it stood: with kPrefix anew
// where the search has chosen no token yet, with kRereading, then kSearch,
// where it has, and with kAttention anew where it is over; with kScore anew.
//
// It has hypotheses in the engine in kPrefix and kSearch (live_), kRereading
// (rereading_), kScore (score_), and from kAttention to its end (passes_): in
// no other phase.

namespace trivium {

Sequence::Sequence(std::unique_ptr<QueuedRequest> queued, Engine* engine,
                   SourceTable* sources, int source_slot, bool shared_source,
                   bool speculate, absl::Time started)
    : queued_(std::move(queued)),
      request_(queued_->request),
      engine_(engine),
      sources_(sources),
      source_slot_(source_slot),
      shared_source_(shared_source),
      started_(started),
      phase_times_(request_.phases.get(), queued_->submitted),
      reserved_rows_(queued_->cost.rows) {
  if (speculate && answers_alone()) StartLookup();
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

int Sequence::MinRows() const {
  if (paused_) return 0;
  switch (phase_) {
    case Phase::kSuspended:
      return 0;
    case Phase::kSource:
      if (!request_.decodes() || !source_ready()) return 0;
      return std::max(1, static_cast<int>(hypotheses_.size()));
    case Phase::kPrefix:
      return 1;
    case Phase::kRereading:
      return rereading_.MinRows();
    case Phase::kSearch:
      return static_cast<int>(live_.size());
    case Phase::kAttention:
      return static_cast<int>(
          std::count_if(passes_.begin(), passes_.end(),
                        [](const auto& p) { return p.tokens_left() > 0; }));
    case Phase::kScore:
      return 1;
    case Phase::kDone:
      return 0;
  }
  return 0;
}

bool Sequence::planned() const {
  return !decodes_.empty() ||
         (source_slot_ >= 0 && sources_->planned(source_slot_));
}

void Sequence::Plan(int* spare_rows, StepPlan* plan) {
  decodes_.Begin(*plan);
  if (paused_) return;
  if (phase_ == Phase::kSource && MinRows() > 0) Start();
  if (phase_ == Phase::kPrefix) {
    PlanPrefix(spare_rows, plan);
  } else if (phase_ == Phase::kRereading) {
    rereading_.Plan(spare_rows, plan);
  } else if (phase_ == Phase::kSearch && draft_.size() > 0) {
    plan->decode.push_back({.hypothesis = live_.id(0),
                            .tokens = draft_.tokens,
                            .queries = draft_.queries});
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

int Sequence::PlannedRows(const StepPlan& plan) const {
  int rows = 0;
  for (const StepPlan::Decode& decode : decodes_.Entries(plan)) {
    rows += static_cast<int>(decode.tokens.size());
  }
  return rows;
}

void Sequence::Start() {
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
    // The last token is the next to be read.
    const std::span<const int32_t> tokens = decoding_->LiveTokens(i);
    histories.emplace_back(tokens.begin(), tokens.end() - 1);
  }
  return histories;
}

void Sequence::Suspend(StepPlan* plan) {
  // What a greedy search had read is likely to be found again; of beams, what
  // they begin with.
  if (phase_ == Phase::kSearch) {
    const std::span<const int32_t> tokens = decoding_->LiveTokens(0);
    engine_->CacheBlocks(live_.id(0), tokens.first(tokens.size() - 1),
                         request_.salt);
  }
  ReleaseHypotheses();
  draft_.Clear();
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

int64_t Sequence::owed_blocks() const {
  const auto blocks = [this](int64_t tokens) {
    return engine_->limits().HypothesisBlocks(tokens);
  };
  const int64_t prefix = static_cast<int64_t>(request_.prefix.size());
  switch (phase_) {
    case Phase::kSuspended:
    case Phase::kSource:
    case Phase::kRereading:
      if (decoding_ == nullptr || steps_ == 0) {
        return queued_->cost.prefix_blocks;
      }
      if (!hypotheses_.empty()) return queued_->cost.decoder_blocks();
      return static_cast<int64_t>(decoding_->continuations().size()) *
             blocks(prefix + steps_ - 1);
    case Phase::kPrefix:
      return queued_->cost.prefix_blocks - blocks(prefix_fed_);
    case Phase::kScore:
      return queued_->cost.prefix_blocks - blocks(score_->read());
    case Phase::kSearch:
    case Phase::kAttention:
    case Phase::kDone:
      return 0;
  }
  return 0;
}

int64_t Sequence::held_blocks() const {
  int64_t blocks = 0;
  if (source_slot_ >= 0 && sources_->readers(source_slot_) == 1) {
    blocks += queued_->cost.source_blocks;
  }
  // Hypotheses share all of their blocks at most.
  if (phase_ == Phase::kSearch) {
    blocks += engine_->limits().HypothesisBlocks(read_tokens());
  }
  return blocks;
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
       // Only the position after the whole prefix is asked about.
       .queries = decoding_->queries().first(prefix_planned_ == unread),
       .cross_attention = SearchMaps()});
}

bool Sequence::IsFinite(const StepResult& result) const {
  // Of a source that others share, no more than the decoder reads of it.
  if (request_.decodes() && source_slot_ >= 0 &&
      sources_->ready(source_slot_) && !engine_->IsFinite(source())) {
    return false;
  }
  // What follows from guesses alone is no part of the answer (SearchDrafted).
  if (draft_.size() > 0) return true;
  const std::span<const StepResult::Row> rows = decodes_.Rows(result);
  return std::all_of(rows.begin(), rows.end(),
                     [](const StepResult::Row& row) { return row.finite; });
}

int Sequence::Apply(const StepResult& result) {
  const int steps = steps_;
  // Its source may have been encoded nevertheless.
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
      live_.Restore(rereading_.Take(engine_), decoding_->continuations());
      phase_ = Phase::kSearch;
      break;
    case Phase::kPrefix:
      prefix_fed_ += prefix_planned_;
      if (prefix_fed_ < static_cast<int>(request_.prefix.size())) break;
      phase_ = Phase::kSearch;
      Search(result);
      break;
    case Phase::kSearch:
      if (draft_.size() > 0) {
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

void Sequence::Attend(const StepResult& result) {
  const int keys = sources_->tokens(source_slot_);
  const std::span<const StepResult::Row> rows = decodes_.Rows(result);
  std::vector<std::vector<float>> looks(rows.size());
  std::vector<std::span<const float>> maps;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::span<const float> all = rows[i].cross_attention;
    // Of a prefix's tokens the last one alone is asked about.
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
  if (SearchMaps() != nullptr) Attend(result);
  logits_.clear();
  for (const StepResult::Row& row : decodes_.Rows(result)) {
    logits_.push_back(row.logits[0]);
  }
  decoding_->Advance(logits_);
  ++steps_;
  FollowSearch();
}

void Sequence::FollowSearch() {
  if (request_.stream) Stream();
  if (decoding_->done()) {
    if (answers_alone()) CacheAnswer();
    live_.Clear(engine_);
    FinishSearch();
    return;
  }
  live_.Continue(engine_, decoding_->continuations());
  // Samples only ever end; a beam may widen again. Maps need all the rows
  // once more.
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
    request_.observer->OnTokens(static_cast<int>(i), ids.subspan(streamed_[i]),
                                logprobs.subspan(streamed_[i]));
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
                             .prefix = request_.prefix_attention});
  }
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

int64_t Sequence::pending_tokens() const {
  if (phase_ == Phase::kDone) return 0;
  if (phase_ == Phase::kScore && !request_.decoding) {
    return score_->tokens_left();
  }
  if (decoding_ == nullptr || (phase_ == Phase::kSource && steps_ == 0)) {
    return queued_->cost.tokens;
  }
  return static_cast<int64_t>(request_.prefix.size()) - prefix_fed_ +
         reserved_rows_ * (request_.decoding->max_new_tokens - steps_);
}

}  // namespace trivium
