// A state machine over the bytes of one connection, request after request:
//
//   kHead -> kHead                               no body
//         -> kBody -> kHead                      a body of a known length
//         -> kChunkSize -> kChunk -> kChunkEnd -> kChunkSize ...
//                       -> kTrailers -> kHead    after the chunk of size 0
//   any   -> kOver                               refused; nothing passes after
//
// What always holds:
// - Lines (kHead, kChunkSize, kChunkEnd, kTrailers) are collected in text_, at
//   most max_head_bytes_ of them, and checked byte by byte. Bodies are never
//   collected: left_ counts what is still to pass.
// - The library sees a head only when it is complete and valid, and in a body
//   exactly the bytes that the head or the chunk announced. So it cannot find
//   another end of a request than this code.
// - A refusal is itself one valid request, or the valid end of one.
#include "server/transports/http/http1_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "server/errors/status.h"
#include "server/transports/http/request_checks.h"

namespace trivium {
namespace {

constexpr size_t kMaxChunkLine = 4 << 10;
constexpr size_t kMaxChunkDigits = 15;  // hexadecimal; below 2^63

// The body of a request, as its head's fields describe it.
struct Body {
  bool chunked = false;
  int64_t length = 0;
};

Body BodyOf(const std::vector<HttpHeader>& fields) {
  Body body;
  for (const auto& [name, value] : fields) {
    if (IsName(name, "transfer-encoding")) body.chunked = true;
    if (IsName(name, "content-length")) {
      body.length = std::strtoll(std::string(value).c_str(), nullptr, 10);
    }
  }
  return body;
}

// Takes the first line, without its end, off the front.
std::string_view TakeLine(std::string_view* lines) {
  const size_t end = lines->find("\r\n");
  const std::string_view line = lines->substr(0, end);
  lines->remove_prefix(end + 2);
  return line;
}

}  // namespace

std::string Http1Guard::Pass(std::string_view bytes) {
  std::string to;
  while (!bytes.empty() && state_ != State::kOver) {
    if (state_ == State::kBody || state_ == State::kChunk) {
      PassBody(&bytes, &to);
      continue;
    }
    const char byte = bytes.front();
    bytes.remove_prefix(1);
    if (const char* const wrong = AddToLines(byte)) {
      Refuse(400, wrong, &to);
    } else {
      OnLines(&to);
    }
  }
  return to;
}

void Http1Guard::PassBody(std::string_view* bytes, std::string* to) {
  const auto size = static_cast<size_t>(
      std::min<int64_t>(left_, static_cast<int64_t>(bytes->size())));
  to->append(bytes->substr(0, size));
  bytes->remove_prefix(size);
  left_ -= static_cast<int64_t>(size);
  if (left_ > 0) return;
  state_ = state_ == State::kBody ? State::kHead : State::kChunkEnd;
}

const char* Http1Guard::AddToLines(char byte) {
  const char before = text_.empty() ? '\n' : text_.back();
  text_ += byte;
  if (byte == '\n') {
    return before == '\r' ? nullptr
                          : "a line ends with LF alone; end it with CR LF";
  }
  if (before == '\r') return "a CR stands without LF; end lines with CR LF";
  if (byte == '\r') return nullptr;
  if (before == '\n' && (byte == ' ' || byte == '\t')) {
    return "a line begins with a space; write each header in one line";
  }
  if (byte != '\t' && absl::ascii_iscntrl(byte)) {
    return "a line has a control character; this port reads HTTP/1.1 without "
           "TLS";
  }
  return nullptr;
}

bool Http1Guard::LinesEnd() const {
  return text_ == "\r\n" || std::string_view(text_).ends_with("\r\n\r\n");
}

void Http1Guard::OnLines(std::string* to) {
  const size_t most =
      state_ == State::kChunkSize ? kMaxChunkLine : max_head_bytes_;
  if (text_.size() > most) {
    return Refuse(431,
                  fmt::format("the head, or a line between two chunks, is "
                              "longer than {} bytes; send fewer headers",
                              most),
                  to);
  }
  switch (state_) {
    case State::kHead:
      // Clients may send an empty line before a request (RFC 9112, 2.2).
      if (text_ == "\r\n") return text_.clear();
      if (LinesEnd()) OnHead(to);
      return;
    case State::kChunkSize:
      if (text_.ends_with('\n')) OnChunkSize(to);
      return;
    case State::kChunkEnd:
      if (text_ == "\r") return;
      if (text_ != "\r\n") {
        return Refuse(400, "a chunk does not end where its size says", to);
      }
      *to += text_;
      text_.clear();
      state_ = State::kChunkSize;
      return;
    case State::kTrailers:
      if (!LinesEnd()) return;
      *to += "0\r\n\r\n";
      text_.clear();
      state_ = State::kHead;
      return;
    case State::kBody:
    case State::kChunk:
    case State::kOver:
      return;
  }
}

void Http1Guard::OnHead(std::string* to) {
  const std::string head = std::exchange(text_, std::string());
  std::string_view lines = head;
  const absl::StatusOr<RequestLine> line = ParseRequestLine(TakeLine(&lines));
  if (!line.ok()) {
    return Refuse(absl::IsUnimplemented(line.status()) ? 505 : 400,
                  std::string(line.status().message()), to);
  }
  const std::string_view header_lines = lines;
  std::vector<HttpHeader> fields;
  for (std::string_view field; !(field = TakeLine(&lines)).empty();) {
    const size_t colon = field.find(':');
    if (colon == field.npos) {
      return Refuse(
          400, fmt::format("the header line '{}' has no colon", Shorten(field)),
          to);
    }
    fields.push_back(
        {field.substr(0, colon), WithoutSpace(field.substr(colon + 1))});
    for (const char* const own : {kRefusedHeader, kQueryHeader}) {
      if (!IsName(fields.back().name, own)) continue;
      return Refuse(
          400,
          fmt::format("the header {} is the server's own; leave it out", own),
          to);
    }
  }
  if (const absl::Status status = CheckFraming(line->version, fields);
      !status.ok()) {
    return Refuse(400, std::string(status.message()), to);
  }
  *to += fmt::format("{} {} {}\r\n", line->method, line->path, line->version);
  if (!line->query.empty()) {
    *to += fmt::format("{}: {}\r\n", kQueryHeader, line->query);
  }
  *to += header_lines;
  const Body body = BodyOf(fields);
  left_ = body.length;
  if (body.chunked) {
    state_ = State::kChunkSize;
  } else if (left_ > 0) {
    state_ = State::kBody;
  }
}

void Http1Guard::OnChunkSize(std::string* to) {
  const std::string_view line =
      std::string_view(text_).substr(0, text_.size() - 2);
  const std::string digits(line.substr(0, line.find(';')));
  const bool valid =
      !digits.empty() && digits.size() <= kMaxChunkDigits &&
      std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit);
  if (!valid) {
    return Refuse(400,
                  fmt::format("the size of a chunk is '{}'; it must be at most "
                              "{} hexadecimal digits",
                              Shorten(digits), kMaxChunkDigits),
                  to);
  }
  text_.clear();
  left_ = std::strtoll(digits.c_str(), nullptr, 16);
  if (left_ == 0) {
    state_ = State::kTrailers;
    return;
  }
  *to += fmt::format("{:x}\r\n", left_);
  state_ = State::kChunk;
}

void Http1Guard::Refuse(int status, std::string_view message, std::string* to) {
  if (state_ == State::kHead) {
    *to += "GET / HTTP/1.1\r\nHost: refused\r\n";
  } else {
    // Ends the chunk whose bytes have passed, then the body.
    *to += state_ == State::kChunkEnd ? "\r\n0\r\n" : "0\r\n";
  }
  *to += fmt::format("{}: {} {}\r\n\r\n", kRefusedHeader, status, message);
  text_ = std::string();
  state_ = State::kOver;
}

}  // namespace trivium
