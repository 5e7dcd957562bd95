#ifndef TRIVIUM_SERVER_TRANSPORTS_HTTP_CONNECTIONS_H_
#define TRIVIUM_SERVER_TRANSPORTS_HTTP_CONNECTIONS_H_

#include <sys/socket.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/socket.h"
#include "server/observability/metrics.h"

namespace trivium {

// Who is told that a client has gone.
class HangUpListener {
 public:
  virtual ~HangUpListener() = default;
  // On the connections' thread; must not block.
  virtual void OnHangUp() = 0;
};

// The connections of an HTTP server, of which its library does not know
// enough: how many there are, in all and of one client; how long each may take
// for what it does; and whether the client of a call under way is still there.
// It ends connections by shutting their sockets down, of which the library then
// hears. One thread, which never waits for a client. Thread-safe.
class HttpConnections {
 public:
  using Id = uint64_t;

  struct Options {
    int max_connections = 4096;
    // Without a request; one more connection may end such a one at any time.
    absl::Duration idle_timeout = absl::Minutes(2);
    // For the whole of a head, and for the whole of a body.
    absl::Duration request_timeout = absl::Seconds(30);
    // To take an answer, or the next piece of a stream.
    absl::Duration stall_timeout = absl::Seconds(30);
    // An older one ends with the answer under way, or at once where it is idle.
    absl::Duration max_age = absl::InfiniteDuration();
  };

  enum class Phase {
    kConnected,  // no head of a request has come
    kIdle,       // between requests
    kReceiving,  // a body
    kWorking,    // a call; no time is set for it here
    kAnswering,
  };

  HttpConnections(const Options& options, Metrics* metrics);
  ~HttpConnections();

  // Whether one more may be accepted. Where there are max_connections, or half
  // of these from one client (NetworkOf), the one that has been without a
  // request for the longest ends for it.
  bool Admit(const sockaddr_storage& client);

  // From here to Close the socket is open.
  Id Open(int socket, const sockaddr_storage& client);
  void Close(Id id);

  void SetPhase(Id id, Phase phase);
  // Whether this answer is to be the last of its connection, for its age.
  bool IsOld(Id id);
  // While it is working: `listener` hears, once, if the client closes.
  void Watch(Id id, std::weak_ptr<HangUpListener> listener);
  // The call is answered, or a piece of it.
  void Unwatch(Id id);

  void Break(Id id);
  // That, of all; and none is admitted any more.
  void BreakAll();

 private:
  struct Connection {
    int socket = -1;
    std::string network;
    Phase phase = Phase::kIdle;
    absl::Time since;     // of the phase
    absl::Time deadline;  // when it is broken
    absl::Time grows_old;
    bool counted_old = false;
    std::weak_ptr<HangUpListener> listener;
  };

  // Whether it is old, which the metrics hear once.
  bool CountOld(Connection* connection, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetPhaseLocked(Connection* connection, Phase phase)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of a network, or of all.
  bool EndLongestIdle(const std::string* network)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run();
  // Breaks who is late; when to look again.
  absl::Time BreakLate(absl::Time now);
  void HangUp(Id id);
  void Wake();

  const Options options_;
  Metrics* const metrics_;
  const UniqueFd epoll_;
  const UniqueFd wake_;
  Mutex mutex_;
  Id last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // BreakAll
  absl::Time sleeps_until_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  absl::flat_hash_map<Id, Connection> connections_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> of_network_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_HTTP_CONNECTIONS_H_
