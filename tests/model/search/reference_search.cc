#include "tests/model/search/reference_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "model/search/counter_rng.h"

namespace trivium {
namespace {

using Row = std::vector<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPlaceholder = -1.0e9;

Row LogSoftmax(Row row) {
  const double largest = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (const double x : row) sum += std::exp(x - largest);
  const double log_sum = largest + std::log(sum);
  for (double& x : row) x -= log_sum;
  return row;
}

bool Contains(const std::vector<int32_t>& ids, int32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

void SequenceBias(const DecodingOptions& options, Row* row) {
  for (const auto& [token, bias] : options.logit_bias) (*row)[token] += bias;
}

// The first of the tokens that penalties look at.
auto WindowBegin(const DecodingOptions& options,
                 const std::vector<int32_t>& history) {
  const auto size = static_cast<int64_t>(history.size());
  return options.penalty_window == 0 || options.penalty_window > size
             ? history.begin()
             : history.end() - options.penalty_window;
}

// From OpenAI's API; Transformers has none.
void CountPenalties(const DecodingOptions& options, size_t prefix_size,
                    const std::vector<int32_t>& history, Row* row) {
  const auto begin =
      std::max(history.begin() + static_cast<int64_t>(prefix_size),
               WindowBegin(options, history));
  for (size_t token = 0; token < row->size(); ++token) {
    const auto count = std::count(begin, history.end(), token);
    if (count == 0) continue;
    (*row)[token] -= static_cast<double>(options.frequency_penalty) * count +
                     options.presence_penalty;
  }
}

void RepetitionPenalty(const DecodingOptions& options,
                       const std::vector<int32_t>& history, Row* row) {
  for (size_t token = 0; token < row->size(); ++token) {
    const auto begin = WindowBegin(options, history);
    if (std::find(begin, history.end(), static_cast<int32_t>(token)) ==
        history.end()) {
      continue;
    }
    double& score = (*row)[token];
    score = score < 0 ? score * options.repetition_penalty
                      : score / options.repetition_penalty;
  }
}

void NoRepeatNgram(const DecodingOptions& options,
                   const std::vector<int32_t>& history, Row* row) {
  const int n = options.no_repeat_ngram_size;
  const int length = static_cast<int>(history.size());
  for (size_t token = 0; token < row->size(); ++token) {
    std::vector<int32_t> next = history;
    next.push_back(static_cast<int32_t>(token));
    for (int begin = 0; n > 0 && begin + n <= length; ++begin) {
      if (std::equal(next.end() - n, next.end(), history.begin() + begin)) {
        (*row)[token] = -kInfinity;
      }
    }
  }
}

void NoBadWords(const DecodingOptions& options,
                const std::vector<int32_t>& history, Row* row) {
  for (const std::vector<int32_t>& words : options.banned_sequences) {
    if (words.size() == 1 && Contains(options.end_ids, words[0])) continue;
    if (words.size() - 1 > history.size()) continue;
    if (std::equal(words.begin(), words.end() - 1,
                   history.end() - (words.size() - 1))) {
      (*row)[words.back()] = -kInfinity;
    }
  }
}

void EncoderRepetitionPenalty(const DecodingOptions& options, Row* row) {
  const double penalty = 1.0 / options.source_bonus;
  const std::set<int32_t> source(options.source_ids.begin(),
                                 options.source_ids.end());
  for (const int32_t id : source) {
    double& x = (*row)[id];
    x = x < 0 ? x * penalty : x / penalty;
  }
}

void EncoderNoRepeatNgram(const DecodingOptions& options,
                          const std::vector<int32_t>& history, Row* row) {
  const size_t n = options.source_ngram_size;
  if (n == 0 || history.size() + 1 < n) return;
  const std::vector<int32_t>& source = options.source_ids;
  for (size_t end = n; end <= source.size(); ++end) {
    if (std::equal(history.end() - (n - 1), history.end(),
                   source.begin() + (end - n))) {
      (*row)[source[end - 1]] = -kInfinity;
    }
  }
}

void ExponentialDecayLengthPenalty(const DecodingOptions& options,
                                   int new_tokens, Row* row) {
  const int behind = new_tokens - options.end_growth_start;
  if (options.end_growth == 1 || behind <= 0) return;
  const double growth = std::pow(double{options.end_growth}, behind) - 1;
  const std::set<int32_t> ends(options.end_ids.begin(), options.end_ids.end());
  for (const int32_t id : ends) {
    double& x = (*row)[id];
    // Transformers gets NaN where a token is impossible.
    if (x > -kInfinity) x += std::abs(x) * growth;
  }
}

void Force(int32_t token, Row* row) {
  std::fill(row->begin(), row->end(), -kInfinity);
  (*row)[token] = 0;
}

// _get_logits_processor's list, without the warpers.
Row Process(const DecodingOptions& options, size_t prefix_size,
            const std::vector<int32_t>& history, Row row) {
  const int new_tokens = static_cast<int>(history.size() - prefix_size);
  SequenceBias(options, &row);
  if (options.source_bonus != 1) EncoderRepetitionPenalty(options, &row);
  RepetitionPenalty(options, history, &row);
  CountPenalties(options, prefix_size, history, &row);
  NoRepeatNgram(options, history, &row);
  EncoderNoRepeatNgram(options, history, &row);
  NoBadWords(options, history, &row);
  if (new_tokens < options.min_new_tokens) {
    for (const int32_t id : options.end_ids) row[id] = -kInfinity;
    for (const int32_t id : options.stop_ids) row[id] = -kInfinity;
  }
  ExponentialDecayLengthPenalty(options, new_tokens, &row);
  for (const int32_t id : options.suppressed_ids) row[id] = -kInfinity;
  if (new_tokens == (options.forced_first_id ? 1 : 0)) {
    for (const int32_t id : options.first_suppressed_ids) {
      row[id] = -kInfinity;
    }
  }
  if (options.forced_first_id && new_tokens == 0) {
    Force(*options.forced_first_id, &row);
  }
  if (options.forced_last_id && new_tokens == options.max_new_tokens - 1) {
    Force(*options.forced_last_id, &row);
  }
  return row;
}

bool Stops(const DecodingOptions& options, size_t prefix_size,
           const StopMatcher* stop, const std::vector<int32_t>& history,
           FinishReason* reason) {
  const std::vector<int32_t> ids(history.begin() + prefix_size, history.end());
  const bool cut = options.forced_last_id &&
                   static_cast<int>(ids.size()) == options.max_new_tokens;
  *reason = cut ? FinishReason::kLength : FinishReason::kEnd;
  if (Contains(options.end_ids, ids.back())) return true;
  *reason = cut ? FinishReason::kLength : FinishReason::kStop;
  if (Contains(options.stop_ids, ids.back())) return true;
  *reason = FinishReason::kStop;
  if (stop != nullptr && stop->Matches(ids)) return true;
  *reason = FinishReason::kLength;
  return static_cast<int>(ids.size()) == options.max_new_tokens;
}

// torch.topk with the project's tie rule: the lower index first.
std::vector<size_t> TopK(const std::vector<double>& values, size_t k) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] > values[b]; });
  order.resize(std::min(k, order.size()));
  return order;
}

