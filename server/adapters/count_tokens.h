#ifndef TRIVIUM_SERVER_ADAPTERS_COUNT_TOKENS_H_
#define TRIVIUM_SERVER_ADAPTERS_COUNT_TOKENS_H_

#include "server/calls/handlers.h"

namespace trivium {

// Counts the tokens of a prompt: reads a v1.GenerateRequest and makes its
// prompt as Generate would, without asking the model. The response is a
// v1.Usage whose prompt_tokens are those that Generate's would be.
NewHandler NewCountTokens;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_COUNT_TOKENS_H_
