#ifndef TRIVIUM_TESTS_MODEL_SEARCH_TOY_MODEL_H_
#define TRIVIUM_TESTS_MODEL_SEARCH_TOY_MODEL_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "gtest/gtest.h"
#include "model/search/decoding.h"

namespace trivium {

// A "model" whose logits are a hash of the tokens before them.
struct ToyModel {
  int vocabulary = 20;
  uint64_t seed = 1;
  float spread = 4;       // logits lie in [-spread, spread)
  float quantum = 0;      // if set, logits are multiples of it: ties
  int32_t favoured = -1;  // a token (an end) whose logit is raised...
  float favour = 0;       // ...by this
  // If not empty, logits are the row of the last token instead.
  std::vector<std::vector<float>> table = {};

  std::vector<float> Logits(std::span<const int32_t> history) const {
    if (!table.empty()) return table[history.back()];
    uint64_t hash = seed * 0x9E3779B97F4A7C15 + 1;
    for (const int32_t token : history) {
      hash = (hash ^ static_cast<uint64_t>(token + 1)) * 0xD1342543DE82EF95;
      hash ^= hash >> 29;
    }
    std::mt19937_64 random(hash);
    std::uniform_real_distribution<float> uniform(-spread, spread);
    std::vector<float> logits(vocabulary);
    for (float& logit : logits) {
      logit = uniform(random);
      if (quantum > 0) logit = std::round(logit / quantum) * quantum;
    }
    if (favoured >= 0) logits[favoured] += favour;
    return logits;
  }
};

// Answers a query from a full row, as an engine must.
class RowAnswer {
 public:
  RowAnswer(std::vector<float> logits, const LogitsQuery& query)
      : all_(std::move(logits)) {
    const int vocabulary = static_cast<int>(all_.size());
    std::vector<bool> is_watched(vocabulary, false);
    for (const int32_t token : query.watched) {
      EXPECT_TRUE(token >= 0 && token < vocabulary) << token;
      EXPECT_FALSE(is_watched[token]) << "watched twice: " << token;
      is_watched[token] = true;
      watched_.push_back(all_[token]);
    }
    EXPECT_TRUE(std::is_sorted(query.watched.begin(), query.watched.end()));
    EXPECT_GE(query.top_k, 0);
    EXPECT_LE(query.top_k, 1024);
    double sum = 0;
    for (int token = 0; token < vocabulary; ++token) {
      if (is_watched[token]) continue;
      best_.push_back({token, all_[token]});
      sum += std::exp(static_cast<double>(all_[token]));
    }
    std::sort(
        best_.begin(), best_.end(), [](const Candidate& a, const Candidate& b) {
          return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
        });
    if (best_.size() > static_cast<size_t>(query.top_k)) {
      best_.resize(query.top_k);
    }
    row_.best = best_;
    row_.rest_log_sum_exp = static_cast<float>(std::log(sum));
    row_.watched = watched_;
    if (query.all) row_.all = all_;
  }
  RowAnswer(const RowAnswer&) = delete;
  RowAnswer& operator=(const RowAnswer&) = delete;

  const LogitsRow& row() const { return row_; }

 private:
  std::vector<float> all_;
  std::vector<float> watched_;
  std::vector<Candidate> best_;
  LogitsRow row_;
};

// Advances a search by one step. `live` has the tokens of its hypotheses.
inline void StepSearch(Decoding* decoding, const ToyModel& model,
                       std::vector<std::vector<int32_t>>* live) {
  std::vector<std::unique_ptr<RowAnswer>> answers;
  std::vector<LogitsRow> rows;
  for (size_t i = 0; i < live->size(); ++i) {
    answers.push_back(std::make_unique<RowAnswer>(model.Logits((*live)[i]),
                                                  decoding->queries()[i]));
    rows.push_back(answers.back()->row());
  }
  decoding->Advance(rows);
  std::vector<std::vector<int32_t>> next;
  for (const Decoding::Continuation& continuation : decoding->continuations()) {
    next.push_back(live->at(continuation.parent));
    next.back().push_back(continuation.token);
  }
  *live = std::move(next);
}

// Runs a search with the toy model. Checks after every step what the interface
// promises of continuations and certain tokens.
inline std::vector<Hypothesis> RunSearch(const DecodingOptions& options,
                                         const std::vector<int32_t>& prefix,
                                         const StopMatcher* stop,
                                         const ToyModel& model) {
  auto created = Decoding::Create(options, prefix, stop);
  EXPECT_TRUE(created.ok()) << created.status();
  if (!created.ok()) return {};
  Decoding& decoding = **created;
  std::vector<std::vector<int32_t>> live = {prefix};
  std::vector<std::vector<int32_t>> certain(options.hypotheses);
  int steps = 0;
  while (!decoding.done()) {
    EXPECT_EQ(decoding.queries().size(), live.size());
    StepSearch(&decoding, model, &live);
    EXPECT_EQ(live.empty(), decoding.done());
    for (int i = 0; i < options.hypotheses; ++i) {
      const auto tokens = decoding.CertainTokens(i);
      EXPECT_EQ(decoding.CertainLogprobs(i).size(), tokens.size());
      EXPECT_GE(tokens.size(), certain[i].size());
      EXPECT_TRUE(
          std::equal(certain[i].begin(), certain[i].end(), tokens.begin()));
      certain[i].assign(tokens.begin(), tokens.end());
    }
    if (++steps > options.max_new_tokens) {
      ADD_FAILURE() << "more steps than max_new_tokens";
      return {};
    }
  }
  EXPECT_TRUE(decoding.queries().empty());
  std::vector<Hypothesis> results = decoding.TakeResults();
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_TRUE(decoding.Ended(static_cast<int>(i)));
    EXPECT_EQ(results[i].ids, certain[i]);
    EXPECT_EQ(results[i].logprobs.size(), results[i].ids.size());
    EXPECT_EQ(results[i].top_logprobs.size(),
              options.top_logprobs > 0 ? results[i].ids.size() : 0);
  }
  return results;
}

// Ends a hypothesis if its tokens contain `sequence`.
class SequenceMatcher : public StopMatcher {
 public:
  explicit SequenceMatcher(std::vector<int32_t> sequence)
      : sequence_(std::move(sequence)) {}
  bool Matches(std::span<const int32_t> ids) const override {
    return std::search(ids.begin(), ids.end(), sequence_.begin(),
                       sequence_.end()) != ids.end();
  }

 private:
  const std::vector<int32_t> sequence_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_MODEL_SEARCH_TOY_MODEL_H_
