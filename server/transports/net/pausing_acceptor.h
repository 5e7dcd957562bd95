#ifndef TRIVIUM_SERVER_TRANSPORTS_NET_PAUSING_ACCEPTOR_H_
#define TRIVIUM_SERVER_TRANSPORTS_NET_PAUSING_ACCEPTOR_H_

#include <sys/socket.h>

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "base/acceptor.h"
#include "base/socket.h"

namespace trivium {

// Accepts a port's connections for a thread that waits with epoll: a few at a
// time, so that the thread gets to its other work, and none for a while after
// the process has run out of file descriptors. Used by one thread at a time.
//
//   PausingAcceptor acceptor(std::move(plain_or_tls), epoll, kListener);
//   while (...) {
//     ... epoll_wait until acceptor.resume()
//     if (... kListener is ready ...) acceptor.Accept(now, take);
//     acceptor.Resume(now);
//   }
class PausingAcceptor {
 public:
  using OnConnection =
      absl::FunctionRef<void(UniqueFd, const sockaddr_storage&)>;
  static constexpr int kAtOnce = 16;

  // `epoll` outlives it; its events for new connections have `tag`.
  PausingAcceptor(std::unique_ptr<Acceptor> acceptor, int epoll, uint64_t tag);

  // Calls on_connection with each new connection and its client's address, at
  // most `most` of them.
  // Returns false, with errno, if the process has no file descriptors left;
  // then it pauses.
  bool Accept(absl::Time now, OnConnection on_connection, int most = kAtOnce);

  // Accepts nothing until `until`.
  void Pause(absl::Time until);
  // Pauses as Accept does when the process has no file descriptors left.
  void PauseForFiles(absl::Time now);
  // The end of the pause; InfiniteFuture if it does not pause.
  absl::Time resume() const { return resume_; }
  // Accepts again if the pause is over.
  void Resume(absl::Time now);

  // Stops listening.
  void Close() { acceptor_->Close(); }

 private:
  void Watch(bool accept) const;

  const std::unique_ptr<Acceptor> acceptor_;
  const int epoll_;
  const uint64_t tag_;
  absl::Time resume_ = absl::InfiniteFuture();
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_NET_PAUSING_ACCEPTOR_H_
