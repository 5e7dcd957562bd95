// EditsAfter lists every token whose logit changes (watched: sorted, unique),
// so the engine reports those logits apart and never keeps a whole row. Apply
// then computes one edited logit; the header has its formula. A ban overrides
// every other change, and a forced token replaces the row; the forced last
// token comes before the forced first one.
//
// Repetition and n-gram rules see the whole history, prefix included; penalties
// for frequency and presence count new tokens only. A window leaves all three
// only the last tokens.
//
// A banned sequence is filed under its second-to-last token, so a step compares
// only the sequences that the last token of the history could lead to.
#include "model/search/logits_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trivium {
namespace {

bool Contains(const std::vector<int32_t>& ids, int32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

void SortUnique(std::vector<int32_t>* ids) {
  std::sort(ids->begin(), ids->end());
  ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
}

}  // namespace

double LogitsEdits::Apply(size_t i, double logit) const {
  const Change& change = changes[i];
  if (change.banned) return -std::numeric_limits<double>::infinity();
  logit += change.bias;
  if (change.of_source) {
    logit = logit < 0 ? logit / source_bonus : logit * source_bonus;
  }
  if (change.repeated) {
    logit = logit < 0 ? logit * repetition_penalty : logit / repetition_penalty;
  }
  logit -= change.loss;
  return logit + std::abs(logit) * change.growth;
}

LogitsRules::LogitsRules(const DecodingOptions& options)
    : repetition_penalty_(options.repetition_penalty),
      frequency_penalty_(options.frequency_penalty),
      presence_penalty_(options.presence_penalty),
      penalty_window_(options.penalty_window == 0
                          ? std::numeric_limits<size_t>::max()
                          : static_cast<size_t>(options.penalty_window)),
      bias_(options.logit_bias),
      ngram_size_(options.no_repeat_ngram_size),
      min_new_tokens_(options.min_new_tokens),
      max_new_tokens_(options.max_new_tokens),
      end_ids_(options.end_ids),
      end_growth_start_(options.end_growth_start),
      end_growth_(options.end_growth),
      stop_ids_(options.stop_ids),
      forced_first_id_(options.forced_first_id),
      forced_last_id_(options.forced_last_id),
      first_suppressed_ids_(options.first_suppressed_ids),
      source_bonus_(options.source_bonus) {
  BanAlways(options.banned_sequences);
  BanSourceNgrams(options.source_ids, options.source_ngram_size);
  banned_tokens_.insert(banned_tokens_.end(), options.suppressed_ids.begin(),
                        options.suppressed_ids.end());
  if (source_bonus_ != 1) {
    source_ = options.source_ids;
    SortUnique(&source_);
  }
}

void LogitsRules::BanAlways(
    const std::vector<std::vector<int32_t>>& sequences) {
  for (const std::vector<int32_t>& sequence : sequences) {
    if (sequence.size() > 1) {
      banned_sequences_[sequence[sequence.size() - 2]].push_back(sequence);
    } else if (!Contains(end_ids_, sequence[0])) {
      // Transformers never bans an end token by itself.
      banned_tokens_.push_back(sequence[0]);
    }
  }
}

void LogitsRules::BanSourceNgrams(std::span<const int32_t> source,
                                  size_t size) {
  if (size == 1) {
    banned_tokens_.insert(banned_tokens_.end(), source.begin(), source.end());
  }
  for (size_t end = size; size > 1 && end <= source.size(); ++end) {
    const std::span<const int32_t> ngram = source.subspan(end - size, size);
    banned_sequences_[ngram[size - 2]].emplace_back(ngram.begin(), ngram.end());
  }
}

std::optional<FinishReason> LogitsRules::EndOf(int32_t token,
                                               int new_tokens) const {
  const bool ends = Contains(end_ids_, token);
  if (!ends && !Contains(stop_ids_, token)) return std::nullopt;
  if (ForcesLast(new_tokens)) return FinishReason::kLength;
  return ends ? FinishReason::kEnd : FinishReason::kStop;
}

void LogitsRules::EditsAfter(std::span<const int32_t> history, int new_tokens,
                             LogitsEdits* edits) const {
  edits->forced.reset();
  edits->watched.clear();
  edits->changes.clear();
  edits->repetition_penalty = repetition_penalty_;
  edits->source_bonus = source_bonus_;
  if (ForcesLast(new_tokens + 1)) {
    edits->forced = forced_last_id_;
    return;
  }
  if (new_tokens == 0 && forced_first_id_.has_value()) {
    edits->forced = forced_first_id_;
    return;
  }

  std::vector<int32_t>& banned = edits->banned_ids;
  banned = banned_tokens_;
  BanRepeatedNgrams(history, &banned);
  BanSequences(history, &banned);
  if (new_tokens < min_new_tokens_) {
    banned.insert(banned.end(), end_ids_.begin(), end_ids_.end());
    banned.insert(banned.end(), stop_ids_.begin(), stop_ids_.end());
  }
  if (new_tokens == (forced_first_id_.has_value() ? 1 : 0)) {
    banned.insert(banned.end(), first_suppressed_ids_.begin(),
                  first_suppressed_ids_.end());
  }
  SortUnique(&banned);
  Watch(history, new_tokens, edits);
  edits->changes.reserve(edits->watched.size());
  for (const int32_t token : edits->watched) {
    edits->changes.push_back(ChangeOf(token, new_tokens, *edits));
  }
}

void LogitsRules::Watch(std::span<const int32_t> history, int new_tokens,
                        LogitsEdits* edits) const {
  std::vector<int32_t>& watched = edits->watched;
  const auto sort_and_watch = [&](std::span<const int32_t> tokens,
                                  std::vector<int32_t>* sorted) {
    sorted->assign(tokens.begin(), tokens.end());
    std::sort(sorted->begin(), sorted->end());
    watched.insert(watched.end(), sorted->begin(), sorted->end());
  };
  watched = edits->banned_ids;
  edits->read.clear();
  edits->written.clear();
  const auto in_window = [&](size_t tokens) {
    return history.last(std::min(tokens, penalty_window_));
  };
  if (repetition_penalty_ != 1) {
    sort_and_watch(in_window(history.size()), &edits->read);
  }
  if (frequency_penalty_ != 0 || presence_penalty_ != 0) {
    sort_and_watch(in_window(static_cast<size_t>(new_tokens)), &edits->written);
  }
  for (const auto& [token, bias] : bias_) watched.push_back(token);
  watched.insert(watched.end(), source_.begin(), source_.end());
  if (EndsGrow(new_tokens)) {
    watched.insert(watched.end(), end_ids_.begin(), end_ids_.end());
  }
  SortUnique(&watched);
}

LogitsEdits::Change LogitsRules::ChangeOf(int32_t token, int new_tokens,
                                          const LogitsEdits& edits) const {
  const auto has = [token](const std::vector<int32_t>& sorted) {
    return std::binary_search(sorted.begin(), sorted.end(), token);
  };
  LogitsEdits::Change change;
  change.banned = has(edits.banned_ids);
  change.repeated = has(edits.read);
  change.of_source = std::binary_search(source_.begin(), source_.end(), token);
  const auto [first, last] =
      std::equal_range(edits.written.begin(), edits.written.end(), token);
  if (first != last) {
    change.loss = frequency_penalty_ * static_cast<double>(last - first) +
                  presence_penalty_;
  }
  const auto bias =
      std::lower_bound(bias_.begin(), bias_.end(), token,
                       [](const auto& a, int32_t b) { return a.first < b; });
  if (bias != bias_.end() && bias->first == token) change.bias = bias->second;
  if (EndsGrow(new_tokens) && Contains(end_ids_, token)) {
    // Bounded because an infinite logit leaves no probabilities.
    constexpr double kMost = 1e30;
    change.growth = std::min(
        std::pow(end_growth_, new_tokens - end_growth_start_) - 1, kMost);
  }
  return change;
}

void LogitsRules::BanRepeatedNgrams(std::span<const int32_t> history,
                                    std::vector<int32_t>* banned) const {
  const size_t size = static_cast<size_t>(ngram_size_);
  if (size == 0 || history.size() < size) return;
  const std::span<const int32_t> tail = history.last(size - 1);
  for (size_t begin = 0; begin + size <= history.size(); ++begin) {
    const std::span<const int32_t> ngram = history.subspan(begin, size);
    if (std::equal(tail.begin(), tail.end(), ngram.begin())) {
      banned->push_back(ngram.back());
    }
  }
}

void LogitsRules::BanSequences(std::span<const int32_t> history,
                               std::vector<int32_t>* banned) const {
  if (history.empty()) return;
  const auto found = banned_sequences_.find(history.back());
  if (found == banned_sequences_.end()) return;
  for (const std::vector<int32_t>& sequence : found->second) {
    const size_t before = sequence.size() - 1;
    if (before <= history.size() &&
        std::equal(sequence.begin(), sequence.end() - 1,
                   history.end() - before)) {
      banned->push_back(sequence.back());
    }
  }
}

}  // namespace trivium
