#include "server/transports/http/cors.h"

#include <fmt/format.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "base/status.h"
#include "server/errors/status.h"
#include "server/transports/http/request_checks.h"

namespace trivium {
namespace {

// Two hours: the longest that browsers remember a preflight for.
constexpr char kMaxAge[] = "7200";
// Headers that pages need to read beside those that they always may.
constexpr char kExposed[] =
    "x-request-id, Retry-After, WWW-Authenticate, endpoint-load-metrics";
// Headers that a page may send if its preflight names none.
constexpr char kUsualHeaders[] = "Authorization, Content-Type";

struct SchemePort {
  std::string_view scheme, port;
};
constexpr SchemePort kOwnPorts[] = {{"http://", ":80"}, {"https://", ":443"}};

bool IsScheme(std::string_view text) {
  return !text.empty() && absl::ascii_isalpha(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '+' || c == '-' || c == '.';
         });
}

}  // namespace

absl::StatusOr<std::string> ParseOrigin(std::string_view text) {
  if (text == kAnyOrigin) return std::string(text);
  if (text == "null") {
    return absl::InvalidArgumentError(
        "'null' is the origin of files and of every page in a sandbox; give * "
        "if all pages may call this server");
  }
  const size_t mark = text.find("://");
  const absl::Status wrong = absl::InvalidArgumentError(fmt::format(
      "'{}' is no origin; give a scheme, a host and a port that is not the "
      "scheme's own, such as https://chat.example or http://localhost:3000, or "
      "* for all pages",
      Shorten(text)));
  if (mark == text.npos || !IsScheme(text.substr(0, mark)) ||
      text.find_first_of("/?#@", mark + 3) != text.npos) {
    return wrong;
  }
  const std::string_view host = text.substr(mark + 3);
  if (!HostName(host).ok() || host.ends_with(':')) return wrong;
  std::string origin = absl::AsciiStrToLower(std::string(text));
  for (const auto& [scheme, port] : kOwnPorts) {
    if (origin.starts_with(scheme) && origin.ends_with(port)) {
      origin.resize(origin.size() - port.size());
    }
  }
  return origin;
}

absl::Status CheckOrigins(const std::vector<std::string>& origins) {
  if (origins.size() < 2 ||
      std::find(origins.begin(), origins.end(), kAnyOrigin) == origins.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "* allows the pages of all origins; give it alone, or leave it out");
}

bool CorsPolicy::Allows(std::string_view origin) const {
  return !origin.empty() &&
         std::any_of(origins_.begin(), origins_.end(), [&](const auto& each) {
           return each == kAnyOrigin || each == origin;
         });
}

void CorsPolicy::AddHeaders(std::string_view origin, Headers* headers) const {
  if (empty()) return;
  if (origins_.front() == kAnyOrigin) {
    headers->emplace_back("Access-Control-Allow-Origin", kAnyOrigin);
  } else {
    // A cache in between must not give one origin's answer to another.
    headers->emplace_back("Vary", "Origin");
    if (!Allows(origin)) return;
    headers->emplace_back("Access-Control-Allow-Origin", std::string(origin));
  }
  headers->emplace_back("Access-Control-Expose-Headers", kExposed);
}

// Allows the headers that the page asks for: which of them mean something is
// each call's own affair, and a browser's extensions and clients' libraries add
// some of theirs. A wildcard would not cover Authorization.
void CorsPolicy::AddPreflightHeaders(std::string_view methods,
                                     std::string_view asked, Headers* headers) {
  const bool names = std::all_of(asked.begin(), asked.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == ',' ||
           c == ' ';
  });
  headers->emplace_back("Access-Control-Allow-Methods", std::string(methods));
  headers->emplace_back(
      "Access-Control-Allow-Headers",
      asked.empty() || !names ? kUsualHeaders : std::string(asked));
  headers->emplace_back("Access-Control-Max-Age", kMaxAge);
}

}  // namespace trivium
