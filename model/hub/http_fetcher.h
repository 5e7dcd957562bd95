#ifndef TRIVIUM_MODEL_HUB_HTTP_FETCHER_H_
#define TRIVIUM_MODEL_HUB_HTTP_FETCHER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/hub/hub_settings.h"
#include "model/hub/url.h"

namespace trivium {

// An answer after redirects.
struct HubAnswer {
  int status = 0;
  // By name in lower case. The first answer's X-Error-... are kept, too, if a
  // redirect led elsewhere.
  std::map<std::string, std::string> headers;
  std::string body;  // if no receiver took it; at most kMostBody bytes

  std::string Header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }

  static constexpr size_t kMostBody = size_t{16} << 20;
};

// Sends GET requests to a hub, by way of the proxies of the settings, and
// follows redirects. The token is sent to the hub's own scheme, host and port
// only. A redirect from https to http is refused. Connections are kept. Used
// by one thread at a time.
class HttpFetcher {
 public:
  explicit HttpFetcher(const HubSettings& settings);
  ~HttpFetcher();

  // Takes the body of an answer with status 200 or 206.
  struct Receiver {
    // Called once before the body.
    std::function<absl::Status(const HubAnswer& answer)> begin;
    std::function<absl::Status(std::string_view bytes)> bytes;
  };

  // Asks for the bytes from `from` on, unless it is 0. Without a receiver, the
  // answer has the body. An error of the receiver ends the request and is
  // returned. UNAVAILABLE: no answer, or the connection broke. INVALID_ARGUMENT
  // and FAILED_PRECONDITION: the same request would fail again.
  absl::StatusOr<HubAnswer> Get(const std::string& url, int64_t from = 0,
                                const Receiver* receiver = nullptr);

 private:
  class Connection;

  absl::StatusOr<Connection*> Connect(const Url& url);

  const HubSettings settings_;
  std::string trusted_origin_;  // receives the token
  std::map<std::string, std::unique_ptr<Connection>> connections_;  // by origin
};

}  // namespace trivium

#endif  // TRIVIUM_MODEL_HUB_HTTP_FETCHER_H_
