// One step of the search (Advance), as in Transformers:
//   1. Extend every running hypothesis by every possible token and keep the
//      best extensions_kept_ extensions, best first.
//   2. An extension that ends counts only among the first beam_size; it joins
//      finished_, which keeps the beam_size best by score. Any other fills the
//      next place among the running ones, until beam_size of them run.
//   3. Stop if no running hypothesis can beat the worst finished one (see
//      CanImprove).
//
//   score = log_probability / (new tokens ^ length_penalty)
//
// Every running hypothesis has length_ new tokens. edits_[i], queries_[i] and
// continuations_[i] belong to running_[i], and queries_ are views into edits_.
// Sums are double and ties are ordered (IsBetter), so equal rows give equal
// bits. Hypotheses that ended without all required phrases are results only if
// nothing else is left. Beams are reused between steps for the sake of their
// memory.
#include "model/search/beam_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trivium {
namespace {

// Number of best tokens to ask for with phrases: many of the best tokens may be
// forbidden after a phrase.
constexpr size_t kAskedAfterPhrases = 64;

}  // namespace

BeamSearch::BeamSearch(const DecodingOptions& options,
                       std::vector<int32_t> prefix, const StopMatcher* stop)
    : options_(options),
      prefix_size_(prefix.size()),
      beam_size_(options.beam_size),
      // Even if every hypothesis's best extensions are its end tokens, enough
      // others remain to keep beam_size running.
      extensions_kept_(std::max<size_t>(2, 1 + options.end_ids.size() +
                                               options.stop_ids.size()) *
                       beam_size_),
      stop_(stop),
      rules_(options),
      phrases_(options),
      constraint_(options) {
  if (options.trace) recorder_ = std::make_unique<BeamRecorder>();
  running_.resize(1);
  running_[0].tokens = std::move(prefix);
  running_[0].constraint = constraint_.Start();
  MakeQueries();
}

void BeamSearch::MakeQueries() {
  queries_.clear();
  edits_.resize(running_.size());
  for (size_t i = 0; i < running_.size(); ++i) {
    rules_.EditsAfter(running_[i].tokens, length_, &edits_[i]);
    LogitsQuery query;
    if (!edits_[i].forced.has_value()) {
      if (phrases_.size() > 0) {
        phrases_.Steps(running_[i].phrases, AtBeginning(), {}, &steps_);
        RequiredPhrases::Watch(steps_, &edits_[i]);
      }
      query.watched = edits_[i].watched;
      query.top_k = static_cast<int>(std::max<size_t>(
          {extensions_kept_, static_cast<size_t>(options_.top_logprobs),
           phrases_.size() > 0 ? kAskedAfterPhrases : 0}));
      query.all = constraint_.exists();
    }
    queries_.push_back(query);
  }
}

void BeamSearch::FindExtensions(std::span<const LogitsRow> rows) {
  const size_t tops = static_cast<size_t>(options_.top_logprobs);
  extensions_.clear();
  states_.clear();
  tops_.clear();
  for (size_t i = 0; i < running_.size(); ++i) {
    size_t count = std::max(extensions_kept_, tops);
    if (phrases_.size() > 0) {
      count = kAskedAfterPhrases + rows[i].watched.size();
    }
    ScoreLogProbabilities(rows[i], edits_[i], options_.renormalize_logits,
                          count, &possible_);
    if (tops > 0) {
      tops_.push_back(std::make_shared<const std::vector<TokenLogprob>>(
          TopLogprobs(possible_, tops)));
    }
    if (const TokenMask* allowed =
            constraint_.Allowed(running_[i].constraint)) {
      ScoreLogProbabilities(rows[i], edits_[i], options_.renormalize_logits,
                            count, &possible_, allowed);
    }
    if (phrases_.size() > 0) {
      AddPhraseExtensions(i);
    } else {
      AddExtensions(i);
    }
  }
  if (phrases_.size() > 0) return AllotExtensions();
  const size_t kept = std::min(extensions_kept_, extensions_.size());
  std::partial_sort(extensions_.begin(), extensions_.begin() + kept,
                    extensions_.end(), IsBetter);
  extensions_.resize(kept);
}

void BeamSearch::AddExtensions(size_t i) {
  for (const ScoredToken& token : possible_) {
    extensions_.push_back({static_cast<int>(i), token,
                           running_[i].log_probability + token.logprob});
  }
}

bool BeamSearch::IsBetter(const Extension& a, const Extension& b) {
  if (a.log_probability != b.log_probability) {
    return a.log_probability > b.log_probability;
  }
  if (a.parent != b.parent) return a.parent < b.parent;
  return a.token.token < b.token.token;
}

