#ifndef TRIVIUM_SERVER_HANDLERS_EARLY_REFUSAL_H_
#define TRIVIUM_SERVER_HANDLERS_EARLY_REFUSAL_H_

#include <optional>

#include "server/handlers/call_context.h"
#include "server/handlers/environment.h"
#include "server/handlers/transport.h"

namespace trivium {

// How a call ends of which no more is known than its method and its context,
// where it would be refused whatever it asks: no model could answer it in time,
// as far as the batcher foresees. So a transport may save the work of handling
// it; it is counted and logged as any other. Nothing: make its handler.
std::optional<Ending> RefuseEarly(const Environment& environment, Rpc rpc,
                                  CallContext context);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_HANDLERS_EARLY_REFUSAL_H_
