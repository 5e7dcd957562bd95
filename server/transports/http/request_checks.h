#ifndef TRIVIUM_SERVER_TRANSPORTS_HTTP_REQUEST_CHECKS_H_
#define TRIVIUM_SERVER_TRANSPORTS_HTTP_REQUEST_CHECKS_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Checks of a request's head that libmicrohttpd does not make. Pure functions.
namespace trivium {

struct HttpHeader {
  std::string_view name, value;
};

// True if two names of headers are the same, whatever the case of their
// letters.
bool IsName(std::string_view name, std::string_view other);
// Returns a header's value without the spaces and tabs around it.
std::string_view WithoutSpace(std::string_view text);

// A request's first line: "METHOD PATH?QUERY VERSION".
struct RequestLine {
  std::string_view method, path, query, version;
};

// INVALID_ARGUMENT if the line has not these three parts; UNIMPLEMENTED if the
// version is not HTTP/1.0 or HTTP/1.1. The parts are of `line`.
absl::StatusOr<RequestLine> ParseRequestLine(std::string_view line);

// INVALID_ARGUMENT if a proxy in front may see another end of the request than
// this server does (RFC 9112, 6.3): Content-Length twice, or beside
// Transfer-Encoding, or not digits; an encoding other than chunked, or in
// HTTP/1.0; a name with spaces; or if Host is given twice, or not at all in
// HTTP/1.1. Such a connection must be closed, since what follows on it may be
// another request for one of the two.
absl::Status CheckFraming(std::string_view version,
                          const std::vector<HttpHeader>& fields);

// INVALID_ARGUMENT if the value of Host, or of --allowed-hosts, is no host name
// or address with or without a port. Returns it in small letters, without the
// port and without the brackets of IPv6.
absl::StatusOr<std::string> HostName(std::string_view host);

// True if a request may ask for this host where nobody needs a token. A page in
// a browser can ask under a name that its owner made lead here (DNS rebinding),
// so of names with dots only `allowed` ones pass; "*" allows all. Addresses,
// localhost, and names without dots cannot be such names.
bool IsAllowedHost(const std::string& name,
                   const std::vector<std::string>& allowed);

// UNIMPLEMENTED if the value of Content-Type names a charset that is not UTF-8.
absl::Status CheckCharset(std::string_view content_type);

// Undoes percent-encoding in a part of a path. Unset: a digit is missing, or a
// byte is zero or another control.
std::optional<std::string> DecodePathPart(std::string_view part);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_HTTP_REQUEST_CHECKS_H_
