#ifndef TRIVIUM_SERVER_OBSERVABILITY_HTTP_REQUEST_H_
#define TRIVIUM_SERVER_OBSERVABILITY_HTTP_REQUEST_H_

#include <string>
#include <string_view>

namespace trivium {

// One request of HTTP/1.x as its bytes arrive: the request line counts, headers
// are skipped, a body is never looked at. It keeps at most kMaxBytes.
//
//   HttpRequest request;
//   while (request.state() == HttpRequest::State::kMore) {
//     request.Add(<what the socket has>);
//   }
class HttpRequest {
 public:
  enum class State {
    kMore,      // the headers have not ended yet
    kComplete,  // method() and path() are known
    kBad,       // no request of HTTP
    kTooLong,   // request line and headers have more than kMaxBytes
  };
  static constexpr size_t kMaxBytes = 8192;

  // What follows the headers, or a refusal, is dropped.
  void Add(std::string_view bytes);

  State state() const { return state_; }
  const std::string& method() const { return method_; }
  // Without what follows a '?'.
  const std::string& path() const { return path_; }

 private:
  void ParseLine(std::string_view line);

  State state_ = State::kMore;
  std::string bytes_;
  std::string method_;
  std::string path_;
};

// An answer after which the connection ends. `with_body` false: to HEAD.
std::string HttpAnswer(int status, std::string_view type, std::string_view body,
                       bool with_body);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OBSERVABILITY_HTTP_REQUEST_H_
