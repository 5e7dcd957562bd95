#ifndef TRIVIUM_MODEL_ENGINE_LIMITS_H_
#define TRIVIUM_MODEL_ENGINE_LIMITS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace trivium {

// The most tokens that a scheduler lets a hypothesis read in one step, so that
// EngineLimits can bound what the hypothesis holds.
inline constexpr int kMostStepTokens = 256;

// Sizes that a scheduler plans with; constant for an engine's life.
struct EngineLimits {
  // Decoder layers that share a limit on how far back a token sees.
  struct Window {
    // Tokens before its own; all by default.
    int look_back = std::numeric_limits<int>::max();
    int blocks = 1;  // blocks that hold block_tokens tokens in these layers
  };

  int encoder_layers = 0;     // 0: no encoder
  int decoder_layers = 0;     // 0: no decoder
  int vocabulary = 0;         // size of the decoder's output
  int max_source_tokens = 0;  // positions of the encoder
  int max_target_tokens = 0;  // positions of the decoder, prefix included
  int type_vocabulary = 0;    // segments that the encoder knows; 0: none
  int pooled_size = 0;        // size of the pooler's output; 0: no pooler
  int head_outputs = 0;       // of the head, for each token or for all; 0: none
  int sparse_size = 0;        // vocabulary of sparse embeddings; 0: none
  int block_tokens = 16;      // tokens in a KV block
  int total_blocks = 0;       // KV blocks of this engine
  int64_t block_bytes = 0;    // bytes of each block
  // Blocks of a hypothesis's states, however long it is; 0: no layer has a
  // state. Engine::Truncate cannot take back what a state has read, and layers
  // with states have no attention maps.
  int64_t state_blocks = 0;
  std::vector<Window> windows = {Window()};

  // Returns the blocks of a source's cross-attention.
  int64_t SourceBlocks(int64_t tokens) const {
    int64_t blocks = 0;
    for (const Window& window : windows) {
      blocks += window.blocks * FullBlocks(tokens);
    }
    return blocks;
  }

  // Returns the most blocks that a hypothesis holds until it has read `tokens`.
  // In a window it holds the tokens that its next token sees, the tokens of the
  // current step, and those of the step before, which Truncate may still
  // remove. n tokens lie in at most (n - 2) / block_tokens + 2 blocks.
  int64_t HypothesisBlocks(int64_t tokens) const {
    int64_t blocks = tokens > 0 ? state_blocks : 0;
    for (const Window& window : windows) {
      const int64_t held = int64_t{window.look_back} + 2 * kMostStepTokens;
      blocks += window.blocks *
                std::min(FullBlocks(tokens), (held - 2) / block_tokens + 2);
    }
    return blocks;
  }

  // Returns the length of the longest hypothesis, within max_target_tokens,
  // that never holds more than `blocks`.
  int64_t TokensIn(int64_t blocks) const {
    int64_t fit = 0;
    for (int64_t most = max_target_tokens; fit < most;) {
      const int64_t tokens = (fit + most + 1) / 2;
      if (HypothesisBlocks(tokens) <= blocks) {
        fit = tokens;
      } else {
        most = tokens - 1;
      }
    }
    return fit;
  }

 private:
  int64_t FullBlocks(int64_t tokens) const {
    return (tokens + block_tokens - 1) / block_tokens;
  }
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_ENGINE_LIMITS_H_
