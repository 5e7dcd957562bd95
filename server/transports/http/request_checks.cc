#include "server/transports/http/request_checks.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

// More than any body; below 2^63.
constexpr size_t kMostLengthDigits = 18;

bool AllDigits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// RFC 9110's token.
bool IsToken(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return absl::ascii_isalnum(c) || kMarks.find(c) != kMarks.npos;
  });
}

bool IsAddress(const std::string& name) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(AF_INET, name.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

}  // namespace

bool IsName(std::string_view name, std::string_view other) {
  return absl::EqualsIgnoreCase({name.data(), name.size()},
                                {other.data(), other.size()});
}

std::string_view WithoutSpace(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

absl::StatusOr<RequestLine> ParseRequestLine(std::string_view line) {
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  RequestLine parts;
  if (first != line.npos && last > first) {
    parts.method = line.substr(0, first);
    parts.path = line.substr(first + 1, last - first - 1);
    parts.version = line.substr(last + 1);
  }
  const bool visible =
      std::all_of(parts.path.begin(), parts.path.end(), absl::ascii_isgraph);
  if (!IsToken(parts.method) || parts.path.empty() || !visible ||
      !parts.version.starts_with("HTTP/")) {
    return absl::InvalidArgumentError(fmt::format(
        "'{}' is no request; send METHOD PATH HTTP/1.1", Shorten(line)));
  }
  if (parts.version != "HTTP/1.1" && parts.version != "HTTP/1.0") {
    return absl::UnimplementedError(fmt::format(
        "the version is {}; this port reads HTTP/1.1", Shorten(parts.version)));
  }
  if (const size_t mark = parts.path.find('?'); mark != parts.path.npos) {
    parts.query = parts.path.substr(mark + 1);
    parts.path = parts.path.substr(0, mark);
  }
  return parts;
}

absl::Status CheckFraming(std::string_view version,
                          const std::vector<HttpHeader>& fields) {
  const bool old = version == "HTTP/1.0";
  int lengths = 0, encodings = 0, hosts = 0;
  for (const auto& [name, value] : fields) {
    if (!IsToken(name)) {
      return absl::InvalidArgumentError(
          fmt::format("'{}' is no name of a header; send letters, digits and "
                      "dashes, and no space before the colon",
                      Shorten(name)));
    }
    if (IsName(name, "content-length")) {
      if (++lengths > 1) {
        return absl::InvalidArgumentError(
            "Content-Length is given twice; send it once");
      }
      if (!AllDigits(value) || value.size() > kMostLengthDigits) {
        return absl::InvalidArgumentError(
            fmt::format("Content-Length is '{}'; it must be a number of at "
                        "most {} digits",
                        Shorten(value), kMostLengthDigits));
      }
    } else if (IsName(name, "host")) {
      if (++hosts > 1) {
        return absl::InvalidArgumentError("Host is given twice; send it once");
      }
    } else if (IsName(name, "transfer-encoding")) {
      if (++encodings > 1 || !IsName(value, "chunked") || old) {
        return absl::InvalidArgumentError(
            "Transfer-Encoding must be chunked, once and in HTTP/1.1, or left "
            "out");
      }
    }
  }
  if (lengths > 0 && encodings > 0) {
    return absl::InvalidArgumentError(
        "Content-Length and Transfer-Encoding are both given; leave one out");
  }
  if (hosts == 0 && !old) {
    return absl::InvalidArgumentError("Host is missing; send it once");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> HostName(std::string_view host) {
  const absl::Status wrong = absl::InvalidArgumentError(fmt::format(
      "the host '{}' is not a name or an address, with or without a port",
      Shorten(host)));
  std::string_view name = host, port;
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    if (end == host.npos) return wrong;
    name = host.substr(1, end - 1);
    port = host.substr(end + 1);
    if (!IsAddress(std::string(name))) return wrong;
  } else if (const size_t colon = host.find(':'); colon != host.npos) {
    name = host.substr(0, colon);
    port = host.substr(colon);
  }
  if (!port.empty() && (port[0] != ':' || port.size() > 6 ||
                        !(port.size() == 1 || AllDigits(port.substr(1))))) {
    return wrong;
  }
  const bool valid =
      !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_' ||
               c == ':';
      });
  if (!valid) return wrong;
  return absl::AsciiStrToLower(std::string(name));
}

bool IsAllowedHost(const std::string& name,
                   const std::vector<std::string>& allowed) {
  std::string_view bare = name;
  if (bare.ends_with('.')) bare.remove_suffix(1);
  if (bare.find('.') == bare.npos || bare.ends_with(".localhost") ||
      IsAddress(name)) {
    return true;
  }
  return std::any_of(allowed.begin(), allowed.end(), [&](const auto& each) {
    return each == "*" || each == bare;
  });
}

absl::Status CheckCharset(std::string_view content_type) {
  size_t begin = content_type.find(';');
  while (begin != content_type.npos) {
    const size_t end = content_type.find(';', ++begin);
    const std::string_view parameter = content_type.substr(begin, end - begin);
    begin = end;
    const size_t equals = parameter.find('=');
    if (!IsName(WithoutSpace(parameter.substr(0, equals)), "charset")) continue;
    std::string_view value =
        equals == parameter.npos ? "" : parameter.substr(equals + 1);
    value = WithoutSpace(value);
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    if (IsName(value, "utf-8") || IsName(value, "utf8") ||
        IsName(value, "us-ascii")) {
      return absl::OkStatus();
    }
    return absl::UnimplementedError(
        fmt::format("the charset is '{}'; send UTF-8", Shorten(value)));
  }
  return absl::OkStatus();
}

std::optional<std::string> DecodePathPart(std::string_view part) {
  std::string decoded;
  for (size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '%') {
      decoded += part[i];
      continue;
    }
    const std::string_view digits = part.substr(i + 1, 2);
    if (digits.size() != 2 || !absl::ascii_isxdigit(digits[0]) ||
        !absl::ascii_isxdigit(digits[1])) {
      return std::nullopt;
    }
    const auto value = [](char digit) {
      return absl::ascii_isdigit(digit) ? digit - '0'
                                        : absl::ascii_tolower(digit) - 'a' + 10;
    };
    const char c = static_cast<char>(16 * value(digits[0]) + value(digits[1]));
    if (absl::ascii_iscntrl(c)) return std::nullopt;
    decoded += c;
    i += 2;
  }
  return decoded;
}

}  // namespace trivium
