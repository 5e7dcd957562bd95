#ifndef TRIVIUM_SERVER_TRANSPORTS_HTTP_CORS_H_
#define TRIVIUM_SERVER_TRANSPORTS_HTTP_CORS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace trivium {

inline constexpr char kAnyOrigin[] = "*";

// Reads an origin of --cors-allow-origin, "https://chat.example:8443", or
// kAnyOrigin. Returns it as browsers write it: in small letters, without the
// scheme's own port. INVALID_ARGUMENT says what is wrong.
absl::StatusOr<std::string> ParseOrigin(std::string_view text);

// INVALID_ARGUMENT if kAnyOrigin is among other origins.
absl::Status CheckOrigins(const std::vector<std::string>& origins);

// Tells browsers which pages may read this server's answers (CORS, of the Fetch
// standard). A browser shows an answer to a page of another origin only if the
// answer's headers allow it. Before a request that no form could make, it sends
// a preflight: OPTIONS with the request's method and headers.
//
// Answers never allow credentials: no cookie and no client certificate of the
// browser's counts here. A page that has a token sends it in Authorization or
// x-api-key.
//
// Pure functions. Headers are pairs of a name and a value.
class CorsPolicy {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  // `origins` are ParseOrigin's and pass CheckOrigins. Empty: no page of
  // another origin may read anything, and no headers say so.
  explicit CorsPolicy(std::vector<std::string> origins)
      : origins_(std::move(origins)) {}

  bool empty() const { return origins_.empty(); }
  // `origin` is the value of a request's Origin; empty: it has none.
  bool Allows(std::string_view origin) const;

  // Adds what every answer needs, errors included.
  void AddHeaders(std::string_view origin, Headers* headers) const;
  // Adds what the answer to a preflight needs beyond these. `methods` are those
  // of the path; `asked` is the value of Access-Control-Request-Headers.
  static void AddPreflightHeaders(std::string_view methods,
                                  std::string_view asked, Headers* headers);

 private:
  const std::vector<std::string> origins_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_HTTP_CORS_H_
