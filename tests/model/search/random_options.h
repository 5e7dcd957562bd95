#ifndef TRIVIUM_TESTS_MODEL_SEARCH_RANDOM_OPTIONS_H_
#define TRIVIUM_TESTS_MODEL_SEARCH_RANDOM_OPTIONS_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/model/search/toy_model.h"

namespace trivium {

// A random search problem; every rule is active in some of them.
struct RandomCase {
  explicit RandomCase(uint64_t seed, bool ties = false) : random(seed) {
    model.seed = seed;
    model.vocabulary = Int(12, 40);
    model.spread = static_cast<float>(Int(1, 6));
    if (ties) model.quantum = 0.5f;
    const int ends = Int(0, 3);
    for (int i = 0; i < ends; ++i) {
      const int32_t id = Token();
      if (std::find(options.end_ids.begin(), options.end_ids.end(), id) ==
          options.end_ids.end()) {
        options.end_ids.push_back(id);
      }
    }
    if (!options.end_ids.empty() && Int(0, 1)) {
      model.favoured = options.end_ids[0];
      model.favour = static_cast<float>(Int(1, 5));
    }
    options.max_new_tokens = Int(1, 12);
    if (Int(0, 3) == 0) {
      options.min_new_tokens = Int(0, options.max_new_tokens);
    }
    const float penalties[] = {1.0f, 0.0f, 0.6f, 2.0f, -1.0f};
    options.length_penalty = penalties[Int(0, 4)];
    if (Int(0, 2) == 0) options.repetition_penalty = Int(0, 1) ? 1.3f : 0.7f;
    if (Int(0, 2) == 0) options.no_repeat_ngram_size = Int(1, 3);
    // Multiples of the quantum, added to some tokens, would make ties that
    // rounding decides: (a - x) + b and (a + b) - x.
    const float odd = ties ? 0.0371f : 0.0f;
    if (Int(0, 3) == 0) options.frequency_penalty = Int(-4, 4) / 4.0f + odd;
    if (Int(0, 3) == 0) options.presence_penalty = Int(-4, 4) / 4.0f + 3 * odd;
    if (Int(0, 3) == 0) options.penalty_window = Int(1, 6);
    if (Int(0, 3) == 0) {
      for (int32_t id = Token(); id < model.vocabulary; id += Int(1, 9)) {
        options.logit_bias.push_back({id, Int(-8, 8) / 2.0f + 7 * odd});
      }
    }
    if (Int(0, 4) == 0) options.stop_ids = {Token()};
    const int banned = Int(0, 3);
    for (int i = 0; i < banned; ++i) {
      std::vector<int32_t> sequence(Int(1, 3));
      for (int32_t& token : sequence) token = Token();
      options.banned_sequences.push_back(sequence);
    }
    if (Int(0, 5) == 0) options.forced_first_id = Token();
    if (Int(0, 5) == 0) options.forced_last_id = Token();
    if (Int(0, 3) == 0) {
      options.end_growth_start = Int(0, 6);
      options.end_growth = ties ? 1.13f : (Int(0, 1) ? 1.6f : 0.7f);
    }
    prefix.resize(Int(1, 4));
    for (int32_t& token : prefix) token = Token();
    if (Int(0, 5) == 0) options.suppressed_ids = {Token(), Token()};
    if (Int(0, 5) == 0) options.first_suppressed_ids = {Token(), Token()};
    // Only a few tokens, so that a text is likely to repeat them.
    options.source_ids.resize(Int(1, 6));
    for (int32_t& token : options.source_ids) token = Int(0, 7);
    if (Int(0, 3) == 0) options.source_ngram_size = Int(1, 3);
    if (Int(0, 3) == 0) {
      options.source_bonus = ties ? 1.17f : (Int(0, 1) ? 1.5f : 0.8f);
    }
  }

  int Int(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  }
  int32_t Token() { return Int(0, model.vocabulary - 1); }

  std::mt19937_64 random;
  ToyModel model;
  DecodingOptions options;
  std::vector<int32_t> prefix;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_MODEL_SEARCH_RANDOM_OPTIONS_H_
