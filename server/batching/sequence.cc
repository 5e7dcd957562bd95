#include "server/batching/sequence.h"

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace trivium {

Sequence::Sequence(std::unique_ptr<QueuedRequest> queued, Engine* engine,
                   SourceTable* sources, int slot, bool shared_source,
                   absl::Time started)
    : queued_(std::move(queued)),
      request_(queued_->request),
      engine_(engine),
      sources_(sources),
      slot_(slot),
      shared_source_(shared_source),
      started_(started),
      reserved_rows_(queued_->cost.rows) {}

absl::Status Sequence::Open() {
  if (slot_ >= 0) TRIVIUM_RETURN_IF_ERROR(sources_->Open(slot_));
  if (!request_.decoding) return absl::OkStatus();
  TRIVIUM_ASSIGN_OR_RETURN(decoding_,
                           Decoding::Create(*request_.decoding, request_.prefix,
                                            request_.stop.get()));
  if (request_.stream) streamed_.resize(request_.decoding->hypotheses);
  return absl::OkStatus();
}

int Sequence::MinRows() const {
  switch (phase_) {
    case Phase::kSource:
      return decoding_ != nullptr &&
             (slot_ < 0 || sources_->ReadyAfterPlan(slot_));
    case Phase::kPrefix:
      return 1;
    case Phase::kSearch:
      return static_cast<int>(live_.size());
    case Phase::kAttention:
      return static_cast<int>(
          std::count_if(passes_.begin(), passes_.end(),
                        [](const auto& p) { return p.tokens_left() > 0; }));
    case Phase::kDone:
      return 0;
  }
  return 0;
}

bool Sequence::planned() const {
  return rows_ > 0 || (slot_ >= 0 && sources_->planned(slot_));
}

void Sequence::Plan(int* spare_rows, StepPlan* plan) {
  first_row_ = plan->decode.size();
  if (phase_ == Phase::kSource && MinRows() > 0) {
    live_.Begin(engine_, slot_ < 0 ? kNoSource : sources_->id(slot_),
                static_cast<size_t>(queued_->cost.rows));
    phase_ = Phase::kPrefix;
  }
  if (phase_ == Phase::kPrefix) {
    PlanPrefix(spare_rows, plan);
  } else if (phase_ == Phase::kSearch) {
    const std::span<const LogitsQuery> queries = decoding_->queries();
    for (size_t i = 0; i < live_.size(); ++i) {
      plan->decode.push_back({.hypothesis = live_.id(i),
                              .tokens = live_.next_token(i),
                              .query = queries[i]});
    }
  } else if (phase_ == Phase::kAttention) {
    for (AttentionPass& pass : passes_) {
      if (pass.tokens_left() == 0) continue;
      const int more = std::min(*spare_rows, pass.tokens_left() - 1);
      *spare_rows -= more;
      pass.Plan(1 + more, plan);
    }
  }
  rows_ = plan->decode.size() - first_row_;
}

void Sequence::PlanPrefix(int* spare_rows, StepPlan* plan) {
  const int left = static_cast<int>(request_.prefix.size()) - prefix_fed_;
  const int more = std::min(*spare_rows, left - 1);
  *spare_rows -= more;
  prefix_planned_ = 1 + more;
  plan->decode.push_back(
      {.hypothesis = live_.id(0),
       .tokens =
           std::span(request_.prefix).subspan(prefix_fed_, prefix_planned_),
       // Only the position after the whole prefix is asked about.
       .query =
           prefix_planned_ == left ? decoding_->queries()[0] : LogitsQuery{}});
}

bool Sequence::Apply(const StepResult& result) {
  switch (phase_) {
    case Phase::kSource:
      if (decoding_ == nullptr && sources_->ready(slot_)) {
        phase_ = Phase::kDone;
      }
      return false;
    case Phase::kPrefix:
      prefix_fed_ += prefix_planned_;
      if (prefix_fed_ < static_cast<int>(request_.prefix.size())) return false;
      phase_ = Phase::kSearch;
      Search(result);
      return true;
    case Phase::kSearch:
      Search(result);
      return true;
    case Phase::kAttention:
      ApplyAttention(result);
      return false;
    case Phase::kDone:
      return false;
  }
  return false;
}

void Sequence::Search(const StepResult& result) {
  logits_.clear();
  for (size_t i = 0; i < rows_; ++i) {
    logits_.push_back(result.rows[first_row_ + i].logits);
  }
  decoding_->Advance(logits_);
  ++steps_;
  if (request_.stream) Stream();
  if (decoding_->done()) {
    live_.Clear(engine_);
    FinishSearch();
    return;
  }
  live_.Follow(engine_, decoding_->continuations());
  // Samples only ever end; a beam may widen again. Maps need all the rows
  // once more.
  if (request_.decoding->sample && !maps_hypotheses()) {
    reserved_rows_ = static_cast<int64_t>(live_.size());
  }
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
  if (!maps_hypotheses()) {
    phase_ = Phase::kDone;
    return;
  }
  phase_ = Phase::kAttention;
  passes_.reserve(hypotheses_.size());
  const auto selected = [](const std::optional<AttentionSelection>& one) {
    return one ? &*one : nullptr;
  };
  for (const Hypothesis& hypothesis : hypotheses_) {
    passes_.emplace_back(engine_, slot_ < 0 ? kNoSource : sources_->id(slot_),
                         slot_ < 0 ? 0 : sources_->tokens(slot_),
                         request_.prefix, hypothesis.ids,
                         AttentionPass::Selections{
                             .cross = selected(request_.cross_attention),
                             .decoder = selected(request_.decoder_attention)});
  }
  if (passes_.empty()) phase_ = Phase::kDone;
}

void Sequence::ApplyAttention(const StepResult& result) {
  size_t row = first_row_;
  bool left = false;
  for (AttentionPass& pass : passes_) {
    if (pass.tokens_left() == 0) continue;
    pass.Apply(result.rows[row++]);
    left |= pass.tokens_left() > 0;
  }
  if (!left) phase_ = Phase::kDone;
}

absl::StatusOr<RequestResult> Sequence::TakeResult(absl::Time now) {
  RequestResult result;
  const auto copy = [](std::span<const float> from, std::vector<float>* to) {
    to->assign(from.begin(), from.end());
  };
  if (request_.states != States::kNone) {
    copy(engine_->EncoderStates(sources_->id(slot_)), &result.states);
  }
  if (request_.pooled) {
    copy(engine_->PooledOutput(sources_->id(slot_)), &result.pooled);
  }
  if (request_.logits) {
    copy(engine_->HeadLogits(sources_->id(slot_)), &result.logits);
  }
  if (request_.encoder_attention) result.encoder_attention = EncoderMap();
  result.hypotheses = std::move(hypotheses_);
  result.trace = std::move(trace_);
  for (AttentionPass& pass : passes_) {
    if (request_.cross_attention) {
      result.cross_attention.push_back(pass.TakeCrossMap());
    }
    if (request_.decoder_attention) {
      result.decoder_attention.push_back(pass.TakeDecoderMap());
    }
  }
  result.source_tokens = static_cast<int>(request_.source.ids.size());
  result.queue_time = started_ - queued_->submitted;
  result.inference_time = now - started_;
  result.shared_source = shared_source_;
  return result;
}

AttentionMap Sequence::EncoderMap() const {
  const std::span<const float> weights =
      engine_->EncoderAttention(sources_->id(slot_));
  const std::vector<int>& layers = request_.encoder_attention->layers;
  AttentionMap map;
  map.layers = layers.empty() ? engine_->limits().encoder_layers
                              : static_cast<int>(layers.size());
  map.queries = map.keys = sources_->tokens(slot_);
  map.heads =
      static_cast<int>(weights.size()) / (map.layers * map.queries * map.keys);
  map.weights.assign(weights.begin(), weights.end());
  return map;
}

void Sequence::End() {
  ended_ = true;
  live_.Clear(engine_);
  for (AttentionPass& pass : passes_) pass.End(engine_);
  passes_.clear();
  if (slot_ >= 0) sources_->Release(slot_);
}

int64_t Sequence::pending_tokens() const {
  if (phase_ == Phase::kSource) return queued_->cost.tokens;
  if (decoding_ == nullptr) return 0;
  return static_cast<int64_t>(request_.prefix.size()) - prefix_fed_ +
         reserved_rows_ * (request_.decoding->max_new_tokens - steps_);
}

}  // namespace trivium
