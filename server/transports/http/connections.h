#ifndef TRIVIUM_SERVER_TRANSPORTS_HTTP_CONNECTIONS_H_
#define TRIVIUM_SERVER_TRANSPORTS_HTTP_CONNECTIONS_H_

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "base/acceptor.h"
#include "base/mutex.h"
#include "base/socket.h"
#include "server/observability/log.h"
#include "server/observability/metrics.h"
#include "server/transports/net/connection_limits.h"
#include "server/transports/net/pausing_acceptor.h"

namespace trivium {

// Notified when a client disconnects.
class HangUpListener {
 public:
  virtual ~HangUpListener() = default;
  // Called on the connections' thread; must not block.
  virtual void OnHangUp() = 0;
};

// The connections of an HTTP server. Its library, libmicrohttpd, serves them;
// this class does what the library does not: it accepts them, bounds their
// number (in all and per client) and the time that each phase may take, and
// notices a client that disconnects while its call works. It ends a connection
// by shutting down its socket, which the library then notices. One thread,
// which never waits for a client. Thread-safe.
//
//   connections.Start(acceptor, deliver)
//   deliver(socket, client)           // the library owns the socket from here,
//   id = connections.Opened(socket)   // has begun to serve it,
//   connections.SetPhase(id, ...)     // ...
//   connections.Close(id)             // and closes it after this
class HttpConnections {
 public:
  using Id = ConnectionLimits::Id;

  struct Options {
    // Half of them may come from one client (NetworkOf). At either limit, a new
    // connection evicts one that has sent no request yet, else the one that has
    // been idle the longest, else one that waits for a client which sends or
    // reads many things slowly (ConnectionLimits::LongestWaiting).
    int max_connections = 4096;
    // Time between two requests.
    absl::Duration idle_timeout = absl::Minutes(2);
    // Time for a whole head, and for a whole body.
    absl::Duration request_timeout = absl::Seconds(30);
    // Time for the client to read an answer, or the next piece of a stream.
    absl::Duration stall_timeout = absl::Seconds(30);
    // An older connection ends with its current answer, or at once if it is
    // idle.
    absl::Duration max_age = absl::InfiniteDuration();
  };

  enum class Phase {
    kConnected,  // before the first head
    kIdle,       // between requests
    kReceiving,  // a body arrives
    kWorking,    // a call runs; no time limit here
    kAnswering,
  };

  // Gives the library a new connection. Returns false, having closed the
  // socket, if the library does not take it. Called on the connections' thread.
  using Deliver =
      std::function<bool(UniqueFd socket, const sockaddr_storage& client)>;

  // `metrics` outlives it.
  HttpConnections(const Options& options, Metrics* metrics);
  // Like Stop.
  ~HttpConnections();

  // Starts the thread, which delivers new connections. Called once.
  void Start(std::unique_ptr<Acceptor> acceptor, Deliver deliver);
  // Closes the port; open connections stay.
  void StopAccepting();
  // Ends the thread. The library may still close connections afterwards.
  void Stop();

  // Returns the id of a delivered connection. From here to Close its socket
  // must stay open.
  Id Opened(int socket);
  void Close(Id id);

  void SetPhase(Id id, Phase phase);
  // Begins kReceiving: a head of this client (ClientOf) has arrived.
  void Receive(Id id, uint64_t client);
  // True if the connection is too old for another request after this one.
  bool IsOld(Id id);
  // Begins kWorking: `listener` is notified, once, if the client disconnects.
  void Watch(Id id, std::weak_ptr<HangUpListener> listener);
  // Begins kAnswering: the answer, or the next piece of it, is ready.
  void Unwatch(Id id);

  void Break(Id id);
  // Breaks all connections, also those that are opened later.
  void BreakAll();

 private:
  // At most this many evicted connections wait for the library to close them.
  static constexpr int kMaxGoing = 64;

  struct Connection {
    int socket = -1;
    Phase phase = Phase::kConnected;
    uint64_t client = 0;     // of the current request
    absl::Time since;        // when the phase began
    absl::Time waits_since;  // kReceiving or kAnswering, without a break
    absl::Time deadline;     // when it is broken
    absl::Time grows_old;
    bool counted_old = false;
    std::weak_ptr<HangUpListener> listener;
  };

  // Evicts for a new connection if it must. Nothing: the connection is refused.
  std::optional<Id> Add(int socket, const sockaddr_storage& client);
  // The evicted connections that the library has not closed yet.
  int CountGoing() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The process has no files left: evicts one connection, unless an evicted one
  // is about to give back its files. That there are none left is old news by
  // the time it is heard, and the silent connections that held the files may
  // be gone: so no connection is evicted that was in use a moment ago.
  void EndIdleForFiles(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  // Evicts a connection for a new one of `network`. Returns false if none can
  // be spared.
  bool MakeRoom(const std::string& network, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Evict(Id id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Accept(absl::Time now);
  // Returns true if the connection is old; the first time, counts it.
  bool CountOld(Connection* connection, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetPhaseLocked(Id id, Connection* connection, Phase phase)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run();
  // Breaks connections that are past their deadlines; returns the next
  // deadline.
  absl::Time BreakLate(absl::Time now);
  void HangUp(Id id);
  void Wake();

  const Options options_;
  Metrics* const metrics_;
  const UniqueFd epoll_;
  const UniqueFd wake_;

  // Held while connections are accepted and delivered; before mutex_.
  Mutex accept_mutex_;
  std::optional<PausingAcceptor> acceptor_ ABSL_GUARDED_BY(accept_mutex_);
  Deliver deliver_ ABSL_GUARDED_BY(accept_mutex_);
  LogLimit room_log_ ABSL_GUARDED_BY(accept_mutex_);

  Mutex mutex_;
  Id last_id_ ABSL_GUARDED_BY(mutex_) = 1;  // 0 and 1 tag other events
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;  // BreakAll
  absl::Time sleeps_until_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  // All sockets that are open; `limits_` lacks those that were evicted.
  absl::flat_hash_map<Id, Connection> connections_ ABSL_GUARDED_BY(mutex_);
  ConnectionLimits limits_ ABSL_GUARDED_BY(mutex_);
  // Sockets that were delivered and not opened yet.
  absl::flat_hash_map<int, Id> delivered_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_TRANSPORTS_HTTP_CONNECTIONS_H_
