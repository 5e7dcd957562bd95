#ifndef TRIVIUM_MODEL_ENGINE_LIMITS_H_
#define TRIVIUM_MODEL_ENGINE_LIMITS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace trivium {

// What a scheduler lets a hypothesis read in one step, for EngineLimits to
// bound what the hypothesis holds.
inline constexpr int kMostStepTokens = 256;

// Sizes that a scheduler plans with; constant for an engine's life.
struct EngineLimits {
  // Decoder layers in which a token sees so many tokens before its own.
  struct Window {
    int look_back = std::numeric_limits<int>::max();  // all
    int blocks = 1;  // that hold block_tokens tokens in these layers
  };

  int encoder_layers = 0;     // 0: no encoder
  int decoder_layers = 0;     // 0: no decoder
  int vocabulary = 0;         // of the decoder's output
  int max_source_tokens = 0;  // positions of the encoder
  int max_target_tokens = 0;  // positions of the decoder, prefix included
  int type_vocabulary = 0;    // segments that the encoder knows; 0: none
  int pooled_size = 0;        // of the pooler's output; 0: no pooler
  int head_outputs = 0;       // of the head, for each token or for all; 0: none
  int block_tokens = 16;      // tokens of a KV block
  int total_blocks = 0;       // KV blocks of this engine
  int64_t block_bytes = 0;    // of each
  std::vector<Window> windows = {Window()};

  // Blocks of a source's cross-attention.
  int64_t SourceBlocks(int64_t tokens) const {
    int64_t blocks = 0;
    for (const Window& window : windows) {
      blocks += window.blocks * FullBlocks(tokens);
    }
    return blocks;
  }

  // Blocks that a hypothesis holds at most until it has read `tokens`. In a
  // window, these are of what its next token sees, of what a step reads, and of
  // what the step before it read, which may yet be taken back; n tokens lie in
  // at most (n - 2) / block_tokens + 2 blocks.
  int64_t HypothesisBlocks(int64_t tokens) const {
    int64_t blocks = 0;
    for (const Window& window : windows) {
      const int64_t held = int64_t{window.look_back} + 2 * kMostStepTokens;
      blocks += window.blocks *
                std::min(FullBlocks(tokens), (held - 2) / block_tokens + 2);
    }
    return blocks;
  }

  // The longest hypothesis, within max_target_tokens, that never holds more.
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
