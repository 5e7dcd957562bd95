#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_WIRE_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_WIRE_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace trivium {

// Messages to bytes and back. Calls get raw bytes from gRPC and parse them
// themselves: if a message does not parse, gRPC 1.51's callback server answers
// UNIMPLEMENTED, and silently ends a bidirectional stream.

// Parses a message. INVALID_ARGUMENT: it is larger than `max_bytes`, or has
// more than one field for each kMessageBytesAField bytes (message_checks.h), or
// is not such a message, or a text is not UTF-8; then the error names the
// field.
absl::Status ParseMessage(const grpc::ByteBuffer& bytes, int64_t max_bytes,
                          google::protobuf::Message* message);

grpc::ByteBuffer SerializeMessage(const google::protobuf::Message& message);

// Returns the id of a stream's item (TranslateStreamRequest::Item and the like)
// whose text does not parse, so that the item can fail alone. Nothing if the
// bytes are not such a message, or the id itself is not UTF-8.
std::optional<std::string> FindItemId(const grpc::ByteBuffer& bytes);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_WIRE_H_
