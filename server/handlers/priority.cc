#include "server/handlers/priority.h"

#include <fmt/format.h>

#include "server/handlers/status.h"

namespace trivium {

absl::StatusOr<Priority> ParsePriority(std::string_view value) {
  if (value.empty()) return Priority::kInteractive;
  for (const Priority priority : {Priority::kInteractive, Priority::kBatch}) {
    if (value == PriorityName(priority)) return priority;
  }
  return InvalidField(
      kPriorityKey,
      fmt::format("'{}' is no priority: send interactive, batch, or nothing, "
                  "which is interactive",
                  Shorten(value)));
}

}  // namespace trivium
