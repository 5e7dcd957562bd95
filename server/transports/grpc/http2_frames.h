#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_HTTP2_FRAMES_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_HTTP2_FRAMES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace trivium {

// Types of frames (RFC 9113, section 6).
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
  kAcknowledges = 1,  // on SETTINGS
  kEndHeaders = 4,
  kPadded = 8,
  kPrioritized = 32,  // on HEADERS
};

// The head of an HTTP/2 frame (RFC 9113, section 4.1).
struct FrameHead {
  uint32_t length = 0;  // of the payload
  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;
};

// Follows the frames of one direction of a connection as their bytes arrive.
class FrameReader {
 public:
  // True between two frames.
  bool between() const { return have_ == 0 && payload_ == 0; }
  // Bytes of head()'s payload that are still to come.
  size_t payload() const { return payload_; }

  // Consumes bytes up to the end of a head or of a payload. Returns true if a
  // head is complete, as head() then has it.
  bool Read(std::string_view* bytes);
  const FrameHead& head() const { return head_; }

 private:
  static constexpr size_t kHeadBytes = 9;

  std::array<uint8_t, kHeadBytes> bytes_;
  size_t have_ = 0;       // of bytes_
  uint32_t payload_ = 0;  // still to come
  FrameHead head_;
};

// Appends `value` in `bytes` bytes, the most significant first.
void AppendNumber(uint32_t value, int bytes, std::string* out);
void AppendHead(const FrameHead& head, std::string* out);
// Appends a whole header block in as many frames as it needs. `flags` may have
// kEndStream.
void AppendHeaders(uint32_t stream, uint8_t flags, std::string_view block,
                   std::string* out);
// Codes of RST_STREAM (section 7). kNoError: the answer is complete. kRefused:
// nothing was done, and the client may try again.
enum class ResetCode : uint32_t {
  kNoError = 0,
  kRefused = 7,
  kCancel = 8,
  kEnhanceYourCalm = 11,  // gRPC's clients make it RESOURCE_EXHAUSTED
};
// Append RST_STREAM, and WINDOW_UPDATE of the connection.
void AppendReset(uint32_t stream, ResetCode code, std::string* out);
void AppendWindowUpdate(uint32_t bytes, std::string* out);
// Appends a GOAWAY that ends no stream: the client should open no more
// (section 6.8).
void AppendGoAway(std::string* out);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_HTTP2_FRAMES_H_
