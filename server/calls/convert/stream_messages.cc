#include "server/calls/convert/stream_messages.h"

#include <fmt/format.h>

#include "server/errors/status.h"

namespace trivium {
namespace {

// Bounded, since results repeat an item's id, so it is kept while the item
// waits.
constexpr size_t kMaxIdBytes = 256;

}  // namespace

absl::Status CheckItemId(const std::string& id) {
  if (id.size() <= kMaxIdBytes) return absl::OkStatus();
  return InvalidField(
      "item.id", fmt::format("has {} bytes; an id has at most {}", id.size(),
                             kMaxIdBytes));
}

absl::Status CheckStart(const v1::EncodeRequest& start) {
  if (!start.chunks().empty()) {
    return InvalidField("start.chunks", "are for items; leave them out here");
  }
  if (start.inputs().empty()) return absl::OkStatus();
  return InvalidField("start.inputs", "are for items; leave them out here");
}

}  // namespace trivium
