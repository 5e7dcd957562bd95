#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_WIRE_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_WIRE_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace trivium {

// Messages to bytes and back. The calls take raw bytes from gRPC, because
// gRPC 1.51's callback server answers what does not parse with UNIMPLEMENTED
// and silently ends a bidirectional stream.

// INVALID_ARGUMENT: larger than `max_bytes`, more fields than one for each
// kMessageBytesAField of them (handlers/message_checks.h), not a message, or a
// text that is not UTF-8, whose field the error names.
absl::Status ParseMessage(const grpc::ByteBuffer& bytes, int64_t max_bytes,
                          google::protobuf::Message* message);

grpc::ByteBuffer SerializeMessage(const google::protobuf::Message& message);

// The id of a stream's item (TranslateStreamRequest::Item and the like) whose
// text does not parse, so that the item can fail alone; nothing if the bytes
// are no such message, or the id is not UTF-8 itself.
std::optional<std::string> FindItemId(const grpc::ByteBuffer& bytes);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_WIRE_H_
