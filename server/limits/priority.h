#ifndef TRIVIUM_SERVER_LIMITS_PRIORITY_H_
#define TRIVIUM_SERVER_LIMITS_PRIORITY_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "server/batching/request.h"

namespace trivium {

struct CallContext;

// The metadata key or header with a call's priority.
inline constexpr char kPriorityKey[] = "trivium-priority";

// Parses its value: "interactive", "batch", or nothing, which is interactive.
// INVALID_ARGUMENT for any other.
absl::StatusOr<Priority> ParsePriority(std::string_view value);

// Returns the lower of the priority that a call asks for and the highest that
// its token allows.
absl::StatusOr<Priority> PriorityOf(const CallContext& context);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_LIMITS_PRIORITY_H_
