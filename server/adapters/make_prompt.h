#ifndef TRIVIUM_SERVER_ADAPTERS_MAKE_PROMPT_H_
#define TRIVIUM_SERVER_ADAPTERS_MAKE_PROMPT_H_

#include "server/calls/handlers.h"

namespace trivium {

// Reads a v1.GenerateRequest and makes its prompt as Generate would, without
// asking the model. The response is an internal.Prompt.
NewHandler NewMakePrompt;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_MAKE_PROMPT_H_
