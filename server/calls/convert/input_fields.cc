#include "server/calls/convert/input_fields.h"

#include <fmt/format.h>

#include "server/errors/status.h"

namespace trivium {

absl::Status CheckRange(std::string_view field, std::optional<uint32_t> value,
                        uint32_t most) {
  if (!value || (*value >= 1 && *value <= most)) return absl::OkStatus();
  return InvalidField(std::string(field),
                      fmt::format("is {}; give 1 .. {}", *value, most));
}

}  // namespace trivium
