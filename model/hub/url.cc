#include "model/hub/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace trivium {
namespace {

constexpr size_t kLongestUrl = 16 << 10;

std::string Lower(std::string_view text) {
  std::string lower(text);
  absl::AsciiStrToLower(&lower);
  return lower;
}

// Splits "HOST[:PORT]". Returns false if it is none.
bool SplitHost(std::string_view text, std::string* host, int* port) {
  const size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  if (bracket == text.npos) return false;
  if (const size_t colon = text.find(':', bracket); colon != text.npos) {
    if (!absl::SimpleAtoi(std::string(text.substr(colon + 1)), port) ||
        *port < 1 || *port > 65535) {
      return false;
    }
    text = text.substr(0, colon);
  }
  *host = Lower(text);
  return !text.empty();
}

// Returns a path without "." and ".." (RFC 3986, 5.2.4), which leads no higher
// than "/".
std::string WithoutDots(std::string_view path) {
  std::vector<std::string> kept;
  const std::vector<std::string> parts =
      absl::StrSplit(absl::string_view(path.data(), path.size()), '/');
  for (size_t i = 1; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    const bool dots = parts[i] == "." || parts[i] == "..";
    if (parts[i] == ".." && !kept.empty()) kept.pop_back();
    if (!dots) kept.push_back(parts[i]);
    if (dots && last) kept.emplace_back();
  }
  return "/" + absl::StrJoin(kept, "/");
}

std::string PercentDecode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() &&
        absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 1])) &&
        absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 2]))) {
      out += static_cast<char>(
          std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

std::string Url::Origin() const {
  return fmt::format("{}://{}:{}", scheme, host, port);
}

absl::StatusOr<Url> ParseUrl(std::string_view text) {
  Url url;
  const size_t scheme = text.find("://");
  url.scheme = Lower(text.substr(0, std::min(scheme, text.size())));
  url.port = url.scheme == "https" ? 443 : 80;
  const bool clean =
      text.size() <= kLongestUrl &&
      std::all_of(text.begin(), text.end(), [](char c) {
        return absl::ascii_isgraph(static_cast<unsigned char>(c));
      });
  bool valid = clean && scheme != text.npos &&
               (url.scheme == "http" || url.scheme == "https");
  if (valid) {
    std::string_view rest = text.substr(scheme + 3);
    rest = rest.substr(0, rest.find('#'));
    const size_t end = std::min(rest.find_first_of("/?"), rest.size());
    const std::string_view host = rest.substr(0, end);
    url.target = rest.substr(end);
    if (url.target.starts_with('?')) url.target.insert(0, "/");
    valid =
        host.find('@') == host.npos && SplitHost(host, &url.host, &url.port);
  }
  if (valid) return url;
  if (clean && text.find('@') != text.npos) {
    return absl::InvalidArgumentError(
        "the URL has an '@'; it must be http://HOST or https://HOST, without "
        "a user's name or password");
  }
  return absl::InvalidArgumentError(
      fmt::format("'{}' is not an http or https URL",
                  clean ? text.substr(0, 200) : "(not printable)"));
}

std::string WrittenLocation(std::string_view location, std::string_view body) {
  body = body.substr(0, kLongestUrl);
  const std::string_view begin = location.substr(0, 1);
  for (size_t at = body.find(begin); at != body.npos;
       at = body.find(begin, at + 1)) {
    const std::string_view rest = body.substr(at);
    const std::string_view found =
        rest.substr(0, rest.find_first_of(" \t\r\n\"<>"));
    if (PercentDecode(found) == location) return std::string(found);
  }
  std::string encoded;
  for (const char c : location) {
    const bool fits =
        absl::ascii_isgraph(static_cast<unsigned char>(c)) &&
        std::string_view("\"<>\\^`{|}").find(c) == std::string::npos;
    encoded += fits ? std::string(1, c) : PercentEncode({&c, 1}, false);
  }
  return encoded;
}

absl::StatusOr<Url> ResolveLocation(const Url& base,
                                    std::string_view location) {
  if (location.starts_with("//")) {
    return ParseUrl(fmt::format("{}:{}", base.scheme, location));
  }
  const size_t scheme = location.find_first_of(":/?#");
  if (scheme != location.npos && location[scheme] == ':') {
    return ParseUrl(location);
  }
  const std::string_view from =
      std::string_view(base.target).substr(0, base.target.find('?'));
  const size_t end = std::min(location.find_first_of("?#"), location.size());
  std::string path(location.substr(0, end));
  if (path.empty()) {
    path = from;
  } else if (path[0] != '/') {
    path.insert(0, from.empty() ? "/" : from.substr(0, from.rfind('/') + 1));
  }
  return ParseUrl(base.Origin() + WithoutDots(path) +
                  std::string(location.substr(end)));
}

std::string PercentEncode(std::string_view text, bool slashes) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) ||
        std::string_view("-._~").find(c) != text.npos ||
        (slashes && c == '/')) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", byte);
    }
  }
  return out;
}

absl::StatusOr<Proxy> ParseProxy(std::string_view text) {
  const absl::Status error = absl::InvalidArgumentError(
      "the proxy of HTTPS_PROXY, http_proxy or ALL_PROXY must be written "
      "http://[USER:PASSWORD@]HOST:PORT; no other kind is supported");
  Proxy proxy;
  if (Lower(text.substr(0, 7)) == "http://") {
    text.remove_prefix(7);
  } else if (text.find("://") != text.npos) {
    return error;
  }
  text = text.substr(0, text.find('/'));
  if (const size_t at = text.rfind('@'); at != text.npos) {
    const std::string_view user = text.substr(0, at);
    const size_t colon = std::min(user.find(':'), user.size());
    proxy.user = PercentDecode(user.substr(0, colon));
    proxy.password =
        PercentDecode(user.substr(std::min(colon + 1, user.size())));
    text.remove_prefix(at + 1);
  }
  proxy.port = 80;
  if (!SplitHost(text, &proxy.host, &proxy.port)) return error;
  return proxy;
}

bool IsExempt(std::string_view host, std::string_view no_proxy) {
  for (absl::string_view domain : absl::StrSplit(
           absl::string_view(no_proxy.data(), no_proxy.size()), ',')) {
    domain = absl::StripAsciiWhitespace(domain);
    while (absl::StartsWith(domain, ".")) domain.remove_prefix(1);
    if (domain == "*") return true;
    const std::string name = absl::AsciiStrToLower(domain);
    if (!name.empty() && (host == name || host.ends_with("." + name))) {
      return true;
    }
  }
  return false;
}

}  // namespace trivium
