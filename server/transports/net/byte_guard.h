#ifndef TRIVIUM_SERVER_TRANSPORTS_NET_BYTE_GUARD_H_
#define TRIVIUM_SERVER_TRANSPORTS_NET_BYTE_GUARD_H_

#include <string>
#include <string_view>

namespace trivium {

// Reads what a client sends before the server's library does. Made for one
// connection; used by one thread.
class ByteGuard {
 public:
  virtual ~ByteGuard() = default;
  // Returns what the library is to read in place of the client's next bytes.
  // Bytes that make no whole unit yet may wait for the rest.
  virtual std::string Pass(std::string_view bytes) = 0;
  // True if nothing more of this client passes; then it is read no further.
  virtual bool is_over() const = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_NET_BYTE_GUARD_H_