bool BeamSearch::Extend(const Extension& extension, Beam* beam) {
  // Reserves once: assigning a copy keeps the memory of what it replaces.
  beam->tokens.reserve(prefix_size_ + ReservedTokens(options_));
  beam->logprobs.reserve(ReservedTokens(options_));
  *beam = running_[extension.parent];
  beam->tokens.push_back(extension.token.token);
  beam->logprobs.push_back(static_cast<float>(extension.token.logprob));
  if (!tops_.empty()) beam->top.push_back(tops_[extension.parent]);
  beam->log_probability = extension.log_probability;
  if (extension.state >= 0) beam->phrases = states_[extension.state];
  return constraint_.Advance(extension.token.token, length_, &beam->constraint);
}

bool BeamSearch::Ends(const Beam& beam, FinishReason* reason) const {
  if (const auto why = rules_.EndOf(beam.tokens.back(),
                                    static_cast<int>(beam.logprobs.size()))) {
    *reason = *why;
    return true;
  }
  if (stop_ != nullptr &&
      stop_->Matches(std::span(beam.tokens).subspan(prefix_size_))) {
    *reason = FinishReason::kStop;
    return true;
  }
  *reason = FinishReason::kLength;
  return beam.logprobs.size() == static_cast<size_t>(options_.max_new_tokens);
}

double BeamSearch::Score(double log_probability, int length) const {
  return log_probability /
         std::pow(static_cast<double>(length), options_.length_penalty);
}

void BeamSearch::AddFinished(Beam beam, FinishReason reason) {
  const double score =
      Score(Merit(beam), std::max(1, static_cast<int>(beam.logprobs.size())));
  const auto insert_at = std::find_if(
      finished_.begin(), finished_.end(),
      [score](const Finished& other) { return other.score < score; });
  Record(beam, BeamFate::kEnded);
  finished_.insert(insert_at, {std::move(beam), score, reason});
  if (finished_.size() > beam_size_) {
    Record(finished_.back().beam, BeamFate::kOutscored);
    finished_.pop_back();
  }
}

void BeamSearch::AddLacking(const Beam& beam, FinishReason reason) {
  const double score =
      Score(Merit(beam), static_cast<int>(beam.logprobs.size()));
  if (!lacking_ || score > lacking_->score) lacking_ = {beam, score, reason};
}

int BeamSearch::Record(const Extension& extension, BeamFate fate) {
  if (recorder_ == nullptr) return -1;
  const Beam& parent = running_[extension.parent];
  return recorder_->Add({.parent = std::max(parent.place, 0),
                         .token = extension.token.token,
                         .logprob = extension.token.logprob,
                         .log_probability = extension.log_probability,
                         .score = Score(extension.log_probability, length_),
                         .fate = fate});
}

void BeamSearch::Record(const Beam& beam, BeamFate fate) {
  if (recorder_ == nullptr) return;
  recorder_->SetFate(static_cast<int>(beam.logprobs.size()) - 1, beam.place,
                     fate);
}

void BeamSearch::Advance(std::span<const LogitsRow> rows) {
  FindExtensions(rows);
  ++length_;
  continuations_.clear();
  next_.resize(beam_size_);
  size_t running = 0;
  size_t rank = 0;
  if (recorder_ != nullptr && !extensions_.empty()) recorder_->BeginStep();
  for (; rank < extensions_.size(); ++rank) {
    // Beyond the first beam_size, an extension only fills a running place.
    if (rank >= beam_size_ && running == beam_size_) break;
    Beam& beam = running < beam_size_ ? next_[running] : beyond_;
    if (!Extend(extensions_[rank], &beam)) {
      return GiveUp(constraint_.EmptyMask());
    }
    FinishReason reason;
    const bool ends = Ends(beam, &reason);
    beam.place = Record(extensions_[rank],
                        ends ? BeamFate::kEndedTooLow : BeamFate::kContinued);
    if (ends && !phrases_.HasAll(beam.phrases)) {
      AddLacking(beam, reason);
    } else if (ends) {
      if (rank < beam_size_) AddFinished(beam, reason);
    } else if (running < beam_size_) {
      ++running;
      continuations_.push_back(
          {extensions_[rank].parent, extensions_[rank].token.token});
    }
  }
  // With many end tokens there are many extensions; the trace shows as many as
  // could run.
  for (; recorder_ != nullptr && rank < extensions_.size() &&
         rank < 2 * beam_size_;
       ++rank) {
    Record(extensions_[rank], BeamFate::kPruned);
  }
  if (!constraint_.status().ok()) return GiveUp(constraint_.status());
  if (extensions_.empty() && constraint_.exists()) {
    if (finished_.empty()) return GiveUp(constraint_.EmptyMask());
  } else if (extensions_.empty()) {
    // The rules leave no token at all: the running hypotheses end here.
    for (Beam& beam : running_) {
      AddFinished(std::move(beam), FinishReason::kLength);
    }
  }
  next_.resize(running);
  std::swap(running_, next_);
  if (running_.empty() && finished_.empty() && lacking_) {
    AddFinished(std::move(lacking_->beam), lacking_->reason);
  }
  if (CanImprove()) {
    MakeQueries();
  } else {
    Finish();
  }
  UpdateCertain();
}

