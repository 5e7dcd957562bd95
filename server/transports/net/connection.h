#ifndef TRIVIUM_SERVER_TRANSPORTS_NET_CONNECTION_H_
#define TRIVIUM_SERVER_TRANSPORTS_NET_CONNECTION_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/socket.h"
#include "server/transports/net/stream.h"

namespace trivium {

// A client's connection with TLS, the pair of sockets that leads to the server,
// and the bytes on their way from one to the other. Never waits; of each
// direction it holds a piece.
class TlsConnection {
 public:
  enum class State {
    kHandshake,
    kOpen,
    kClosing,  // all is said; what the client still sends is thrown away, as to
               // close at once might take the last answer from it
    kOver,
  };

  TlsConnection(std::shared_ptr<ssl_ctx_st> context, UniqueFd client,
                const sockaddr_storage& address, const std::string* protocol)
      : stream_(std::move(context), std::move(client), true, protocol),
        address_(address) {}

  // kOpen when it is done: Connect is next. kClosing: it failed (error()).
  void Handshake();
  // The server's end of a new pair; none, with errno, where there is none.
  UniqueFd Connect();

  // When it is open or closing: move what can be moved.
  void MoveFromClient();
  void MoveFromServer();
  // The server has closed its end; what it has said before is still to be
  // moved.
  void OnServerClosed() { server_hung_up_ = true; }

  State state() const { return state_; }
  // Of epoll: what it waits for.
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
