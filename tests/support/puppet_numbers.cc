#include "tests/support/puppet_numbers.h"

#include <algorithm>
#include <cmath>

namespace trivium {
namespace {

float ToLogit(uint64_t hash) {
  return static_cast<float>(hash % 4096) / 512 - 4;
}

}  // namespace

// splitmix64 of a combination.
uint64_t PuppetMix(uint64_t hash, uint64_t value) {
  uint64_t z = hash * 0x9e3779b97f4a7c15u + value + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::vector<float> PuppetFloats(uint64_t hash, size_t count) {
  std::vector<float> floats(count);
  for (size_t i = 0; i < count; ++i) floats[i] = ToLogit(PuppetMix(hash, i));
  return floats;
}

LogitsRow PuppetLogits::Select(uint64_t hash, const LogitsQuery& query,
                               const Options& options) {
  double rest = 0;
  for (int32_t token = 0; token < options.vocabulary; ++token) {
    float logit = ToLogit(PuppetMix(hash, token + 1000));
    if (token == options.end_id) logit += options.end_bias;
    if (query.all) all_.push_back(logit);
    if (std::binary_search(query.watched.begin(), query.watched.end(), token)) {
      watched_.push_back(logit);
    } else {
      rest += std::exp(static_cast<double>(logit));
      best_.push_back({token, logit});
    }
  }
  const size_t kept = std::min<size_t>(query.top_k, best_.size());
  std::partial_sort(best_.begin(), best_.begin() + kept, best_.end(),
                    [](const Candidate& a, const Candidate& b) {
                      return a.logit != b.logit ? a.logit > b.logit
                                                : a.token < b.token;
                    });
  best_.resize(kept);
  return {.best = best_,
          .rest_log_sum_exp = static_cast<float>(std::log(rest)),
          .watched = watched_,
          .all = all_};
}

}  // namespace trivium
