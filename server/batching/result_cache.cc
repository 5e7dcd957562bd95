#include "server/batching/result_cache.h"

#include <type_traits>
#include <utility>

namespace trivium {
namespace {

// Appends values to a key. Lists carry their lengths, so different sequences of
// values give different keys.
class KeyWriter {
 public:
  template <typename T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void Add(const T& value) {
    key_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  template <typename T>
  void Add(const std::optional<T>& value) {
    Add(value.has_value());
    if (value) Add(*value);
  }
  void Add(const std::vector<int32_t>& values) {
    Add(values.size());
    key_.append(reinterpret_cast<const char*>(values.data()),
                values.size() * sizeof(int32_t));
  }
  void Add(const std::vector<std::vector<int32_t>>& lists) {
    Add(lists.size());
    for (const std::vector<int32_t>& list : lists) Add(list);
  }
  void AddText(const std::string& text) {
    Add(text.size());
    key_ += text;
  }
  template <typename... Values>
  void AddAll(const Values&... values) {
    (Add(values), ...);
  }

  std::string TakeKey() { return std::move(key_); }

 private:
  std::string key_;
};

void AddOptions(const DecodingOptions& options, KeyWriter* writer) {
  // Names every field: a new field does not compile until it is added here.
  const auto& [beam_size, sample, hypotheses, length_penalty, early_stopping,
               max_new_tokens, min_new_tokens, temperature, top_k, top_p, min_p,
               typical_p, seed, repetition_penalty, no_repeat_ngram_size,
               frequency_penalty, presence_penalty, penalty_window, logit_bias,
               end_ids, stop_ids, banned_sequences, suppressed_ids,
               first_suppressed_ids, forced_first_id, forced_last_id,
               end_growth_start, end_growth, renormalize_logits, source_ids,
               source_ngram_size, source_bonus, required, word_pieces,
               constraint, thoughts, stop_repetition, top_logprobs, trace] =
      options;
  writer->AddAll(
      beam_size, sample, hypotheses, length_penalty, early_stopping,
      max_new_tokens, min_new_tokens, repetition_penalty, no_repeat_ngram_size,
      frequency_penalty, presence_penalty, penalty_window, end_ids, stop_ids,
      banned_sequences, suppressed_ids, first_suppressed_ids, forced_first_id,
      forced_last_id, end_growth_start, end_growth, renormalize_logits,
      source_ngram_size, source_bonus, stop_repetition, top_logprobs);
  writer->Add(logit_bias.size());
  for (const auto& [id, bias] : logit_bias) writer->AddAll(id, bias);
  writer->Add(required.size());
  for (const RequiredPhrase& phrase : required) {
    writer->AddAll(phrase.forms, phrase.first_forms, phrase.source,
                   phrase.whole, phrase.endings);
  }
  // A property of the model.
  static_cast<void>(word_pieces);
  // Read by sampling only.
  static_cast<void>(temperature);
  static_cast<void>(top_k);
  static_cast<void>(top_p);
  static_cast<void>(min_p);
  static_cast<void>(typical_p);
  static_cast<void>(seed);
  // Part of the request, which is in the key already.
  static_cast<void>(source_ids);
  // Traced and constrained searches are not cached.
  static_cast<void>(trace);
  static_cast<void>(constraint);
  static_cast<void>(thoughts);  // with a constraint only
}

template <typename T>
int64_t BytesOf(const std::vector<T>& values) {
  return static_cast<int64_t>(values.capacity() * sizeof(T));
}

int64_t BytesOf(const std::string& key,
                const std::vector<Hypothesis>& hypotheses) {
  // Estimate for list and table nodes and the allocator.
  constexpr int64_t kOverhead = 160;
  int64_t bytes = kOverhead + static_cast<int64_t>(key.capacity());
  bytes += BytesOf(hypotheses);
  for (const Hypothesis& hypothesis : hypotheses) {
    bytes += BytesOf(hypothesis.ids) + BytesOf(hypothesis.logprobs) +
             BytesOf(hypothesis.top_logprobs);
    for (const auto& top : hypothesis.top_logprobs) bytes += BytesOf(top);
  }
  return bytes;
}

}  // namespace

std::optional<std::string> ResultCache::KeyOf(const Request& request) {
  if (!request.decoding || request.decoding->sample ||
      request.decoding->trace || request.decoding->constraint != nullptr ||
      request.scoring || request.stop != nullptr ||
      request.states != States::kNone || !request.hidden_layers.empty() ||
      request.encoder_attention || request.cross_attention ||
      request.decoder_attention || request.traced_head) {
    return std::nullopt;
  }
  KeyWriter writer;
  writer.AddAll(request.model->id, request.source.ids, request.source.type_ids,
                request.prefix);
  writer.AddText(request.salt);
  AddOptions(*request.decoding, &writer);
  return writer.TakeKey();
}

ResultCache::Hypotheses ResultCache::Find(const std::string& key) {
  MutexLock lock(&mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->hypotheses;
}

void ResultCache::Insert(std::string key, Hypotheses hypotheses) {
  const int64_t bytes = BytesOf(key, *hypotheses);
  if (bytes > max_bytes_) return;
  std::list<Entry> evicted;  // freed without the lock
  MutexLock lock(&mutex_);
  if (by_key_.contains(key)) return;
  while (bytes_ + bytes > max_bytes_) {
    by_key_.erase(entries_.back().key);
    bytes_ -= entries_.back().bytes;
    evicted.splice(evicted.begin(), entries_, std::prev(entries_.end()));
  }
  entries_.push_front({std::move(key), std::move(hypotheses), bytes});
  by_key_[entries_.front().key] = entries_.begin();
  bytes_ += bytes;
}

ResultCache::Size ResultCache::size() const {
  MutexLock lock(&mutex_);
  return {bytes_, static_cast<int64_t>(entries_.size())};
}

}  // namespace trivium
