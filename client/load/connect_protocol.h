#ifndef TRIVIUM_CLIENT_LOAD_CONNECT_PROTOCOL_H_
#define TRIVIUM_CLIENT_LOAD_CONNECT_PROTOCOL_H_

#include <functional>
#include <string>
#include <string_view>

#include "google/protobuf/descriptor.h"
#include "grpcpp/support/status.h"

namespace trivium {

// The parts of Connect's protocol that a client needs:
// https://connectrpc.com/docs/protocol

// Returns "/trivium.v1.Inference/Translate" for TranslateRequest. Relies on
// requests being named after their methods and defined in the file of their
// service.
std::string ConnectPath(const google::protobuf::Descriptor& request);

// Returns the error in an unsuccessful response: that of a body {"code": "...",
// "message": "..."}, else one for the HTTP status.
grpc::Status ConnectError(int http_status, const std::string& body);

// Puts the five bytes in front of a message that precede it in a stream.
std::string Envelope(const std::string& message);

// Splits a stream into messages as its bytes arrive.
class EnvelopeReader {
 public:
  // Calls `message` with each message that is complete now.
  void Add(std::string_view bytes,
           const std::function<void(const std::string&)>& message);
  // The status at the end of the stream; UNAVAILABLE if it was cut off.
  const grpc::Status& status() const { return status_; }

 private:
  std::string rest_;  // the incomplete message at the end
  grpc::Status status_ = grpc::Status(grpc::StatusCode::UNAVAILABLE,
                                      "the stream ended before its last "
                                      "message");
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_CONNECT_PROTOCOL_H_
