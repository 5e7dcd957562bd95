#ifndef TRIVIUM_TESTS_SUPPORT_PUPPET_NUMBERS_H_
#define TRIVIUM_TESTS_SUPPORT_PUPPET_NUMBERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/logits.h"

namespace trivium {

// The numbers that a puppet engine gives in place of a model's. All are hashes
// of (source, tokens read, place), so that a hypothesis with a wrong history
// shows at once, and lie in [-4, 4), in steps that leave room for ties.

// The hash of what was read before, `hash`, and what is read now.
uint64_t PuppetMix(uint64_t hash, uint64_t value);

// `count` numbers of their own for each hash.
std::vector<float> PuppetFloats(uint64_t hash, size_t count);

// A row of logits; it owns what the LogitsRow points to.
class PuppetLogits {
 public:
  struct Options {
    int vocabulary;
    // Added to token `end_id`'s logit.
    int32_t end_id;
    float end_bias;
  };

  // What `query` asks for of the logits after what `hash` has read; once.
  LogitsRow Select(uint64_t hash, const LogitsQuery& query,
                   const Options& options);

 private:
  std::vector<Candidate> best_;
  std::vector<float> watched_, all_;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SUPPORT_PUPPET_NUMBERS_H_
