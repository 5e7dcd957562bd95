#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_TOKEN_TEXTS_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_TOKEN_TEXTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/tokenizer/tokenizer.h"
#include "server/translation/sentences.h"

namespace trivium {

// The ids of a text without the stop id that ends it, if any: a stop id is no
// part of the text.
std::span<const int32_t> WithoutStopId(std::span<const int32_t> ids,
                                       std::span<const int32_t> stop_ids);

// [ids]: the bytes of the text that each token stands for; empty for a token
// that stands for none. Tokens that form a character together all have its
// bytes.
std::vector<TextSpan> SpansOfTokens(std::span<const int32_t> ids,
                                    const Tokenizer& tokenizer);

// The text of a hypothesis, cut before a stop id and the first stop string.
std::string TextOfTokens(std::span<const int32_t> ids,
                         std::span<const int32_t> stop_ids,
                         std::span<const std::string> stop,
                         const Tokenizer& tokenizer);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_TOKEN_TEXTS_H_
