#ifndef TRIVIUM_SERVER_TRANSPORTS_NET_CONNECTION_H_
#define TRIVIUM_SERVER_TRANSPORTS_NET_CONNECTION_H_

#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/socket.h"
#include "server/transports/net/byte_guard.h"
#include "server/transports/net/stream.h"

namespace trivium {

// A client's connection, the pair of sockets that leads to the server, and the
// bytes on their way between the two. Never waits. Holds at most one piece of
// 64 KiB in each direction, besides what the guard holds.
class CarriedConnection {
 public:
  enum class State {
    kHandshake,
    kOpen,
    kClosing,  // everything is sent; of what the client still sends 1 MiB is
               // discarded, because closing at once might cost it the last
               // answer
    kOver,
  };

  // `guard` may be null: then bytes pass as they come. `server` is our end of
  // the pair.
  CarriedConnection(std::unique_ptr<Stream> stream,
                    std::unique_ptr<ByteGuard> guard, UniqueFd server,
                    const sockaddr_storage& address)
      : stream_(std::move(stream)),
        guard_(std::move(guard)),
        address_(address),
        server_(std::move(server)) {}

  // Continues the handshake. Then the state is kOpen if it is done, or kClosing
  // if it failed (error()).
  void Handshake();

  // Move what can be moved now. The state is kOpen or kClosing.
  void MoveFromClient();
  void MoveFromServer();
  // The server has closed its end. What it wrote before is still moved.
  void OnServerClosed() { server_hung_up_ = true; }

  State state() const { return state_; }
  bool server_closed() const { return server_hung_up_; }
  // Bytes that the client's socket has taken.
  uint64_t sent() const { return sent_; }
  // The events of epoll that each side waits for.
  uint32_t client_events() const;
  uint32_t server_events() const;

  int client() const { return stream_->socket(); }
  int server() const { return server_.get(); }
  const sockaddr_storage& address() const { return address_; }
  std::string error() const { return stream_->error(); }
  bool read_wants_write() const { return stream_->wants_write(); }

 private:
  void ReadFromClient();
  void SendToServer();
  void SendToClient();
  void Discard();
  // True if the client's next bytes are wanted.
  bool Reads() const;

  const std::unique_ptr<Stream> stream_;
  const std::unique_ptr<ByteGuard> guard_;
  const sockaddr_storage address_;
  State state_ = State::kHandshake;
  UniqueFd server_;
  std::string to_server_;
  std::string to_client_;
  uint64_t sent_ = 0;
  size_t discarded_ = 0;
  bool client_closed_ = false;
  bool server_hung_up_ = false;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_NET_CONNECTION_H_