Row ToRow(const std::vector<float>& logits) {
  return Row(logits.begin(), logits.end());
}

// TypicalLogitsWarper: sets the weights that it removes to 0.
void KeepTypical(double mass, Row* probabilities) {
  Row& p = *probabilities;
  const double total = std::accumulate(p.begin(), p.end(), 0.0);
  double entropy = 0;
  for (const double x : p) {
    if (x > 0) entropy -= x / total * std::log(x / total);
  }
  Row shifted;
  for (const double x : p) {
    shifted.push_back(x > 0 ? -std::abs(-std::log(x / total) - entropy)
                            : -kInfinity);
  }
  double cumulative = 0, last = 0;
  for (const size_t token : TopK(shifted, shifted.size())) {
    if (cumulative < mass) last = shifted[token];
    cumulative += p[token] / total;
  }
  for (size_t token = 0; token < p.size(); ++token) {
    if (shifted[token] < last) p[token] = 0;
  }
}

struct Beam {
  std::vector<int32_t> sequence;
  double score = kPlaceholder;  // running: sum; finished: divided by length
  double sum = 0;
  std::vector<float> logprobs;
  bool finished = false;
  FinishReason reason = FinishReason::kLength;
};

}  // namespace

ReferenceResult ReferenceBeamSearch(const DecodingOptions& options,
                                    const std::vector<int32_t>& prefix,
                                    const StopMatcher* stop,
                                    const ToyModel& model) {
  const size_t num_beams = options.beam_size;
  const size_t beams_to_keep =
      std::max<size_t>(2,
                       1 + options.end_ids.size() + options.stop_ids.size()) *
      num_beams;
  const size_t vocabulary = model.vocabulary;
  const bool at_once = options.early_stopping == EarlyStopping::kAtOnce;
  const auto power = [&](int length) {
    return std::pow(length, static_cast<double>(options.length_penalty));
  };
  ReferenceResult result;

  Beam placeholder;
  placeholder.sequence = prefix;
  std::vector<Beam> running(num_beams, placeholder);
  running[0].score = 0;
  std::vector<Beam> finished(num_beams, placeholder);
  for (int generated = 0;; ++generated) {
    std::vector<double> accumulated;
    std::vector<Row> log_probs;
    for (const Beam& beam : running) {
      Row row = LogSoftmax(ToRow(model.Logits(beam.sequence)));
      row = Process(options, prefix.size(), beam.sequence, row);
      if (*std::max_element(row.begin(), row.end()) == -kInfinity) {
        // No token is possible, and log_softmax of that is NaN.
        result.placeholders = true;
        return result;
      }
      if (options.renormalize_logits) row = LogSoftmax(row);
      log_probs.push_back(row);
      for (const double x : row) accumulated.push_back(x + beam.score);
    }

    std::vector<Beam> top;
    for (const size_t index : TopK(accumulated, beams_to_keep)) {
      Beam beam = running[index / vocabulary];
      const int32_t token = static_cast<int32_t>(index % vocabulary);
      beam.sequence.push_back(token);
      beam.logprobs.push_back(
          static_cast<float>(log_probs[index / vocabulary][token]));
      beam.score = beam.sum = accumulated[index];
      beam.finished =
          Stops(options, prefix.size(), stop, beam.sequence, &beam.reason);
      top.push_back(beam);
    }

    std::vector<double> running_scores, merged_scores;
    for (const Beam& beam : finished) merged_scores.push_back(beam.score);
    std::vector<Beam> merged = finished;
    for (size_t i = 0; i < top.size(); ++i) {
      running_scores.push_back(top[i].score +
                               (top[i].finished ? kPlaceholder : 0));
      Beam beam = top[i];
      beam.finished = beam.finished && i < num_beams;
      beam.score =
          beam.sum / power(generated + 1) + (beam.finished ? 0 : kPlaceholder);
      merged.push_back(beam);
      merged_scores.push_back(beam.score);
    }
    running.clear();
    for (const size_t index : TopK(running_scores, num_beams)) {
      running.push_back(top[index]);
      running.back().score = running_scores[index];
    }
    finished.clear();
    for (const size_t index : TopK(merged_scores, num_beams)) {
      finished.push_back(merged[index]);
    }
    const auto all_stopped = std::all_of(
        top.begin(), top.end(), [](const Beam& beam) { return beam.finished; });
    for (const Beam& beam : finished) {
      if (beam.finished && beam.sum < kPlaceholder / 2) {
        result.placeholders = true;
      }
    }
    for (const Beam& beam : running) {
      // The first forced token leaves one real hypothesis, which displaces the
      // placeholders in the next step. Elsewhere they may matter.
      if (!all_stopped && beam.score < kPlaceholder / 2 &&
          !(generated == 0 && options.forced_first_id)) {
        result.placeholders = true;
      }
    }

    const int length = generated + 1;
    const bool longest = options.early_stopping == EarlyStopping::kNever &&
                         options.length_penalty > 0;
    const double best_possible =
        running[0].score / power(longest ? options.max_new_tokens : length);
    bool improvement_possible = false;
    bool all_finished = true;
    for (const Beam& beam : finished) {
      const double worst = beam.finished ? finished.back().score : kPlaceholder;
      improvement_possible = improvement_possible || best_possible > worst;
      all_finished = all_finished && beam.finished;
    }
    if (!improvement_possible || (all_finished && at_once) || all_stopped) {
      break;
    }
  }
  for (int i = 0; i < options.hypotheses; ++i) {
    const Beam& beam = finished[i];
    if (!beam.finished) break;
    Hypothesis hypothesis;
    hypothesis.ids.assign(beam.sequence.begin() + prefix.size(),
                          beam.sequence.end());
    hypothesis.log_probability = static_cast<float>(beam.sum);
    hypothesis.score = static_cast<float>(beam.score);
    hypothesis.reason = beam.reason;
    hypothesis.logprobs = beam.logprobs;
    result.hypotheses.push_back(hypothesis);
  }
  return result;
}

