#include "server/transports/grpc/header_fields.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

namespace trivium {
namespace {

// Bytes that a field counts besides its name and value (RFC 9113,
// section 6.5.2).
constexpr size_t kBytesAField = 32;

// RFC 7541, section 6.2: a literal field, with its name in full, that is not
// put into the table. A sensitive one must not be indexed by any hop.
constexpr char kNotIndexed = 0x00;
constexpr char kNeverIndexed = 0x10;

std::string Text(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// Writes a string (section 5.2) without Huffman coding: its length in 7 bits
// and more (section 5.1), then its bytes.
void WriteText(std::string_view text, std::string* block) {
  constexpr size_t kPrefix = 127;
  size_t length = text.size();
  if (length < kPrefix) {
    *block += static_cast<char>(length);
  } else {
    *block += static_cast<char>(kPrefix);
    for (length -= kPrefix; length >= 128; length /= 128) {
      *block += static_cast<char>(length % 128 + 128);
    }
    *block += static_cast<char>(length);
  }
  block->append(text);
}

}  // namespace

std::string_view FindField(const HeaderFields& fields, std::string_view name) {
  for (const HeaderField& field : fields) {
    if (field.name == name) return field.value;
  }
  return {};
}

HeaderReader::HeaderReader() {
  nghttp2_hd_inflater* inflater = nullptr;
  nghttp2_hd_inflate_new(&inflater);
  inflater_.reset(inflater);
}

absl::StatusOr<HeaderFields> HeaderReader::Read(std::string_view block,
                                                size_t max_bytes) {
  const absl::Status unreadable =
      absl::InvalidArgumentError("a header block that is not valid HPACK");
  if (inflater_ == nullptr) return unreadable;  // out of memory
  HeaderFields fields;
  size_t bytes = 0;
  for (int flags = 0; (flags & NGHTTP2_HD_INFLATE_FINAL) == 0;) {
    nghttp2_nv field;
    flags = 0;
    const ssize_t taken = nghttp2_hd_inflate_hd2(
        inflater_.get(), &field, &flags,
        reinterpret_cast<const uint8_t*>(block.data()), block.size(),
        /*in_final=*/1);
    if (taken < 0) return unreadable;
    block.remove_prefix(static_cast<size_t>(taken));
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0) {
      if (taken == 0 && flags == 0) return unreadable;  // no progress
      continue;
    }
    bytes += field.namelen + field.valuelen + kBytesAField;
    if (bytes > max_bytes) {
      return absl::ResourceExhaustedError(fmt::format(
          "a header block whose fields take more than {} bytes", max_bytes));
    }
    fields.push_back({Text(field.name, field.namelen),
                      Text(field.value, field.valuelen),
                      (field.flags & NGHTTP2_NV_FLAG_NO_INDEX) != 0});
  }
  nghttp2_hd_inflate_end_headers(inflater_.get());
  return fields;
}

std::string WriteFields(const HeaderFields& fields) {
  std::string block;
  for (const HeaderField& field : fields) {
    block += field.sensitive ? kNeverIndexed : kNotIndexed;
    WriteText(field.name, &block);
    WriteText(field.value, &block);
  }
  return block;
}

}  // namespace trivium
