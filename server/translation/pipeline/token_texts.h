#ifndef TRIVIUM_SERVER_TRANSLATION_PIPELINE_TOKEN_TEXTS_H_
#define TRIVIUM_SERVER_TRANSLATION_PIPELINE_TOKEN_TEXTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/tokenizer/tokenizer.h"
#include "server/translation/sentences.h"

namespace trivium {

// Returns the ids without the stop id at their end, if there is one: it is not
// part of the text.
std::span<const int32_t> WithoutStopId(std::span<const int32_t> ids,
                                       std::span<const int32_t> stop_ids);

// Returns [ids] the bytes of the text that each token stands for; empty for a
// token that stands for none. Tokens that form one character together all have
// its bytes.
std::vector<TextSpan> SpansOfTokens(std::span<const int32_t> ids,
                                    const Tokenizer& tokenizer);

// Returns the text of a hypothesis, cut before a stop id and before the first
// stop string.
std::string TextOfTokens(std::span<const int32_t> ids,
                         std::span<const int32_t> stop_ids,
                         std::span<const std::string> stop,
                         const Tokenizer& tokenizer);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSLATION_PIPELINE_TOKEN_TEXTS_H_
