#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_HTTP2_FRAMES_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_HTTP2_FRAMES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace trivium {

// RFC 9113, section 6.
enum FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kReset = 3,
  kSettings = 4,
  kGoAway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
};
enum FrameFlags : uint8_t {
  kEndStream = 1,
  kAcknowledges = 1,  // of SETTINGS
  kEndHeaders = 4,
  kPadded = 8,
  kPrioritized = 32,  // of HEADERS
};

// The head of a frame of HTTP/2 (RFC 9113, section 4.1).
struct FrameHead {
  uint32_t length = 0;  // of the payload
  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;
};

// Follows the frames of one direction of a connection, in pieces as they come.
class FrameReader {
 public:
  // At the begin of a frame?
  bool between() const { return have_ == 0 && payload_ == 0; }
  // Bytes of head()'s payload that are still to come.
  size_t payload() const { return payload_; }

  // Takes bytes up to the end of a head, or of a payload. True if a head is
  // complete: head() is it.
  bool Read(std::string_view* bytes);
  const FrameHead& head() const { return head_; }

 private:
  static constexpr size_t kHeadBytes = 9;

  std::array<uint8_t, kHeadBytes> bytes_;
  size_t have_ = 0;       // of bytes_
  uint32_t payload_ = 0;  // still to come
  FrameHead head_;
};

// `value` in so many bytes, the most significant first.
void AppendNumber(uint32_t value, int bytes, std::string* out);
void AppendHead(const FrameHead& head, std::string* out);
// HEADERS of a whole block, in as many frames as it needs. `flags`: kEndStream.
void AppendHeaders(uint32_t stream, uint8_t flags, std::string_view block,
                   std::string* out);
// Of RST_STREAM (section 7): all is said; nothing was done, and the client may
// try again.
enum class ResetCode : uint32_t { kNoError = 0, kRefused = 7 };
// RST_STREAM, WINDOW_UPDATE of the connection.
void AppendReset(uint32_t stream, ResetCode code, std::string* out);
void AppendWindowUpdate(uint32_t bytes, std::string* out);
// GOAWAY that ends no stream: the client is to open no more (section 6.8).
void AppendGoAway(std::string* out);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_HTTP2_FRAMES_H_
