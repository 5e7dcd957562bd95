#include "model/search/logits_rules.h"

#include <algorithm>
#include <limits>

namespace trivium {
namespace {

void SortUnique(std::vector<int32_t>* ids) {
  std::sort(ids->begin(), ids->end());
  ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
}

}  // namespace

double LogitsEdits::Apply(size_t i, double logit) const {
  if (banned[i]) return -std::numeric_limits<double>::infinity();
  return logit < 0 ? logit * repetition_penalty : logit / repetition_penalty;
}

LogitsRules::LogitsRules(const DecodingOptions& options)
    : repetition_penalty_(options.repetition_penalty),
      ngram_size_(options.no_repeat_ngram_size),
      min_new_tokens_(options.min_new_tokens),
      max_new_tokens_(options.max_new_tokens),
      end_ids_(options.end_ids),
      forced_first_id_(options.forced_first_id),
      forced_last_id_(options.forced_last_id) {
  for (const std::vector<int32_t>& sequence : options.banned_sequences) {
    if (sequence.size() > 1) {
      banned_sequences_[sequence[sequence.size() - 2]].push_back(sequence);
    } else if (std::find(end_ids_.begin(), end_ids_.end(), sequence[0]) ==
               end_ids_.end()) {
      // Transformers never bans an end token by itself.
      banned_tokens_.push_back(sequence[0]);
    }
  }
}

void LogitsRules::EditsAfter(std::span<const int32_t> history, int new_tokens,
                             LogitsEdits* edits) const {
  edits->forced.reset();
  edits->watched.clear();
  edits->banned.clear();
  edits->repetition_penalty = repetition_penalty_;
  if (new_tokens == max_new_tokens_ - 1 && forced_last_id_.has_value()) {
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
  }
  SortUnique(&banned);

  edits->watched = banned;
  if (repetition_penalty_ != 1) {
    edits->watched.insert(edits->watched.end(), history.begin(), history.end());
    SortUnique(&edits->watched);
  }
  edits->banned.reserve(edits->watched.size());
  for (const int32_t token : edits->watched) {
    edits->banned.push_back(
        std::binary_search(banned.begin(), banned.end(), token));
  }
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
