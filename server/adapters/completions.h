#ifndef TRIVIUM_SERVER_ADAPTERS_COMPLETIONS_H_
#define TRIVIUM_SERVER_ADAPTERS_COMPLETIONS_H_

#include "server/calls/handlers.h"

namespace trivium {

// Several prompts at once: reads internal.Completions and makes a Generate call
// of each of its requests, all at the same time. Their responses come as they
// are made, with index = prompt * num_hypotheses + index of the hypothesis. The
// first error ends all of them and becomes the call's status. A client that
// takes nothing for `stall_timeout` ends them, too: only the response being
// written counts, never how long a prompt waits for the others.
decltype(NewGenerate) NewCompletions;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_COMPLETIONS_H_
