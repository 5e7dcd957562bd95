#ifndef TRIVIUM_SERVER_ADAPTERS_CODEC_H_
#define TRIVIUM_SERVER_ADAPTERS_CODEC_H_

#include <google/protobuf/message.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/calls/environment.h"
#include "server/calls/transport.h"
#include "server/limits/access.h"

namespace trivium {

// The head of an HTTP request; valid while the head is being read.
struct RequestHead {
  std::string method;  // "POST"
  std::string path;    // without a query, unescaped
  bool tls = false;
  // The request is of a web page that --cors-allow-origin allows.
  bool trusted_page = false;
  // The permissions of the request's token. Null: anything is allowed.
  std::shared_ptr<const Grant> grant = nullptr;
  // The client, as in the call's CallContext.
  std::string client_key = "";
  std::string peer = "";
  // Returns the names and values of the query, decoded.
  std::function<std::vector<std::pair<std::string, std::string>>()> query = [] {
    return std::vector<std::pair<std::string, std::string>>();
  };
  // Returns the first header of a name, in any case; empty if there is none.
  std::function<std::string(const char* name)> header;
};

struct HttpAnswer {
  int status = 200;
  std::string type = "application/json";
  std::string body = "";
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// Reads and writes one call in HTTP: turns a body into the call's request
// message, and its responses into the shape that this kind of client expects.
// One is made for each request; its functions are called one at a time.
//
//   codec->Check(head)             // the head is there
//   codec->Read(body, &request)    // the body is there
//   codec->Write(response)...      // of a stream
//   codec->Finish(ending, last)    // the whole answer ...
//   codec->EndStream(ending, last) // ... or, if streams(), the rest of it
class Codec {
 public:
  virtual ~Codec() = default;

  // UNIMPLEMENTED if the body has another type. Bodies that are compressed as a
  // whole (Content-Encoding) reach the codec unpacked.
  virtual absl::Status Check(const RequestHead& head);

  // Parses the body into a request. INVALID_ARGUMENT names what is wrong.
  virtual absl::Status Read(std::string_view body,
                            google::protobuf::Message* request) = 0;

  // True if reading even a short body may take long, as that of an archive
  // does.
  virtual bool reads_long() const { return false; }
  // Bytes that the codec keeps from Read to Finish, beside the request.
  virtual int64_t kept_bytes() const { return 0; }

  // True if the answer is sent piece by piece, with the content type
  // stream_type(). Called after Read.
  virtual bool streams() const { return false; }
  virtual std::string stream_type() const { return "text/event-stream"; }

  // Returns what to send of a response of a stream. If streams() is false,
  // keeps the response for Finish and returns nothing.
  virtual std::string Write(const google::protobuf::Message& response) {
    return "";
  }

  // The HTTP status of Finish's answer to a call that ended with `code`.
  virtual int StatusOf(absl::StatusCode code) const;

  // Returns the whole answer. `last` is Transport::Finish's. The caller adds
  // the headers for the request's id and for when to retry.
  virtual HttpAnswer Finish(const Ending& ending,
                            const google::protobuf::Message* last) = 0;
  virtual std::string EndStream(const Ending& ending,
                                const google::protobuf::Message* last) {
    return "";
  }

  // Returns the whole answer to a request that is refused with an HTTP status
  // more exact than its code's, such as 413.
  virtual HttpAnswer Refuse(const Ending& ending, int status);
};

// Makes the codec of a request. `environment` outlives it.
using NewCodec = std::unique_ptr<Codec>(const Environment& environment,
                                        const RequestHead& head);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_ADAPTERS_CODEC_H_
