#ifndef TRIVIUM_SERVER_TRANSPORTS_HTTP_CONTENT_CODING_H_
#define TRIVIUM_SERVER_TRANSPORTS_HTTP_CONTENT_CODING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// zlib's type.
struct z_stream_s;

// Bodies that are compressed (RFC 9110, 8.4.1), by zlib.
namespace trivium {

enum class ContentCoding { kIdentity, kGzip, kDeflate };

// The codings of requests, as Accept-Encoding lists them.
inline constexpr char kContentCodings[] = "gzip, deflate";

// Reads the value of Content-Encoding. UNIMPLEMENTED if it names another coding
// or several.
absl::StatusOr<ContentCoding> ParseContentCoding(std::string_view value);

// True if an answer to a request with this Accept-Encoding may be gzip: it is
// listed, or "*" is, with a weight that is neither 0 nor below identity's.
bool AcceptsGzip(std::string_view accept_encoding);

// Unpacks a body as its bytes arrive, piece by piece, so that the caller can
// stop as soon as the body is too long. It looks no further than it is asked
// to. Used by one thread at a time.
//
//   unpacker.Add(bytes)
//   while (piece = unpacker.Next(most), !piece.empty()) ...
//   unpacker.Add(bytes) ...
//   unpacker.CheckEnd()
class Unpacker {
 public:
  // zlib's memory for one: a window of 32 KiB, and its tables.
  static constexpr int64_t kMemory = 40 << 10;

  // `coding` is not kIdentity.
  explicit Unpacker(ContentCoding coding);
  ~Unpacker();

  // Adds the next bytes of the body. Next must have returned nothing.
  void Add(std::string_view bytes);
  // Returns the next unpacked bytes, at most `most`. Empty: there are no more
  // until Add. INVALID_ARGUMENT if the body is not what its coding says, also
  // if something follows its end. A body in gzip may have several members
  // (RFC 1952, 2.2).
  absl::StatusOr<std::string> Next(size_t most);
  // INVALID_ARGUMENT if bytes came, and not all.
  absl::Status CheckEnd() const;

 private:
  absl::Status Broken(std::string_view why) const;

  const ContentCoding coding_;
  const std::unique_ptr<z_stream_s> stream_;
  std::string bytes_;   // that stream_ reads
  bool begun_ = false;  // bytes came
  bool ended_ = false;  // at the end of a member
};

// Answers smaller than this are not packed: they fit a packet or two as they
// are.
inline constexpr size_t kLeastPackedBytes = 1 << 10;
// The most that is packed on a thread that others wait for, such as the
// network's: it takes a millisecond or two.
inline constexpr size_t kMostPackedAtOnce = 100 << 10;

// True if a body of a content type is worth packing: text. Other files are
// mostly packed already.
bool IsPackable(std::string_view content_type, size_t bytes);

// Packs text by gzip, at zlib's fastest level. Returns nothing if that makes it
// no smaller. Long packing lets the pool's thread do others' short work
// (WorkPool::Yield).
std::string PackGzip(std::string_view text);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_HTTP_CONTENT_CODING_H_
