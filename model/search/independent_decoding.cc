// Draws start from the same prefix, so until their first token they share one
// live hypothesis, one query and one row; afterwards each draw has its own.
// live_ lists the draws that still run, ascending; edits_[i] and queries_[i]
// belong to live_[i]. A draw's random numbers depend on the seed, its index and
// the token's position alone, so a result does not depend on what runs beside
// it.
//
// Sampling without top-k, or with a larger one than a query may ask for, reads
// all logits of the row, and so does a constraint, as the best tokens may be
// forbidden; every other choice needs only the best ones and the watched ones.
#include "model/search/independent_decoding.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "model/search/counter_rng.h"
#include "model/search/sampling.h"

namespace trivium {
namespace {

// The most candidates that a LogitsQuery may ask for.
constexpr int kMostCandidates = 1024;
// Number of best tokens to ask for under a constraint. Mostly one of them is
// allowed, and then the whole row is not read.
constexpr int kCandidatesOfConstrained = 32;

}  // namespace

IndependentDecoding::IndependentDecoding(const DecodingOptions& options,
                                         std::vector<int32_t> prefix,
                                         const StopMatcher* stop)
    : options_(options),
      prefix_size_(prefix.size()),
      stop_(stop),
      rules_(options),
      constraint_(options),
      draws_(options.hypotheses),
      live_(options.hypotheses) {
  const size_t tokens = prefix.size() + ReservedTokens(options);
  for (Draw& draw : draws_) {
    draw.tokens.reserve(tokens);
    draw.tokens = prefix;
    draw.logprobs.reserve(ReservedTokens(options));
    draw.constraint = constraint_.Start();
  }
  std::iota(live_.begin(), live_.end(), 0);
  edits_.resize(1);
  MakeQueries();
}

LogitsQuery IndependentDecoding::QueryAfter(const Draw& draw,
                                            LogitsEdits* edits) const {
  rules_.EditsAfter(draw.tokens, NewTokens(draw), edits);
  LogitsQuery query;
  if (edits->forced.has_value()) return query;
  query.watched = edits->watched;
  query.top_k = std::max(1, options_.top_logprobs);
  if (options_.sample) {
    query.all = options_.top_k == 0 || options_.top_k > kMostCandidates;
    if (!query.all) query.top_k = std::max(query.top_k, options_.top_k);
  }
  if (constraint_.exists()) {
    query.all = true;
    query.top_k = std::max(query.top_k, kCandidatesOfConstrained);
  }
  return query;
}

void IndependentDecoding::MakeQueries() {
  queries_.clear();
  for (size_t i = 0; i < edits_.size(); ++i) {
    queries_.push_back(QueryAfter(draws_[live_[i]], &edits_[i]));
  }
}

std::span<const LogitsQuery> IndependentDecoding::DraftQueries(
    std::span<const int32_t> draft) {
  draft_queries_.clear();
  if (live_.size() != 1) return {};
  Draw& draw = draws_[live_[0]];
  const size_t tokens = draw.tokens.size();
  draft_edits_.resize(std::max(draft_edits_.size(), draft.size()));
  for (size_t i = 0; i < draft.size(); ++i) {
    draw.tokens.push_back(draft[i]);
    draft_queries_.push_back(QueryAfter(draw, &draft_edits_[i]));
  }
  draw.tokens.resize(tokens);
  return draft_queries_;
}

bool IndependentDecoding::Choose(int index, const LogitsRow& row,
                                 const LogitsEdits& edits,
                                 ScoredToken* chosen) {
  const TokenMask* allowed = constraint_.Allowed(draws_[index].constraint);
  if (!options_.sample) {
    ScoreLogits(row, edits, 1, &possible_, allowed);
    if (!possible_.empty()) *chosen = possible_.front();
    return !possible_.empty();
  }
  if (options_.top_k == 0 || options_.top_k > kMostCandidates) {
    ScoreAllLogits(row, edits, &possible_, allowed);
    if (options_.top_k > 0) {
      const size_t kept = std::min<size_t>(possible_.size(), options_.top_k);
      std::partial_sort(possible_.begin(), possible_.begin() + kept,
                        possible_.end(), Better);
      possible_.resize(kept);
    }
  } else {
    ScoreLogits(row, edits, options_.top_k, &possible_, allowed);
  }
  if (possible_.empty()) return false;
  *chosen = DrawToken(options_,
                      UniformAt(options_.seed, index, NewTokens(draws_[index])),
                      &possible_);
  return true;
}

void IndependentDecoding::Append(const ScoredToken& token, const LogitsRow& row,
                                 const LogitsEdits& edits, Draw* draw) {
  draw->tokens.push_back(token.token);
  draw->logprobs.push_back(static_cast<float>(token.logprob));
  draw->log_probability += token.logprob;
  if (options_.top_logprobs > 0) {
    ScoreLogits(row, edits, options_.top_logprobs, &possible_);
    draw->top_logprobs.push_back(TopLogprobs(possible_, options_.top_logprobs));
  }
  if (const auto reason = rules_.EndOf(token.token, NewTokens(*draw))) {
    draw->ended = true;
    draw->reason = *reason;
  } else if (stop_ != nullptr &&
             stop_->Matches(std::span(draw->tokens).subspan(prefix_size_))) {
    draw->ended = true;
    draw->reason = FinishReason::kStop;
  } else if (options_.stop_repetition &&
             draw->repetition.Add(
                 std::span(draw->tokens).subspan(prefix_size_))) {
    draw->ended = true;
    draw->reason = FinishReason::kRepetition;
  } else if (NewTokens(*draw) == options_.max_new_tokens) {
    draw->ended = true;
  }
}

void IndependentDecoding::Advance(std::span<const LogitsRow> rows) {
  continuations_.clear();
  next_live_.clear();
  for (size_t i = 0; i < live_.size(); ++i) {
    // All draws share one row before their first token.
    const size_t row = std::min(i, rows.size() - 1);
    Draw& draw = draws_[live_[i]];
    ScoredToken chosen;
    const bool any = Choose(live_[i], rows[row], edits_[row], &chosen);
    if (constraint_.exists() &&
        !(any && constraint_.Advance(chosen.token, NewTokens(draw) + 1,
                                     &draw.constraint))) {
      return GiveUp(constraint_.EmptyMask());
    }
    if (!any) {
      draw.ended = true;
      continue;
    }
    Append(chosen, rows[row], edits_[row], &draw);
    if (draw.ended) continue;
    next_live_.push_back(live_[i]);
    continuations_.push_back({static_cast<int>(row), chosen.token});
  }
  std::swap(live_, next_live_);
  edits_.resize(live_.size());
  MakeQueries();
}

void IndependentDecoding::GiveUp(absl::Status why) {
  status_ = std::move(why);
  for (Draw& draw : draws_) draw.ended = true;
  live_.clear();
  edits_.clear();
  queries_.clear();
  continuations_.clear();
}

std::span<const int32_t> IndependentDecoding::CertainTokens(int index) const {
  return std::span(draws_[index].tokens).subspan(prefix_size_);
}

std::span<const float> IndependentDecoding::CertainLogprobs(int index) const {
  return draws_[index].logprobs;
}

std::vector<std::vector<TokenLogprob>> IndependentDecoding::CertainTopLogprobs(
    int index, size_t begin) const {
  const auto& all = draws_[index].top_logprobs;
  begin = std::min(begin, all.size());
  return {all.begin() + static_cast<ptrdiff_t>(begin), all.end()};
}

bool IndependentDecoding::Ended(int index) const { return draws_[index].ended; }

std::vector<Hypothesis> IndependentDecoding::TakeResults() {
  std::vector<Hypothesis> results;
  if (!status_.ok()) return results;
  for (Draw& draw : draws_) {
    Hypothesis result;
    result.ids.assign(draw.tokens.begin() + prefix_size_, draw.tokens.end());
    result.log_probability = static_cast<float>(draw.log_probability);
    const double length = std::max<double>(1, NewTokens(draw));
    result.score = static_cast<float>(
        draw.log_probability / std::pow(length, options_.length_penalty));
    result.reason = draw.reason;
    result.logprobs = draw.logprobs;
    result.top_logprobs = std::move(draw.top_logprobs);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace trivium
