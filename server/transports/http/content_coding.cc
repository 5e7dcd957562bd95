#include "server/transports/http/content_coding.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "server/errors/status.h"
#include "server/limits/work_pool.h"
#include "server/transports/http/request_checks.h"

namespace trivium {
namespace {

// zlib's windowBits: the largest window, in zlib's own format (which is what
// HTTP calls deflate) or in gzip's.
constexpr int kZlibFormat = 15;
constexpr int kGzipFormat = 15 + 16;
constexpr int kMemoryLevel = 8;  // zlib's default

Bytef* BytesOf(const char* text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text));
}

// A coding's weight in one element of Accept-Encoding, from 0 to 1; 0 if it is
// not valid.
double WeightOf(std::string_view parameters) {
  const std::string_view text = WithoutSpace(parameters);
  if (text.empty()) return 1;
  double weight = 0;
  if (!text.starts_with("q=") && !text.starts_with("Q=")) return 0;
  const std::string_view number = text.substr(2);
  return absl::SimpleAtod({number.data(), number.size()}, &weight) &&
                 weight >= 0 && weight <= 1
             ? weight
             : 0;
}

}  // namespace

absl::StatusOr<ContentCoding> ParseContentCoding(std::string_view value) {
  const std::string_view name = WithoutSpace(value);
  if (name.empty() || IsName(name, "identity")) return ContentCoding::kIdentity;
  if (IsName(name, "gzip") || IsName(name, "x-gzip")) {
    return ContentCoding::kGzip;
  }
  if (IsName(name, "deflate")) return ContentCoding::kDeflate;
  return absl::UnimplementedError(fmt::format(
      "Content-Encoding is '{}'; send one of {}, or a body that is not "
      "compressed",
      Shorten(name), kContentCodings));
}

bool AcceptsGzip(std::string_view accept_encoding) {
  // -1: not listed.
  double gzip = -1, any = -1, identity = -1;
  while (!accept_encoding.empty()) {
    const std::string_view element =
        accept_encoding.substr(0, accept_encoding.find(','));
    accept_encoding.remove_prefix(
        std::min(accept_encoding.size(), element.size() + 1));
    const size_t mark = element.find(';');
    const std::string_view name = WithoutSpace(element.substr(0, mark));
    const double weight =
        mark == element.npos ? 1 : WeightOf(element.substr(mark + 1));
    if (IsName(name, "gzip") || IsName(name, "x-gzip")) {
      gzip = std::max(gzip, weight);
    } else if (name == "*") {
      any = weight;
    } else if (IsName(name, "identity")) {
      identity = weight;
    }
  }
  const double weight = gzip >= 0 ? gzip : any;
  return weight > 0 && weight >= identity;
}

Unpacker::Unpacker(ContentCoding coding)
    : coding_(coding), stream_(std::make_unique<z_stream_s>()) {
  // Allocates a few KiB. If it cannot, inflate says so.
  inflateInit2(stream_.get(),
               coding == ContentCoding::kGzip ? kGzipFormat : kZlibFormat);
}

Unpacker::~Unpacker() { inflateEnd(stream_.get()); }

void Unpacker::Add(std::string_view bytes) {
  bytes_ = bytes;
  stream_->next_in = BytesOf(bytes_.data());
  stream_->avail_in = static_cast<uInt>(bytes_.size());
  begun_ = begun_ || !bytes.empty();
}

absl::StatusOr<std::string> Unpacker::Next(size_t most) {
  std::string piece(most, '\0');
  stream_->next_out = BytesOf(piece.data());
  stream_->avail_out = static_cast<uInt>(most);
  while (stream_->avail_out > 0) {
    if (ended_) {
      if (stream_->avail_in == 0) break;
      if (coding_ != ContentCoding::kGzip) {
        return Broken("something follows its end");
      }
      inflateReset(stream_.get());
      ended_ = false;
    }
    const int result = inflate(stream_.get(), Z_NO_FLUSH);
    if (result == Z_BUF_ERROR) break;  // it needs more bytes
    ended_ = result == Z_STREAM_END;
    if (!ended_ && result != Z_OK) {
      return Broken(stream_->msg == nullptr ? zError(result) : stream_->msg);
    }
  }
  piece.resize(most - stream_->avail_out);
  return piece;
}

absl::Status Unpacker::CheckEnd() const {
  return begun_ && !ended_ ? Broken("its end is missing") : absl::OkStatus();
}

absl::Status Unpacker::Broken(std::string_view why) const {
  return absl::InvalidArgumentError(fmt::format(
      "the body is not the {} that Content-Encoding says: {}",
      coding_ == ContentCoding::kGzip ? "gzip" : "deflate (zlib)", why));
}

bool IsPackable(std::string_view content_type, size_t bytes) {
  return bytes >= kLeastPackedBytes &&
         (content_type.starts_with("text/") ||
          content_type.starts_with("application/json") ||
          content_type == "application/proto");
}

std::string PackGzip(std::string_view text) {
  if (text.empty()) return "";
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipFormat, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return "";
  }
  // A result that does not fit is no smaller.
  std::string packed(text.size() - 1, '\0');
  stream.next_out = BytesOf(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  int result = Z_OK;
  while (result == Z_OK && stream.avail_out > 0) {
    const std::string_view piece = text.substr(0, WorkPool::kPieceBytes);
    text.remove_prefix(piece.size());
    stream.next_in = BytesOf(piece.data());
    stream.avail_in = static_cast<uInt>(piece.size());
    result = deflate(&stream, text.empty() ? Z_FINISH : Z_NO_FLUSH);
    if (!text.empty()) WorkPool::Yield();
  }
  deflateEnd(&stream);
  if (result != Z_STREAM_END) return "";
  packed.resize(stream.total_out);
  packed.shrink_to_fit();
  return packed;
}

}  // namespace trivium
