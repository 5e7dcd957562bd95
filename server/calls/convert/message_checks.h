#ifndef TRIVIUM_SERVER_CALLS_CONVERT_MESSAGE_CHECKS_H_
#define TRIVIUM_SERVER_CALLS_CONVERT_MESSAGE_CHECKS_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace trivium {

// Errors that every transport returns for requests that it refuses or cannot
// parse.

// INVALID_ARGUMENT if a request has more bytes than the server accepts.
absl::Status CheckRequestBytes(int64_t bytes, int64_t max_bytes);

// A message may have one field for each so many bytes, counting the fields of
// messages in it. A field may take two bytes on the wire and a hundred in
// memory, so unbounded fields would take far more memory than bytes.
inline constexpr int64_t kMessageBytesAField = 16;
int64_t MostFields(int64_t bytes);
bool HasMoreFields(google::protobuf::io::ZeroCopyInputStream* bytes,
                   const google::protobuf::Descriptor& message, int64_t most);
// INVALID_ARGUMENT if there are more than a message of `max_bytes` may have.
absl::Status CheckFieldCount(google::protobuf::io::ZeroCopyInputStream* bytes,
                             const google::protobuf::Descriptor& message,
                             int64_t max_bytes);

// Returns why bytes do not parse as a message, as INVALID_ARGUMENT. Names the
// field of a text that is not UTF-8, if that is why.
absl::Status WhyNoMessage(const std::string& bytes,
                          const google::protobuf::Descriptor& message);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_CONVERT_MESSAGE_CHECKS_H_
