#ifndef TRIVIUM_SERVER_HANDLERS_MESSAGE_CHECKS_H_
#define TRIVIUM_SERVER_HANDLERS_MESSAGE_CHECKS_H_

#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace trivium {

// What every transport says of requests that it cannot take.

// INVALID_ARGUMENT for a request of more bytes than the server takes.
absl::Status CheckRequestBytes(int64_t bytes, int64_t max_bytes);

// INVALID_ARGUMENT for bytes that do not parse as a message: names the field of
// a text that is not UTF-8, if that is why.
absl::Status WhyNoMessage(const std::string& bytes,
                          const google::protobuf::Descriptor& message);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_HANDLERS_MESSAGE_CHECKS_H_
