#include "server/observability/http_request.h"

#include <fmt/format.h>

#include <algorithm>

namespace trivium {
namespace {

std::string_view ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "";
  }
}

}  // namespace

void HttpRequest::Add(std::string_view bytes) {
  if (state_ != State::kMore) return;
  // The end of the headers may lie across what was there and what is new.
  const size_t from = bytes_.size() < 3 ? 0 : bytes_.size() - 3;
  const size_t room = kMaxBytes - bytes_.size();
  bytes_ += bytes.substr(0, room);
  // Some clients end lines without a carriage return.
  const size_t end =
      std::min(bytes_.find("\r\n\r\n", from), bytes_.find("\n\n", from));
  if (end != std::string::npos) {
    ParseLine(std::string_view(bytes_).substr(0, bytes_.find('\n')));
  } else if (bytes.size() >= room) {
    state_ = State::kTooLong;
  }
  if (state_ != State::kMore) bytes_ = std::string();
}

// METHOD SP TARGET SP HTTP/1.DIGIT
void HttpRequest::ParseLine(std::string_view line) {
  state_ = State::kBad;
  if (line.ends_with('\r')) line.remove_suffix(1);
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == 0 || first == line.npos || last == first) return;
  const std::string_view version = line.substr(last + 1);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  if (version.size() != 8 || !version.starts_with("HTTP/1.") ||
      target.empty() || target.find(' ') != target.npos) {
    return;
  }
  method_ = line.substr(0, first);
  path_ = target.substr(0, target.find('?'));
  state_ = State::kComplete;
}

std::string HttpAnswer(int status, std::string_view type, std::string_view body,
                       bool with_body) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n{}",
      status, ReasonOf(status), type, body.size(), with_body ? body : "");
}

}  // namespace trivium