bool BeamSearch::CanImprove() const {
  if (running_.empty()) return false;
  if (finished_.size() < beam_size_) return true;
  if (options_.early_stopping == EarlyStopping::kAtOnce) return false;
  const bool longest = options_.early_stopping == EarlyStopping::kNever &&
                       options_.length_penalty > 0;
  double best = Merit(running_[0]);
  // With phrases, running hypotheses are ordered by phrases before probability.
  for (const Beam& beam : running_) best = std::max(best, Merit(beam));
  const double best_possible =
      Score(best, longest ? options_.max_new_tokens : length_);
  return best_possible > finished_.back().score;
}

void BeamSearch::Finish() {
  done_ = true;
  for (const Beam& beam : running_) Record(beam, BeamFate::kStopped);
  running_.clear();
  queries_.clear();
  continuations_.clear();
}

void BeamSearch::GiveUp(absl::Status why) {
  status_ = std::move(why);
  // The tokens that were certain stay so.
  Beam& certain = running_[0];
  certain.tokens.resize(prefix_size_ + certain_);
  certain.logprobs.resize(certain_);
  finished_.clear();
  finished_.push_back({std::move(certain), 0, FinishReason::kLength});
  Finish();
}

void BeamSearch::UpdateCertain() {
  if (done_) return;
  const Beam& first = running_[0];
  const auto shares = [&](const Beam& beam) {
    const size_t at = prefix_size_ + certain_;
    return at < beam.tokens.size() && beam.tokens[at] == first.tokens[at];
  };
  while (certain_ < first.logprobs.size() &&
         std::all_of(running_.begin(), running_.end(), shares) &&
         (finished_.empty() || shares(finished_[0].beam))) {
    ++certain_;
  }
}

std::span<const int32_t> BeamSearch::CertainTokens(int index) const {
  if (done_) {
    if (index >= static_cast<int>(finished_.size())) return {};
    return std::span(finished_[index].beam.tokens).subspan(prefix_size_);
  }
  if (index > 0) return {};
  return std::span(running_[0].tokens).subspan(prefix_size_, certain_);
}

std::span<const float> BeamSearch::CertainLogprobs(int index) const {
  if (done_) {
    if (index >= static_cast<int>(finished_.size())) return {};
    return finished_[index].beam.logprobs;
  }
  if (index > 0) return {};
  return std::span(running_[0].logprobs).first(certain_);
}

std::vector<std::vector<TokenLogprob>> BeamSearch::CertainTopLogprobs(
    int index, size_t begin) const {
  std::vector<std::vector<TokenLogprob>> all;
  if (options_.top_logprobs == 0) return all;
  const size_t end = CertainTokens(index).size();
  if (begin >= end) return all;
  const Beam& beam = done_ ? finished_[index].beam : running_[0];
  for (size_t i = begin; i < end; ++i) all.push_back(*beam.top[i]);
  return all;
}

std::vector<Hypothesis> BeamSearch::TakeResults() {
  std::vector<Hypothesis> results;
  if (!status_.ok()) return results;
  for (Finished& finished : finished_) {
    if (results.size() == static_cast<size_t>(options_.hypotheses)) break;
    const Beam& beam = finished.beam;
    if (recorder_ != nullptr) {
      recorder_->SetHypothesis(static_cast<int>(beam.logprobs.size()) - 1,
                               beam.place, static_cast<int>(results.size()));
    }
    Hypothesis result;
    result.ids.assign(beam.tokens.begin() + prefix_size_, beam.tokens.end());
    result.log_probability = static_cast<float>(beam.log_probability);
    result.score = static_cast<float>(
        Score(beam.log_probability,
              std::max(1, static_cast<int>(beam.logprobs.size()))));
    result.reason = finished.reason;
    result.logprobs = beam.logprobs;
    for (const SharedTop& top : beam.top) result.top_logprobs.push_back(*top);
    results.push_back(std::move(result));
  }
  return results;
}

std::optional<BeamTrace> BeamSearch::TakeTrace() {
  if (recorder_ == nullptr) return std::nullopt;
  return recorder_->Take();
}

}  // namespace trivium
