#include "server/adapters/answers.h"

#include <fmt/format.h>

#include "base/random_bits.h"

namespace trivium {

std::string NewAnswerId(std::string_view prefix) {
  return fmt::format("{}{:016x}{:016x}", prefix, RandomBits(), RandomBits());
}

bool IsCut(v1::FinishReason reason) {
  return reason == v1::FINISH_REASON_LENGTH ||
         reason == v1::FINISH_REASON_REPETITION;
}

std::string ServerSentEvent(std::string_view name, std::string_view data) {
  return name.empty() ? fmt::format("data: {}\n\n", data)
                      : fmt::format("event: {}\ndata: {}\n\n", name, data);
}

Ending KeptResponses::Check(const Ending& ending,
                            std::string_view what_to_do) const {
  if (!ending.status.ok() || bytes_ <= max_bytes_) return ending;
  return {absl::InvalidArgumentError(fmt::format(
              "the answer has more than the {} bytes that the server keeps for "
              "its end; {}",
              max_bytes_, what_to_do)),
          ending.request_id};
}

}  // namespace trivium
