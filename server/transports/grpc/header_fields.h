#ifndef TRIVIUM_SERVER_TRANSPORTS_GRPC_HEADER_FIELDS_H_
#define TRIVIUM_SERVER_TRANSPORTS_GRPC_HEADER_FIELDS_H_

#include <nghttp2/nghttp2.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace trivium {

// A field of a message's head in HTTP/2: ":path", "grpc-timeout".
struct HeaderField {
  std::string name;
  std::string value;
  bool sensitive = false;  // to be kept out of all tables
};
using HeaderFields = std::vector<HeaderField>;

// The value of the first field of that name; empty where there is none.
std::string_view FindField(const HeaderFields& fields, std::string_view name);

// Reads the header blocks of one direction of a connection (HPACK, RFC 7541),
// all of them, in their order: each may change the table that the next needs.
class HeaderReader {
 public:
  HeaderReader();

  // The fields of a whole block. INVALID_ARGUMENT where it is none,
  // RESOURCE_EXHAUSTED where they would take more than `max_bytes`, each 32
  // more than its name and value (RFC 9113, section 6.5.2): then nothing more
  // can be read.
  absl::StatusOr<HeaderFields> Read(std::string_view block, size_t max_bytes);

 private:
  struct Free {
    void operator()(nghttp2_hd_inflater* inflater) const {
      nghttp2_hd_inflate_del(inflater);
    }
  };
  std::unique_ptr<nghttp2_hd_inflater, Free> inflater_;
};

// A header block that neither needs nor changes its reader's table, so that it
// may come between any two others.
std::string WriteFields(const HeaderFields& fields);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_GRPC_HEADER_FIELDS_H_
