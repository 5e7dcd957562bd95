#ifndef TRIVIUM_SERVER_TRANSPORTS_HTTP_HTTP1_GUARD_H_
#define TRIVIUM_SERVER_TRANSPORTS_HTTP_HTTP1_GUARD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/transports/net/byte_guard.h"

namespace trivium {

// A header that no client may send: the guard puts it into a request that it
// refuses. The value is the HTTP status, a space, and the message.
inline constexpr char kRefusedHeader[] = "x-trivium-refused";
// Another one: the query, as it was written. The library would keep memory for
// each of its arguments.
inline constexpr char kQueryHeader[] = "x-trivium-query";

// Reads a connection's requests (RFC 9112) before libmicrohttpd does, which
// accepts what a proxy in front may cut differently: lines that end with LF
// alone, lines that continue the one before, zero bytes, lengths beyond 64
// bits. A reader that disagrees with the proxy about where a request ends takes
// a part of a body for a request that the proxy has not seen.
//
// The library gets each head as a whole, once it is complete and valid, with
// the query in a header (kQueryHeader); and bodies as they come. Chunks get
// their sizes anew; their extensions and trailers are left out.
//
// A request that is refused reaches the library as one that says so
// (kRefusedHeader), so that it is answered in its turn: a head is replaced, a
// body ends early with the header as its trailer. Nothing after it passes.
class Http1Guard final : public ByteGuard {
 public:
  // Longest head, and longest list of trailers.
  explicit Http1Guard(size_t max_head_bytes)
      : max_head_bytes_(max_head_bytes) {}

  std::string Pass(std::string_view bytes) override;
  bool is_over() const override { return state_ == State::kOver; }

 private:
  enum class State {
    kHead,
    kBody,       // of a known length
    kChunkSize,  // the line before a chunk
    kChunk,
    kChunkEnd,  // the line's end after a chunk
    kTrailers,
    kOver,
  };

  // Adds a byte to the lines in text_. Returns why it may not be there; null if
  // it may.
  const char* AddToLines(char byte);
  // True if text_ ends with an empty line, which ends a head or trailers.
  bool LinesEnd() const;
  void OnLines(std::string* to);
  void OnHead(std::string* to);
  void OnChunkSize(std::string* to);
  // Passes what is left of the body or of the chunk.
  void PassBody(std::string_view* bytes, std::string* to);
  // Ends the connection's requests with one that is refused.
  void Refuse(int status, std::string_view message, std::string* to);

  const size_t max_head_bytes_;
  State state_ = State::kHead;
  // The head, the trailers or the line that is being read.
  std::string text_;
  int64_t left_ = 0;  // of the body or the chunk
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_HTTP_HTTP1_GUARD_H_