ReferenceResult ReferenceSample(const DecodingOptions& options,
                                const std::vector<int32_t>& prefix,
                                const StopMatcher* stop,
                                const ToyModel& model) {
  ReferenceResult result;
  for (int draw = 0; draw < options.hypotheses; ++draw) {
    std::vector<int32_t> history = prefix;
    Hypothesis hypothesis;
    double sum = 0;
    do {
      const Row scores = Process(options, prefix.size(), history,
                                 ToRow(model.Logits(history)));
      const Row log_probs = LogSoftmax(scores);
      std::vector<size_t> order = TopK(scores, scores.size());
      if (options.sample) {
        if (options.top_k > 0) order = TopK(scores, options.top_k);
        Row warped(scores.size(), -kInfinity);
        for (const size_t token : order) {
          warped[token] = scores[token] / options.temperature;
        }
        Row probabilities = LogSoftmax(warped);
        for (double& p : probabilities) p = std::exp(p);
        // A token stays while the sum of the better ones is below top_p.
        double better = 0, kept = 0;
        for (const size_t token : order) {
          const double p = probabilities[token];
          if (options.top_p < 1 && kept > 0 && better >= options.top_p) {
            probabilities[token] = 0;
          }
          better += p;
          kept += probabilities[token];
        }
        const double largest =
            *std::max_element(probabilities.begin(), probabilities.end());
        for (double& p : probabilities) {
          if (p < options.min_p * largest) p = 0;
        }
        if (options.typical_p < 1) {
          KeepTypical(options.typical_p, &probabilities);
        }
        kept = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
        // All tokens are drawn in the order of ids, a selection by rank.
        if (options.top_k == 0 && options.top_p == 1 &&
            options.typical_p == 1) {
          std::sort(order.begin(), order.end());
        }
        const double uniform =
            UniformAt(options.seed, draw,
                      static_cast<uint32_t>(history.size() - prefix.size()));
        double cumulative = 0;
        size_t chosen = order[0];
        for (const size_t token : order) {
          cumulative += probabilities[token] / kept;
          if (probabilities[token] > 0) chosen = token;
          if (cumulative > uniform) break;
        }
        order = {chosen};
      }
      history.push_back(static_cast<int32_t>(order[0]));
      sum += log_probs[order[0]];
      hypothesis.logprobs.push_back(static_cast<float>(log_probs[order[0]]));
    } while (!Stops(options, prefix.size(), stop, history, &hypothesis.reason));
    hypothesis.ids.assign(history.begin() + prefix.size(), history.end());
    hypothesis.log_probability = static_cast<float>(sum);
    hypothesis.score = static_cast<float>(
        sum / std::pow(static_cast<double>(hypothesis.ids.size()),
                       static_cast<double>(options.length_penalty)));
    result.hypotheses.push_back(hypothesis);
  }
  return result;
}

}  // namespace trivium
