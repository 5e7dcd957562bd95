#ifndef TRIVIUM_SERVER_TRANSPORTS_NET_CONNECTION_H_
#define TRIVIUM_SERVER_TRANSPORTS_NET_CONNECTION_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/socket.h"
#include "server/transports/net/stream.h"

namespace trivium {

// A client's TLS connection, the pair of sockets that leads to the server, and
// the bytes on their way between the two. Never waits. Holds at most one piece
// of 64 KiB in each direction.
class TlsConnection {
 public:
  enum class State {
    kHandshake,
    kOpen,
    kClosing,  // everything is sent; what the client still sends is discarded,
               // because closing at once might cost it the last answer
    kOver,
  };

  TlsConnection(std::shared_ptr<ssl_ctx_st> context, UniqueFd client,
                const sockaddr_storage& address, const std::string* protocol)
      : stream_(std::move(context), std::move(client), true, protocol),
        address_(address) {}

  // Continues the handshake. Then the state is kOpen if it is done, and Connect
  // is next, or kClosing if it failed (error()).
  void Handshake();
  // Returns the server's end of a new pair, or none, with errno, if the system
  // gives none.
  UniqueFd Connect();

  // Move what can be moved now. The state is kOpen or kClosing.
  void MoveFromClient();
  void MoveFromServer();
  // The server has closed its end. What it wrote before is still moved.
  void OnServerClosed() { server_hung_up_ = true; }

  State state() const { return state_; }
  // The events of epoll that each side waits for.
  uint32_t client_events() const;
  uint32_t server_events() const;

  int client() const { return stream_.socket(); }
  int server() const { return server_.get(); }
  const sockaddr_storage& address() const { return address_; }
  std::string error() const { return stream_.error(); }
  bool read_wants_write() const { return stream_.wants_write(); }

 private:
  void ReadFromClient();
  void SendToServer();
  void SendToClient();

  TlsStream stream_;
  const sockaddr_storage address_;
  State state_ = State::kHandshake;
  UniqueFd server_;  // our end of the pair
  std::string to_server_;
  std::string to_client_;
  bool client_closed_ = false;
  bool server_hung_up_ = false;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_NET_CONNECTION_H_
