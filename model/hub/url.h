#ifndef TRIVIUM_MODEL_HUB_URL_H_
#define TRIVIUM_MODEL_HUB_URL_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace trivium {

// An http or https URL without a fragment.
struct Url {
  std::string scheme;  // "http" or "https"
  std::string host;    // in lower case; an IPv6 address in brackets
  int port = 0;
  std::string target;  // path and query; "" or beginning with "/"

  // "https://huggingface.co:443"
  std::string Origin() const;
};

// INVALID_ARGUMENT: it is no such address, or it has a user's name, white space
// or control characters. The error does not show a password.
absl::StatusOr<Url> ParseUrl(std::string_view text);

// Returns the address that an answer redirects to, as the server wrote it.
// cpp-httplib decodes the value of every header, also of Location: what was
// "%2B" in a signature is "+" there. The answer's text mostly has the address,
// too; it is used if it means the same. Otherwise only what no address may
// have is encoded again.
std::string WrittenLocation(std::string_view location, std::string_view body);

// Returns the address that an answer of `base` redirects to: a whole address,
// or one relative to `base` (RFC 3986, 5.2).
absl::StatusOr<Url> ResolveLocation(const Url& base, std::string_view location);

// Returns `text` with every byte percent-encoded that is not unreserved
// (RFC 3986, 2.3); "/" is left alone if `slashes`.
std::string PercentEncode(std::string_view text, bool slashes);

// A proxy: http://[USER:PASSWORD@]HOST:PORT.
struct Proxy {
  std::string host;
  int port = 0;
  std::string user, password;
};

// INVALID_ARGUMENT: it is no HTTP proxy. The error does not show a password.
absl::StatusOr<Proxy> ParseProxy(std::string_view text);

// True if `no_proxy`, a list of domains with commas, exempts the host.
bool IsExempt(std::string_view host, std::string_view no_proxy);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_HUB_URL_H_
