#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_HEADER_FIELDS_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_HEADER_FIELDS_H_

#include <nghttp2/nghttp2.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace trivium {

// A field of an HTTP/2 header block: ":path", "grpc-timeout".
struct HeaderField {
  std::string name;
  std::string value;
  bool sensitive = false;  // must not enter any table
};
using HeaderFields = std::vector<HeaderField>;

// Returns the value of the first field with that name; empty if there is none.
std::string_view FindField(const HeaderFields& fields, std::string_view name);

// Reads the header blocks of one direction of a connection (HPACK, RFC 7541).
// It must read all of them in order, because each may change the table that the
// next one needs.
class HeaderReader {
 public:
  HeaderReader();

  // Returns the fields of a whole block. INVALID_ARGUMENT: not a valid block.
  // RESOURCE_EXHAUSTED: the fields would take more than `max_bytes`, where each
  // counts 32 more than its name and value (RFC 9113, section 6.5.2). After an
  // error no more blocks can be read.
  absl::StatusOr<HeaderFields> Read(std::string_view block, size_t max_bytes);

 private:
  struct Free {
    void operator()(nghttp2_hd_inflater* inflater) const {
      nghttp2_hd_inflate_del(inflater);
    }
  };
  std::unique_ptr<nghttp2_hd_inflater, Free> inflater_;
};

// Returns a header block that neither needs nor changes its reader's table. So
// it may be sent between any two others.
std::string WriteFields(const HeaderFields& fields);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_HEADER_FIELDS_H_
