#ifndef TRIVIUM_SERVER_ADAPTERS_ANSWERS_H_
#define TRIVIUM_SERVER_ADAPTERS_ANSWERS_H_

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "server/calls/transport.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// The parts of a generated answer that all shapes have.

// Returns a new name: the prefix and 32 characters, "call_0f3a...".
std::string NewAnswerId(std::string_view prefix);

// True if the text did not end by itself or by a stop string.
bool IsCut(v1::FinishReason reason);

// Returns a server-sent event. `name` empty: it has none.
std::string ServerSentEvent(std::string_view name, std::string_view data);

// Bounds the responses that a codec keeps for the end of the answer.
class KeptResponses {
 public:
  explicit KeptResponses(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // Counts a response. False: the answer is too large, so that nothing more of
  // it need be kept.
  bool Add(const google::protobuf::Message& response) {
    bytes_ += static_cast<int64_t>(response.ByteSizeLong());
    return bytes_ <= max_bytes_;
  }
  // Returns `ending`, or INVALID_ARGUMENT that says `what_to_do` if the answer
  // is too large.
  Ending Check(const Ending& ending, std::string_view what_to_do) const;

 private:
  const int64_t max_bytes_;
  int64_t bytes_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_ANSWERS_H_
