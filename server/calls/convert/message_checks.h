#ifndef TRIVIUM_SERVER_CALLS_CONVERT_MESSAGE_CHECKS_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_MESSAGE_CHECKS_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace trivium {

// What every transport says of requests that it cannot take.

// INVALID_ARGUMENT for a request of more bytes than the server takes.
absl::Status CheckRequestBytes(int64_t bytes, int64_t max_bytes);

// A message may have one field, of its own or of messages in it, for each so
// many bytes: each may take two on the wire, and a hundred in memory.
inline constexpr int64_t kMessageBytesAField = 16;
int64_t MostFields(int64_t bytes);
bool HasMoreFields(google::protobuf::io::ZeroCopyInputStream* bytes,
                   const google::protobuf::Descriptor& message, int64_t most);
// INVALID_ARGUMENT where there are more than a message of `max_bytes` may have.
absl::Status CheckFieldCount(google::protobuf::io::ZeroCopyInputStream* bytes,
                             const google::protobuf::Descriptor& message,
                             int64_t max_bytes);

// INVALID_ARGUMENT for bytes that do not parse as a message: names the field of
// a text that is not UTF-8, if that is why.
absl::Status WhyNoMessage(const std::string& bytes,
                          const google::protobuf::Descriptor& message);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_MESSAGE_CHECKS_H_
