// Each warper keeps a part of the tokens that are left. With w = exp(logprob /
// temperature) of each of these tokens, it keeps:
//
//   top_p      the fewest best ones whose w reach top_p of the sum
//   min_p      those with w >= min_p * the largest w
//   typical_p  with p = w / sum and H = -sum(p log p): by |-log p - H|, the
//              fewest nearest ones whose p reach typical_p (Meister et al.,
//              "Locally Typical Sampling", 2022), and all that are as near as
//              the last of them
#include "model/search/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trivium {
namespace {

// Sorts tokens only as far as they are read: few tokens carry nearly all the
// weight, so a full sort is rarely needed.
template <typename Less>
class SortedTokens {
 public:
  SortedTokens(std::vector<ScoredToken>* tokens, Less less)
      : tokens_(*tokens), less_(less) {}

  const ScoredToken& operator[](size_t i) {
    if (i == sorted_) {
      const size_t end =
          std::min(tokens_.size(), std::max<size_t>(64, sorted_ * 8));
      std::partial_sort(tokens_.begin() + sorted_, tokens_.begin() + end,
                        tokens_.end(), less_);
      sorted_ = end;
    }
    return tokens_[i];
  }

 private:
  std::vector<ScoredToken>& tokens_;
  const Less less_;
  size_t sorted_ = 0;
};

// A distribution while the warpers remove tokens from it.
class Distribution {
 public:
  Distribution(double temperature, std::vector<ScoredToken>* tokens)
      : temperature_(temperature), tokens_(*tokens) {
    for (const ScoredToken& token : tokens_) {
      largest_ = std::max(largest_, token.logprob);
    }
  }

  void KeepTopP(double share) {
    SortedTokens sorted(&tokens_, Better);
    tokens_.resize(CountReaching(share * Total(), &sorted));
  }

  void KeepMinP(double share) {
    std::erase_if(tokens_, [&](const ScoredToken& token) {
      return Weight(token) < share;  // the largest weight is 1
    });
  }

  void KeepTypicalP(double share) {
    const double total = Total();
    const double log_total = std::log(total);
    const auto surprise = [&](const ScoredToken& token) {
      return log_total - (token.logprob - largest_) / temperature_;
    };
    double entropy = 0;
    for (const ScoredToken& token : tokens_) {
      const double p = Weight(token) / total;
      if (p > 0) entropy += p * surprise(token);
    }
    const auto distance = [&](const ScoredToken& token) {
      return std::abs(surprise(token) - entropy);
    };
    SortedTokens sorted(&tokens_,
                        [&](const ScoredToken& a, const ScoredToken& b) {
                          const double of_a = distance(a), of_b = distance(b);
                          return of_a != of_b ? of_a < of_b : Better(a, b);
                        });
    size_t kept = CountReaching(share * total, &sorted);
    const double farthest = distance(tokens_[kept - 1]);
    while (kept < tokens_.size() && distance(sorted[kept]) <= farthest) ++kept;
    tokens_.resize(kept);
    // Draws go by descending probability, whatever was cut.
    std::sort(tokens_.begin(), tokens_.end(), Better);
  }

  ScoredToken At(double uniform) const {
    const double total = Total();
    double sum = 0;
    // The last token with a weight, in case rounding puts `uniform` beyond the
    // sum.
    size_t last = 0;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const double weight = Weight(tokens_[i]);
      sum += weight;
      if (sum > uniform * total) return tokens_[i];
      if (weight > 0) last = i;
    }
    return tokens_[last];
  }

 private:
  double Weight(const ScoredToken& token) const {
    return std::exp((token.logprob - largest_) / temperature_);
  }

  double Total() const {
    double total = 0;
    for (const ScoredToken& token : tokens_) total += Weight(token);
    return total;
  }

  // Returns how many leading tokens reach the weight; at least one.
  template <typename Sorted>
  size_t CountReaching(double weight, Sorted* sorted) const {
    size_t count = 0;
    double sum = 0;
    while (count < tokens_.size() && (count == 0 || sum < weight)) {
      sum += Weight((*sorted)[count++]);
    }
    return count;
  }

  const double temperature_;
  std::vector<ScoredToken>& tokens_;
  double largest_ = -std::numeric_limits<double>::infinity();
};

}  // namespace

ScoredToken DrawToken(const DecodingOptions& options, double uniform,
                      std::vector<ScoredToken>* tokens) {
  Distribution distribution(options.temperature, tokens);
  if (options.top_p < 1) distribution.KeepTopP(options.top_p);
  if (options.min_p > 0) distribution.KeepMinP(options.min_p);
  if (options.typical_p < 1) distribution.KeepTypicalP(options.typical_p);
  return distribution.At(uniform);
}

}  // namespace trivium
