#include "server/limits/priority.h"

#include <fmt/format.h>

#include <algorithm>

#include "server/errors/status.h"
#include "server/limits/call_context.h"

namespace trivium {

absl::StatusOr<Priority> ParsePriority(std::string_view value) {
  if (value.empty()) return Priority::kInteractive;
  for (const Priority priority :
       {Priority::kInteractive, Priority::kBackground}) {
    if (value == PriorityName(priority)) return priority;
  }
  return InvalidField(
      kPriorityKey,
      fmt::format(
          "'{}' is not a priority; send interactive, batch, or nothing, "
          "which is interactive",
          Shorten(value)));
}

absl::StatusOr<Priority> PriorityOf(const CallContext& context) {
  const absl::StatusOr<Priority> asked = ParsePriority(context.priority);
  if (!asked.ok() || context.grant == nullptr) return asked;
  return std::max(*asked, context.grant->rules().priority);
}

}  // namespace trivium
