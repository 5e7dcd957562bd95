#ifndef TRIVIUM_SERVER_BATCHING_SOURCE_SHARING_H_
#define TRIVIUM_SERVER_BATCHING_SOURCE_SHARING_H_

#include <cstdint>

#include "model/engine.h"
#include "server/batching/request.h"
#include "server/batching/served_model.h"

namespace trivium {

// Requests of one salt share an encoded source if it is the same source of the
// same model, and if the engine stores all outputs that each of them needs.

// The outputs that the engine must store for the request's source.
SourceOptions SourceOptionsOf(const Request& request);

// True if a source with the outputs `have` serves a request that needs `want`.
bool Covers(const SourceOptions& have, const SourceOptions& want);

// Equal for equal model, salt and source; kNoSourceKey for an empty source.
inline constexpr uint64_t kNoSourceKey = 0;
uint64_t SourceKey(const Request& request);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_BATCHING_SOURCE_SHARING_H_
