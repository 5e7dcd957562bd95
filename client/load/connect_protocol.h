#ifndef TRIVIUM_CLIENT_LOAD_CONNECT_PROTOCOL_H_
#define TRIVIUM_CLIENT_LOAD_CONNECT_PROTOCOL_H_

#include <functional>
#include <string>
#include <string_view>

#include "google/protobuf/descriptor.h"
#include "grpcpp/support/status.h"

namespace trivium {

// What a client of Connect's protocol needs of it:
// https://connectrpc.com/docs/protocol

// "/trivium.v1.Inference/Translate" of TranslateRequest: a service is in the
// file of its requests, which are named after its methods.
std::string ConnectPath(const google::protobuf::Descriptor& request);

// What an answer that is no success says: of a body {"code": "...", "message":
// "..."}, else of the status of HTTP.
grpc::Status ConnectError(int http_status, const std::string& body);

// A message with the five bytes that go before it in a stream.
std::string Envelope(const std::string& message);

// Takes a stream apart as its bytes come.
class EnvelopeReader {
 public:
  // Calls `message` with each whole message that has come.
  void Add(std::string_view bytes,
           const std::function<void(const std::string&)>& message);
  // How the stream ended; of one that was cut off: UNAVAILABLE.
  const grpc::Status& status() const { return status_; }

 private:
  std::string rest_;  // of what is not whole
  grpc::Status status_ = grpc::Status(grpc::StatusCode::UNAVAILABLE,
                                      "the stream ended before its last "
                                      "message");
};

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_CONNECT_PROTOCOL_H_
