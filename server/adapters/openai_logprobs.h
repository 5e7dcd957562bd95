#ifndef TRIVIUM_SERVER_ADAPTERS_OPENAI_LOGPROBS_H_
#define TRIVIUM_SERVER_ADAPTERS_OPENAI_LOGPROBS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "model/tokenizer/token_bytes.h"
#include "nlohmann/json.hpp"
#include "trivium/v1/common.pb.h"

namespace trivium {

// Writes log-probabilities in the two shapes of OpenAI's API, and vLLM's shape
// of a prompt's. A token is the
// text that it adds (TokenBytes); bytes that form no characters are written as
// \xE2\x82, in completions of texts after "bytes:".
class OpenAiLogprobs {
 public:
  // `tokenizer` null: tokens are spelled as in the vocabulary. `shown`: the
  // alternatives to show of each token.
  OpenAiLogprobs(const Tokenizer* tokenizer, int shown);

  nlohmann::ordered_json OfChat(
      std::span<const v1::TokenLogprobs> tokens) const;

  // A place in the text of a completion.
  struct Place {
    size_t characters = 0;
    // The text's first token loses its space, as decoders do it.
    bool drops_space = false;
  };
  // `first` is a prompt's first token, which has no probability. Moves `place`
  // behind the tokens.
  nlohmann::ordered_json OfText(std::optional<int32_t> first,
                                std::span<const v1::TokenLogprobs> tokens,
                                Place* place) const;

  // vLLM's `prompt_logprobs`: of each token an object of ids, the token's own
  // and those of its alternatives; null for the first, which has nothing before
  // it. `tokens` are the others.
  nlohmann::ordered_json OfPrompt(
      std::span<const v1::TokenLogprobs> tokens) const;

 private:
  // `rank` 0: not known, as the token is none of the best.
  nlohmann::ordered_json PromptEntry(const v1::TokenLogprob& token,
                                     int rank) const;
  TokenBytes::Bytes BytesOf(const v1::TokenLogprob& token) const;
  int Shown(const v1::TokenLogprobs& token) const;
  nlohmann::ordered_json ChatEntry(const v1::TokenLogprob& token) const;

  std::optional<TokenBytes> bytes_;
  const int shown_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_OPENAI_LOGPROBS_H_
