#ifndef TRIVIUM_SERVER_ADAPTERS_CODEC_H_
#define TRIVIUM_SERVER_ADAPTERS_CODEC_H_

#include <google/protobuf/message.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/calls/environment.h"
#include "server/calls/transport.h"

namespace trivium {

// The head of a request of HTTP; as long as it is being read.
struct RequestHead {
  std::string method;  // "POST"
  std::string path;    // without a query, unescaped
  bool tls = false;
  // The first header of a name in any case; empty where there is none.
  std::function<std::string(const char* name)> header;
};

struct HttpAnswer {
  int status = 200;
  std::string type = "application/json";
  std::string body = "";
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// How one call is written in HTTP: turns a body into the call's request
// message, and its responses into what this kind of client expects. One is made
// for each request; its functions are not called at the same time.
//
//   codec->Check(head)             // as the head comes
//   codec->Read(body, &request)    // the body is there
//   codec->Write(response)...      // of a stream
//   codec->Finish(ending, last)    // the whole answer ...
//   codec->EndStream(ending, last) // ... or, where streams(), what is left
class Codec {
 public:
  virtual ~Codec() = default;

  // UNIMPLEMENTED for a body of another type or compressed.
  virtual absl::Status Check(const RequestHead& head);

  // The body's request. INVALID_ARGUMENT names what is wrong with it.
  virtual absl::Status Read(std::string_view body,
                            google::protobuf::Message* request) = 0;

  // Whether the answer goes out piece by piece, asked once Read was called; and
  // its type.
  virtual bool streams() const { return false; }
  virtual std::string stream_type() const { return "text/event-stream"; }

  // A response of a stream: what to send of it; where streams() is false,
  // nothing, and it is kept.
  virtual std::string Write(const google::protobuf::Message& response) {
    return "";
  }

  // The status of Finish's answer to a call that ended so.
  virtual int StatusOf(absl::StatusCode code) const;

  // `last`: as Transport::Finish has it. No headers of its own are needed for
  // the request's id, nor for when to come again.
  virtual HttpAnswer Finish(const Ending& ending,
                            const google::protobuf::Message* last) = 0;
  virtual std::string EndStream(const Ending& ending,
                                const google::protobuf::Message* last) {
    return "";
  }
};

// Makes the codec of a request. `environment` outlives it.
using NewCodec = std::unique_ptr<Codec>(const Environment& environment,
                                        const RequestHead& head);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_CODEC_H_
